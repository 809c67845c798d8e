/** Whoever presses the buttons of a game. */

import { Random } from "../engine/random";
import type { Episode } from "../game/episode";
import { ACTIONS, JUMP, padOf, RIGHT } from "../game/rules";
import type { Brain, Thought } from "../nets/brain";
import { choose } from "./policy";

export interface Player {
  readonly name: string;
  /** Names of its actions; "" for a person. */
  readonly actions: string[];
  /** What it thought before its last step, of a net. */
  readonly thought: Thought | null;
  readonly brain: Brain | null;
  /** The pad of the next step. */
  pad(episode: Episode): number | Promise<number>;
}

const PERIOD = 21;
const HOLD = 5;

abstract class Blind implements Player {
  private readonly pads: number[];
  readonly thought = null;
  readonly brain = null;
  abstract readonly name: string;

  constructor(readonly actions = ACTIONS) {
    this.pads = actions.map(padOf);
  }

  abstract action(episode: Episode): number;

  pad(episode: Episode): number {
    return this.pads[this.action(episode)];
  }
}

export class RandomPlayer extends Blind {
  readonly name = "Random";
  private readonly random: Random;

  constructor(seed: number) {
    super();
    this.random = new Random(seed, 2);
  }

  action(): number {
    return this.random.below(ACTIONS.length);
  }
}

/** Runs right and jumps in a rhythm: retro_agents/games/retro/references.py. */
export class RunAndJump extends Blind {
  readonly name = "Run and jump";

  action({ steps }: Episode): number {
    return steps % PERIOD < HOLD ? JUMP : RIGHT;
  }
}

/** Plays given actions, then runs right. */
export class Sequence extends Blind {
  constructor(
    readonly name: string,
    private readonly sequence: ArrayLike<number>,
    actions = ACTIONS,
  ) {
    super(actions);
  }

  action({ steps }: Episode): number {
    return steps < this.sequence.length ? this.sequence[steps] : RIGHT;
  }
}

/** Plays the pads of a recording, frame by frame; for rules that hold none back. */
export class Replay implements Player {
  readonly actions: string[] = [];
  readonly thought = null;
  readonly brain = null;

  constructor(
    readonly name: string,
    readonly pads: ArrayLike<number>,
  ) {}

  pad({ pads }: Episode): number {
    return pads.length < this.pads.length ? this.pads[pads.length] : 0;
  }
}

/** A net's player. Its draws come from a stream of their own. */
export class NetPlayer implements Player {
  readonly actions: string[];
  thought: Thought | null = null;
  private readonly random: Random;
  private readonly pads: number[];
  private readonly session: number;
  private static sessions = 0;

  constructor(
    readonly name: string,
    readonly brain: Brain,
    seed: number,
  ) {
    this.session = NetPlayer.sessions++;
    this.actions = brain.facts.actions;
    this.pads = this.actions.map(padOf);
    this.random = new Random(seed, 1);
  }

  async pad(episode: Episode): Promise<number> {
    const image = episode.engine.observation();
    this.thought = await this.brain.think(image, this.session, episode.steps === 0);
    const uniform = Math.fround(this.random.random());
    return this.pads[choose(this.brain.facts, this.thought.scores, uniform)];
  }

  /** Free its memory in the worker. */
  end(): void {
    this.brain.forget(this.session);
  }
}

const LETTERS = "LRlrdDJ";

/** A proof's text, such as "R12 J3", as actions. */
export function actionsOf(text: string): number[] {
  return text
    .split(" ")
    .flatMap((run) => new Array<number>(Number(run.slice(1))).fill(LETTERS.indexOf(run[0])));
}

/** A player that is still fetched: it plays as soon as it is there. */
export class Coming implements Player {
  private there: Player | null = null;

  constructor(
    readonly name: string,
    readonly coming: Promise<Player>,
  ) {
    coming.then(
      (player) => (this.there = player),
      () => {}, // told where it is asked for a pad
    );
  }

  get actions(): string[] {
    return this.there?.actions ?? [];
  }

  get thought(): Thought | null {
    return this.there?.thought ?? null;
  }

  get brain(): Brain | null {
    return this.there?.brain ?? null;
  }

  pad(episode: Episode): number | Promise<number> {
    return this.there ? this.there.pad(episode) : this.coming.then((player) => player.pad(episode));
  }

  end(): void {
    if (this.there instanceof NetPlayer) this.there.end();
  }
}
