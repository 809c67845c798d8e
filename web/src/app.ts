/** The page: what is shown follows from the address, and every control changes the address. */

import { Engine } from "./engine/engine";
import { Seat } from "./game/seat";
import { FIRST, format, parse, type Mode, type State } from "./game/link";
import { readRecording } from "./game/recording";
import { CONTEST, FREE, STEADY, type Rule } from "./game/rules";
import { pack, unpack } from "./game/share";
import { titleOf, type Act, type World } from "./game/world";
import type { Brain } from "./nets/brain";
import { Cast } from "./players/cast";
import { Coming, Replay, type Player } from "./players/players";
import { Acts } from "./views/acts";
import { Controls } from "./views/controls";
import { clock, freeKeys, h, isTouched, points } from "./views/dom";
import { Finish } from "./views/finish";
import { Learn } from "./views/learn";
import type { Place } from "./views/map";
import { Panel } from "./views/panel";
import { Person } from "./views/person";
import type { Screen } from "./views/screen";
import { Stage } from "./views/stage";

/** Milliseconds between an episode and the next one. */
const PAUSE = 1800;
/** Milliseconds after which a page says that a player is still loading. */
const SLOW = 1000;
/** Milliseconds between two maps of where a net looks, each of which takes 145 thoughts. */
const LOOK_EVERY = 500;
const YOU = "you";
const NOTHING = 0;
const NEVER = () => false;

export class App {
  private state: State;
  private readonly stage = new Stage();
  private readonly panel = new Panel(() => this.show());
  private readonly person = new Person();
  private readonly acts: Acts;
  private readonly controls: Controls;
  private readonly finish = new Finish(this);
  private readonly learn: Learn;
  private readonly notice = h("p", { class: "notice", role: "alert", hidden: true });
  private readonly engines: { key: string; engine: Engine }[] = [];
  /** Where episodes on the current act ended. */
  private ends: Place[] = [];
  /** The net that is asked where it looks. One that was ended does not answer. */
  private looking: Brain | null = null;
  private shown = "";
  private mode: Mode | null = null;
  /** The address that is shown, and what is wrong with it. */
  private followed = "";
  private flaw = "";
  /** The recording that the address names, if any. */
  private recorded: number[] | null = null;
  private timer = NOTHING;
  readonly roots: HTMLElement[];

  constructor(
    readonly world: World,
    private readonly cast = new Cast(),
  ) {
    this.state = parse(location.hash, (id) => world.acts.has(id)).state;
    const link = (act: Act) => format({ ...this.state, act: act.id, replay: "" });
    this.acts = new Acts(world, link, {
      say: (text) => this.say(text),
      again: () => this.stage.show(),
    });
    this.controls = new Controls(this);
    this.learn = new Learn(world, (act, actions) => this.learned(act, actions));
    const side = h("div", { class: "side" }, this.learn.root, this.panel.root);
    const game = h(
      "div",
      { class: "game" },
      this.stage.root,
      this.person.touch,
      this.finish.root,
      this.controls.root,
      this.controls.keys,
      this.panel.mapBox,
    );
    const main = h(
      "main",
      {},
      this.notice,
      h("div", { class: "table" }, game, side),
      this.acts.root,
    );
    this.roots = [this.controls.header, main];
    this.roots.forEach((root) => freeKeys(root));
    this.stage.onpicture = () => this.picture();
    this.person.onpress = () => this.takeOver();
    this.person.wanted = () => main.isConnected && this.isPlayed;
  }

  get current(): State {
    return this.state;
  }

  get act(): Act {
    return this.world.acts.get(this.state.act)!;
  }

  get players(): Map<string, string> {
    return this.cast.names;
  }

  /** Why a player cannot play here, or "". */
  lacks(id: string): string {
    return this.cast.lacks(id, this.act);
  }

  /** Whether a person plays here, or may take over. */
  private get isPlayed(): boolean {
    const { mode, replay } = this.state;
    if (!this.seats.length) return false; // its act is still fetched
    return mode === "watch" ? !replay : this.ids().includes(YOU);
  }

  get seats(): Seat[] {
    return this.stage.seats;
  }

  get clock(): Stage {
    return this.stage;
  }

  /** Follow the address and files from now on, for a page that shows nothing else. */
  begin(): void {
    addEventListener("hashchange", () => void this.follow());
    this.acceptFiles();
    void this.follow();
  }

  /** Change what is shown, and the address. */
  go(change: Partial<State>): void {
    const hash = format({ ...this.state, replay: "", ...change });
    if (hash === location.hash) void this.follow();
    else location.hash = hash;
  }

  say(text: string): void {
    this.notice.hidden = !text;
    this.notice.textContent = text;
  }

  /** Show what the address says. */
  async follow(): Promise<void> {
    const hash = location.hash;
    const seed = /[?&]act=(\d+)\//.exec(hash)?.[1];
    if (seed && !this.seats.length) this.say("The acts are being fetched…");
    const lost = seed && (await this.acts.show(seed).catch((error: Error) => error.message));
    if (hash !== location.hash) return;
    const { state, flaw: unknown } = parse(hash, (id) => this.world.acts.has(id));
    const flaw = (this.flaw = [lost, unknown].filter(Boolean).join(" "));
    this.say(flaw);
    this.state = state;
    if (state.mode === "race" && state.players.length < 2)
      state.players = [YOU, state.players[0] === YOU ? "ppo2" : state.players[0]];
    if (state.mode === "watch" && state.players[0] === YOU)
      state.players = [state.players.find((id) => id !== YOU) ?? FIRST.players[0]];
    try {
      const coming = this.cast.ready(state.replay ? [] : this.ids()); // those who play
      if (coming) this.say("The net is being prepared…");
      await coming;
      if (hash !== location.hash) return;
      if (coming) this.say(flaw);
      const recorded = state.replay ? await unpack(state.replay) : null;
      if (hash !== location.hash) return;
      this.recorded = recorded;
      this.followed = hash;
      this.play(state.seed, recorded);
    } catch (error) {
      if (hash !== location.hash) return;
      this.fail(error as Error);
      this.state = { ...state, replay: "" };
      this.recorded = null;
      if (state.replay) await this.cast.ready(this.ids())?.catch(() => {}); // told as it plays
      if (hash !== location.hash) return;
      this.followed = hash;
      this.play(state.seed);
    }
  }

  /** Say what went wrong, and what is wrong with the address. */
  private fail({ message }: Error): void {
    this.say([this.flaw, message].filter(Boolean).join(" "));
  }

  /** The page shows something else: no further episode begins. */
  leave(): void {
    clearTimeout(this.timer);
  }

  /** Begin the episode again. */
  again(): void {
    this.flaw = "";
    this.say("");
    this.play(this.seats[0].episode.seed, this.recorded);
  }

  /** Begin an episode. pads: of a recording that is played again. */
  play(seed: number, pads: number[] | null = null): void {
    clearTimeout(this.timer);
    if (this.shown !== this.state.act) {
      this.ends = [];
      if (this.shown) {
        this.stage.show(); // a card is far below
        this.stage.paused = false;
      }
    }
    this.shown = this.state.act;
    const { mode } = this.state;
    if (mode !== this.mode && (mode === "play" || mode === "race")) this.stage.speed = 1;
    this.mode = mode;
    for (const seat of this.stage.seats) if (seat.player instanceof Coming) seat.player.end();
    const seats = pads
      ? [this.seat(0, new Replay("Recording", pads), { ...FREE, steps: pads.length }, seed)]
      : this.ids().map((id, i) => this.seat(i, this.player(id, seed), this.rule(id), seed));
    this.stage.set(seats);
    this.hold(seats);
    seats.forEach((seat, i) => this.stage.screens[i].name(seat.player.name));
    this.finish.hide();
    this.controls.show();
    this.acts.mark(this.act.id);
    this.learn.root.hidden = this.state.mode !== "learn";
    if (this.state.mode === "learn") this.learn.show(this.act, this.state.seed);
    document.body.dataset.mode = this.state.mode;
    document.title = `${titleOf(this.act)} · BrambleDash`;
    seats.forEach((seat, i) => this.wait(seat, this.stage.screens[i]));
    setTimeout(() => this.show()); // a net that is here has come by then, and its parts stay
  }

  /** Let a person begin: the clock waits for a button of the game, once everybody is there. */
  private hold(seats: Seat[]): void {
    const own = seats.findIndex(({ player }) => player === this.person);
    this.stage.held = NEVER;
    if (own < 0) return;
    const screen = this.stage.screens[own];
    let isReady = false;
    const held = () => {
      if (!isReady || !this.person.pad()) return true;
      screen.say(null);
      this.stage.held = NEVER;
      return false;
    };
    this.stage.held = held;
    const coming = seats.map(({ player }) => player instanceof Coming && player.coming);
    void Promise.allSettled(coming).then(() => {
      isReady = true;
      if (this.stage.held === held)
        screen.say(isTouched() ? "Touch a button to start" : "Press a key to start");
    });
  }

  /** Say that a player is loading, if that takes a while. */
  private wait(seat: Seat, screen: Screen): void {
    const { player } = seat;
    if (!(player instanceof Coming)) return;
    const waits = () => this.seats.includes(seat) && !seat.taken && !seat.episode.over;
    const timer = setTimeout(() => waits() && screen.say(`${player.name} is loading…`), SLOW);
    const end = () => {
      clearTimeout(timer);
      if (waits()) screen.say(null);
    };
    player.coming.then(end, end);
  }

  /** The game whose player's mind is shown: the first net's, or the first of all. */
  private get minded(): Seat {
    return this.seats.find(({ hands }) => hands.brain) ?? this.seats[0];
  }

  /** Show beside the games what is switched on, as it is now. */
  private show(): void {
    if (!this.seats.length) return; // its act is still fetched
    this.panel.show(this.minded);
    this.panel.press(this.minded);
    this.panel.places(this.seats, this.ends);
    if (!this.panel.looks) for (const screen of this.stage.screens) screen.look(null);
  }

  private ids(): string[] {
    const { mode, players } = this.state;
    if (mode === "learn") return [this.cast.learned.has(this.act.id) ? "jerk" : "run-and-jump"];
    return mode === "play" ? [YOU] : mode === "race" ? players : players.slice(0, 1);
  }

  private player(id: string, seed: number): Player {
    if (id === YOU) return this.person;
    return new Coming(this.cast.names.get(id) ?? id, this.cast.player(id, this.act, seed));
  }

  private rule(id: string): Rule {
    const { mode, free, sticky } = this.state;
    const frames = this.cast.frames(id);
    if (frames) return { ...FREE, steps: frames };
    if (mode === "play" && free) return FREE;
    const obeys = !sticky || id === "oracle"; // whose way is for buttons that obey
    return obeys ? STEADY : CONTEST;
  }

  private seat(i: number, player: Player, rule: Rule, seed: number): Seat {
    const image = this.cast.image(this.ids()[i] ?? "");
    const options = { pictures: player !== this.person || rule !== FREE, ...image };
    const key = JSON.stringify([this.act.id.split("/").slice(0, -1), options]);
    if (this.engines[i]?.key !== key)
      this.engines[i] = { key, engine: this.world.engine(this.act, options) };
    return new Seat(this.engines[i].engine, this.act, rule, player, seed, {
      step: (one) => this.step(one),
      end: (one) => this.end(one),
      fail: (one, error) => this.seats.includes(one) && this.fail(error),
    });
  }

  /** JERK's first run on an act is shown at once, each better one after the episode. */
  private learned(act: Act, actions: number[]): void {
    const isFirst = !this.cast.learned.has(act.id);
    this.cast.learned.set(act.id, actions);
    if (isFirst && this.state.mode === "learn" && act === this.act) this.play(this.state.seed);
  }

  private picture(): void {
    this.panel.press(this.minded);
    this.controls.update();
  }

  private step(seat: Seat): void {
    const { minded } = this;
    if (seat === minded) this.panel.show(seat);
    this.panel.places(this.stage.seats, this.ends);
    const screen = this.stage.screens[this.stage.seats.indexOf(seat)];
    const { brain } = seat.hands;
    if (!this.panel.looks || !brain) screen?.look(null);
    else if (this.looking !== brain && seat === minded) {
      this.looking = brain;
      void brain.saliency(seat.engine.observation()).then((changes) => {
        setTimeout(() => this.looking === brain && (this.looking = null), LOOK_EVERY);
        if (this.panel.looks && this.stage.seats.includes(seat)) screen.look(changes);
      });
    }
  }

  private end(seat: Seat): void {
    const { x, y } = seat.engine.see();
    const { finished, progress, total, pads, terminated } = seat.episode;
    if (!finished) this.ends.push({ x, y });
    const time = clock(pads.length);
    const how = finished
      ? `Finished in ${time}`
      : terminated
        ? `Lost at ${Math.round(100 * progress)} %`
        : `Ended after ${time}`;
    this.stage.screens[this.stage.seats.indexOf(seat)]?.say(`${how} · ${points(total)} points`);
    this.finish.ended(seat);
    const watches =
      ["watch", "learn"].includes(this.state.mode) && !this.state.replay && !seat.taken;
    if (watches) this.next(seat.episode.seed + 1);
  }

  /** Begin the next episode after a while, but not while the game is paused, or while its link is
   * selected, or a pointer or a keyboard's focus is on the offers. */
  private next(seed: number): void {
    this.timer = window.setTimeout(() => {
      const { root } = this.finish;
      if (this.stage.paused || root.matches(":hover") || root.querySelector(":focus-visible"))
        return this.next(seed);
      // Not while another address is being followed; Learn's seed is that of its search.
      if (this.state.mode === "watch" && location.hash === this.followed) {
        this.state = { ...this.state, seed };
        history.replaceState(null, "", format(this.state));
        this.followed = location.hash;
      }
      this.play(seed);
    }, PAUSE);
  }

  /** A person goes on with an agent's episode. */
  takeOver(): void {
    const seat = this.stage.seats[0];
    if (this.state.mode !== "watch" || this.state.replay || seat.taken || seat.episode.over) return;
    seat.give(this.person);
    this.stage.paused = false;
    this.stage.screens[0].say(null);
    this.stage.screens[0].name("You, after " + seat.player.name);
    this.controls.show();
  }

  handBack(): void {
    const seat = this.stage.seats[0];
    if (!seat.taken) return;
    seat.give(null);
    this.stage.screens[0].name(seat.player.name);
    this.controls.show();
    if (seat.episode.over) this.next(seat.episode.seed + 1);
  }

  /** An address that plays the first seat's episode again. */
  async shared(seat: Seat): Promise<string> {
    const replay = await pack(seat.episode.pads);
    const hash = format({ ...this.state, mode: "watch", seed: seat.episode.seed, replay });
    return `${location.href.split("#")[0]}${hash}`;
  }

  /** Take files that are dropped on the page. */
  acceptFiles(): void {
    addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.open(file);
    });
  }

  /** Take a net or a recording from a file, or say what is wrong with it. */
  async open(file: File): Promise<void> {
    this.say("");
    await this.take(file).catch((error: Error) => this.say(error.message));
  }

  /** Throws a sentence for the page if the file is neither a net nor a recording that can play. */
  async take(file: File): Promise<void> {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (file.name.endsWith(".onnx")) {
      const id = await this.cast.add(bytes, file.name);
      this.go({
        mode: this.state.mode === "race" ? "race" : "watch",
        players: this.state.mode === "race" ? [YOU, id] : [id],
      });
    } else if (file.name.endsWith(".bk2")) {
      const { act, pads } = await readRecording(bytes);
      this.go({ mode: "watch", act, replay: await pack(pads) });
    } else throw new Error("The page reads nets (.onnx) and recordings (.bk2): drop one of these.");
  }
}
