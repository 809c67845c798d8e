/** How an episode is played: the contest's rules, or freely. */

import { PAD } from "../engine/engine";

export interface Rule {
  /** Under which best times are kept. */
  name: "sticky" | "steady" | "free";
  /** Frames for which an action is held. */
  frameSkip: number;
  /** Probability that the buttons before are held for one frame more. */
  sticky: number;
  /** Agent steps after which an episode ends; 0: never. */
  steps: number;
}

export const CONTEST: Rule = { name: "sticky", frameSkip: 4, sticky: 0.25, steps: 4500 };
export const STEADY: Rule = { ...CONTEST, name: "steady", sticky: 0 };
export const FREE: Rule = { name: "free", frameSkip: 1, sticky: 0, steps: 0 };

/** The contest's seven actions, by the names of their buttons. */
export const ACTIONS = ["LEFT", "RIGHT", "LEFT DOWN", "RIGHT DOWN", "DOWN", "DOWN B", "B"];
export const RIGHT = 1;
export const JUMP = 6;

/** The pad of an action, by the names of its buttons. */
export function padOf(action: string): number {
  const names = action.split(" ").filter(Boolean) as (keyof typeof PAD)[];
  return names.reduce((pad, name) => pad | PAD[name], 0);
}

export const ACTION_PADS = ACTIONS.map(padOf);
