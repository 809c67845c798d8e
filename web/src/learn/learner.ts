/** Runs the search on one act, many agent steps at a time. */

import type { Engine } from "../engine/engine";
import { Random, seedState } from "../engine/random";
import { ACTION_PADS, CONTEST } from "../game/rules";
import { SeedDraws } from "./draws";
import { Search, type Try } from "./search";

const POINTS = 0.25;

export class Learner {
  steps = 0;
  /** The return of each ended episode, and what it was for. */
  readonly returns: number[] = [];
  readonly kinds: Try["kind"][] = [];
  /** The step at which each ended. */
  readonly ends: number[] = [];
  readonly search: Search;
  private readonly sticky: Random;
  private attempt: Try;
  private score = 0;

  /** engine: with four frames an action and without pictures. */
  constructor(
    private readonly engine: Engine,
    private readonly act: number,
    seed: number,
    readonly timesteps: number,
  ) {
    this.search = new Search(new SeedDraws(seed), timesteps);
    const row = seedState([seed, 0], 1)[0]; // the first row's of Python's environment
    this.sticky = new Random(row);
    this.attempt = this.begin();
  }

  get over(): boolean {
    return this.steps >= this.timesteps;
  }

  private begin(): Try {
    this.engine.start(this.act);
    this.score = this.engine.see().contest_score;
    return this.search.begin(this.steps);
  }

  /** Play some agent steps. */
  run(steps: number): void {
    for (let i = 0; i < steps && !this.over; i++) this.step();
  }

  private step(): void {
    const { attempt } = this;
    const action = this.search.action(attempt);
    const stuck = attempt.actions.length > 0 && this.sticky.random() <= CONTEST.sticky;
    this.engine.play([ACTION_PADS[action]], [Number(stuck)]);
    const { contest_score, lives, level_end_bonus } = this.engine.see();
    attempt.add(action, (contest_score - this.score) * POINTS);
    this.score = contest_score;
    this.steps++;
    const over = lives < 3 || level_end_bonus !== 0 || attempt.actions.length >= CONTEST.steps;
    if (!over) return;
    this.search.end(attempt);
    this.returns.push(attempt.gained);
    this.kinds.push(attempt.kind);
    this.ends.push(this.steps);
    this.attempt = this.begin();
  }
}
