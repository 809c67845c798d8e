/** What the page shows, as the part of its address behind the #. */

const MODES = ["watch", "play", "race", "learn"] as const;
export type Mode = (typeof MODES)[number];

export interface State {
  mode: Mode;
  act: string;
  /** Who plays: in a race, those beside the first. */
  players: string[];
  seed: number;
  sticky: boolean;
  /** The contest's rules, or free play without limits. */
  free: boolean;
  /** Packed pads of an episode (share.ts), or "". */
  replay: string;
}

export const FIRST: State = {
  mode: "watch",
  act: "RustCavern.Act2",
  players: ["ppo2"],
  seed: 4,
  sticky: true,
  free: true,
  replay: "",
};

/** Where a person begins who chose no act. */
const EASY = "BrambleWood.Act1";

export function format(state: State): string {
  const { act, players, seed } = state;
  const query = new URLSearchParams({ act, players: players.join(), seed: String(seed) });
  if (state.sticky !== FIRST.sticky) query.set("sticky", Number(state.sticky).toString());
  if (state.free !== FIRST.free) query.set("free", Number(state.free).toString());
  if (state.replay) query.set("replay", state.replay);
  return `#/${state.mode}?${query.toString().replaceAll("%2C", ",").replaceAll("%2F", "/")}`;
}

/** isAct: whether an act exists. Returns the state, and what is wrong with the link, or "". */
export function parse(
  hash: string,
  isAct: (id: string) => boolean,
): { state: State; flaw: string } {
  if (!hash || hash === "#") return { state: FIRST, flaw: "" };
  const [, mode, query] = /^#\/(\w+)\??(.*)$/.exec(hash) ?? [];
  const given = new URLSearchParams(query ?? "");
  const state = { ...FIRST };
  const flaws: string[] = [];
  if (MODES.includes(mode as Mode)) state.mode = mode as Mode;
  else flaws.push("view");
  if (state.mode === "play" && isAct(EASY)) state.act = EASY;
  const act = given.get("act");
  if (act !== null && isAct(act)) state.act = act;
  else if (act !== null) flaws.push("act");
  const seed = Number(given.get("seed") ?? FIRST.seed);
  if (Number.isSafeInteger(seed) && seed >= 0) state.seed = seed;
  else flaws.push("seed");
  const players = given.get("players")?.split(",").filter(Boolean).slice(0, 4);
  if (players?.length) state.players = players;
  state.sticky = given.get("sticky") !== "0";
  state.free = given.get("free") !== "0";
  state.replay = flaws.includes("act") ? "" : (given.get("replay") ?? ""); // of its own act alone
  const flaw = flaws.length
    ? `This link names no ${flaws.join(" and no ")} that is known here: choose below.`
    : "";
  return { state, flaw };
}
