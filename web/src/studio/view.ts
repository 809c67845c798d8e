/** A page of the studio: what its tabs show one at a time. */

export interface View {
  readonly root: HTMLElement;
  /** Show it, for the part of the address behind its name. */
  show(query: URLSearchParams): void;
  hide(): void;
}

/** Calls a function now and then while its view is seen and the page is not hidden. */
export class Pulse {
  private timer = 0;
  private on = false;
  private turn = 0;

  constructor(
    private readonly beat: () => Promise<void>,
    private readonly every: number,
  ) {}

  start(): void {
    if (this.on) return;
    this.on = true;
    void this.next(++this.turn);
  }

  stop(): void {
    this.on = false;
    clearTimeout(this.timer);
  }

  private async next(turn: number): Promise<void> {
    if (!document.hidden) await this.beat();
    if (this.on && turn === this.turn)
      this.timer = window.setTimeout(() => void this.next(turn), this.every);
  }
}
