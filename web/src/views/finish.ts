/** What is offered when an episode is over: its result, a link, a file, the next act. */

import type { App } from "../app";
import { record } from "../game/recording";
import type { Seat } from "../game/seat";
import { button, clock, h, memory, points } from "./dom";

/** A person's fastest episode. */
interface Best {
  frames: number;
}

export class Finish {
  readonly root = h("section", { class: "finish", "aria-label": "Result", hidden: true });

  constructor(private readonly app: App) {}

  hide(): void {
    this.root.hidden = true;
  }

  /** An episode is over; of a race, one of several. */
  ended(seat: Seat): void {
    const { seats, current } = this.app;
    if (!seats.every(({ episode }) => episode.over)) return;
    const own = seats.find(({ hands }) => hands.name === "You") ?? seat;
    this.root.replaceChildren(
      current.mode === "race" ? this.ranking() : this.best(own),
      h("div", { class: "buttons" }, ...this.offers(own)),
    );
    this.root.hidden = false;
  }

  private ranking(): HTMLElement {
    const order = [...this.app.seats].sort((a, b) => {
      const [x, y] = [a.episode, b.episode];
      return (
        Number(y.finished) - Number(x.finished) ||
        (x.finished ? x.pads.length - y.pads.length : y.total - x.total)
      );
    });
    const rows = order.map(({ hands, episode }) => {
      const how = episode.finished
        ? clock(episode.pads.length)
        : `${Math.round(100 * episode.progress)} % of the way`;
      return h("li", {}, h("strong", {}, hands.name), ` ${how} · ${points(episode.total)} points`);
    });
    return h("ol", { class: "ranking" }, ...rows);
  }

  /** A person's time on this act, and the best one in this browser. */
  private best(seat: Seat): HTMLElement {
    const { finished, pads, terminated } = seat.episode;
    if (seat.player.name !== "You") return h("p", {}, "");
    const name = `best.${seat.act.id}.${seat.rule.name}`;
    const before = memory.get<Best | null>(name, null);
    const text = before
      ? `Your best time here is ${clock(before.frames)}.`
      : "Reach the post at the end for a time.";
    const why = terminated ? "One life counts, as in the contest. " : "";
    if (!finished) return h("p", {}, why + text);
    const isBest = !before || pads.length < before.frames;
    if (isBest) memory.set(name, { frames: pads.length });
    return h(
      "p",
      {},
      isBest ? `${clock(pads.length)}: your best time here.` : `${clock(pads.length)}. ${text}`,
    );
  }

  private offers(seat: Seat): HTMLElement[] {
    const { app } = this;
    const share = () => this.share(seat, link).catch((error: Error) => app.say(error.message));
    const link = button("Copy a link to this episode", () => void share(), { "data-key": "share" });
    const made = [link];
    if (seat.act.kind !== "new")
      made.push(button("Download as .bk2", () => void this.download(seat), { "data-key": "bk2" }));
    if (app.current.mode === "play")
      made.push(button("Race PPO2", () => app.go({ mode: "race", players: ["you", "ppo2"] })));
    if (app.current.mode !== "watch")
      made.push(button("Again", () => app.again(), { class: "main" }));
    const ids = [...app.world.acts.keys()];
    const next = ids[ids.indexOf(seat.act.id) + 1];
    if (app.current.mode === "play" && next)
      made.push(button("Next act", () => app.go({ act: next }), { class: "main" }));
    return made;
  }

  private async share(seat: Seat, link: HTMLButtonElement): Promise<void> {
    const address = await this.app.shared(seat);
    try {
      await navigator.clipboard.writeText(address);
      link.textContent = "Copied";
    } catch {
      const field = h("input", {
        readonly: true,
        value: address,
        "aria-label": "Link to this episode",
      });
      link.replaceWith(field);
      field.select();
    }
  }

  private async download(seat: Seat): Promise<void> {
    try {
      const address = URL.createObjectURL(await record(seat.act, seat.episode.pads));
      h("a", { href: address, download: `${seat.act.name}.bk2` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    } catch (error) {
      this.app.say((error as Error).message);
    }
  }
}
