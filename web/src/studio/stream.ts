/** The games of a page that the studio's machine plays, in step (retro_agents/studio/stream.py). */

import type { Pane } from "./pane";

export type Word = Record<string, unknown>;

/** WebSocket's code for an end that the studio has told. */
const TOLD = 1000;

export class Stream {
  private socket: WebSocket | null = null;
  /** What is told as soon as it can be. */
  private words: Word[] = [];

  constructor(
    private readonly panes: Pane[],
    private readonly fail: (text: string) => void,
    private readonly shown: () => void,
  ) {}

  get playing(): boolean {
    return this.socket !== null;
  }

  /** words: what is told first. */
  begin(query: string, words: Word[]): void {
    this.end();
    const socket = new WebSocket(`ws://${location.host}/api/stream?${query}`);
    this.words = [...words];
    socket.onopen = () => this.words.forEach((word) => this.tell(word));
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.fail((JSON.parse(data) as { error: string }).error);
      else void this.pictures(data as ArrayBuffer, socket);
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      this.socket = null;
      for (const pane of this.panes) pane.over();
      this.shown();
      if (code !== TOLD)
        this.fail(
          "The connection to the studio was lost: is it still running? Press Play to begin anew.",
        );
    };
    this.socket = socket;
  }

  /** Close the games: their processes end. */
  end(): void {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  tell(word: Word): void {
    if (this.socket?.readyState === WebSocket.CONNECTING) this.words.push(word);
    else if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(word));
  }

  /** A picture for each pane behind its length, which is 0 if it has no new one. */
  private async pictures(data: ArrayBuffer, socket: WebSocket): Promise<void> {
    const view = new DataView(data);
    const drawn: Promise<() => void>[] = [];
    for (let at = 0, pane = 0; at < data.byteLength; pane++) {
      const size = view.getUint32(at, true);
      if (size) drawn.push(this.panes[pane].draw(new DataView(data, at + 4, size)));
      at += 4 + size;
    }
    const shows = await Promise.all(drawn);
    if (socket !== this.socket) return;
    this.tell({ do: "seen" });
    for (const show of shows) show();
    this.shown();
  }
}
