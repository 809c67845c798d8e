/** What the studio's server answers (retro_agents/studio/app.py). */

export interface Run {
  id: string;
  state: "running" | "finished" | "stopped" | "killed" | "damaged";
  error: string;
  agent: string;
  levels: string;
  seed: number | null;
  steps: number;
  timesteps: number;
  speed: number | null;
  mean: number | null;
  random: number | null;
  oracle: number | null;
  saved: number | null;
  begun: number | null;
}

export interface Runs {
  version: string;
  root: string;
  rows: Run[];
  failures: Record<string, string>;
  /** A command that trains a first run here. */
  first: string;
}

export interface Curve {
  label: string;
  error?: string;
  x: number[];
  y: (number | null)[];
  low?: number[];
  high?: number[];
}

export interface Heat {
  levels: string[];
  edges: number[];
  returns: (number | null)[][];
}

export interface About {
  name: string;
  checkpoints: string[];
  error: string;
  heat: Heat;
  /** One to watch it on: of its newest episode, or the first that it learns on. */
  level: string;
  commands: Record<string, string>;
}

export interface Differences {
  runs: string[];
  rows: { name: string; values: string[] }[];
  /** What is wrong with the configs of others. */
  errors: string[];
}

export interface Choices {
  agents: Record<string, { presets: string[]; shipped: boolean }>;
  splits: string[];
}

type Query = Record<string, string | string[]>;

/** A query as the part of an address behind the ?. */
export function queryOf(query: Query): string {
  const found = new URLSearchParams();
  for (const [name, values] of Object.entries(query))
    for (const value of [values].flat()) found.append(name, value);
  return found.toString();
}

const reached = (asked: Promise<Response>) =>
  asked.catch(() => {
    throw new Error("The studio does not answer: is it still running?");
  });

async function answered<T>(asked: Promise<Response>): Promise<T | null> {
  const answer = await reached(asked);
  if (answer.status === 204) return null;
  const text = await answer.text();
  if (answer.status === 403) throw new Error(text);
  const content = JSON.parse(text) as T & { error?: string };
  if (!answer.ok) throw new Error(content.error ?? answer.statusText);
  return content;
}

/** Ask for something; null if the page has it already. */
export const maybe = <T>(what: string, query: Query = {}) =>
  answered<T>(fetch(`/api/${what}?${queryOf(query)}`));

export const ask = async <T>(what: string, query: Query = {}) => (await maybe<T>(what, query))!;

export const tell = async <T>(what: string, body: unknown) =>
  (await answered<T>(fetch(`/api/${what}`, { method: "POST", body: JSON.stringify(body) })))!;

export interface Agent {
  id: string;
  levels: string;
  agent: string;
}

/** Bytes of the server's answer, and whether they are JSON. */
async function bytes(address: string): Promise<{ data: ArrayBuffer; isJson: boolean }> {
  const answer = await reached(fetch(address));
  if (answer.status === 403) throw new Error(await answer.text());
  if (!answer.ok) throw new Error(((await answer.json()) as { error: string }).error);
  const isJson = answer.headers.get("Content-Type") === "application/json";
  return { data: await answer.arrayBuffer(), isJson };
}

/** What an agent plays by, which the server makes the first time: a net, or JERK's sequences. */
export const fetchPlayer = (agent: string) => bytes(`/api/player?${queryOf({ agent })}`);

/** A recording, whose name is RUN@FILE. */
export async function fetchRecording(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const [, run, file] = /^(.*)@(.*)$/.exec(name)!;
  return new Uint8Array((await bytes(`/api/file?${queryOf({ run, file })}`)).data);
}

export interface Episode {
  level: string;
  step: number;
  r: number | null;
  l: number;
  progress: number | null;
  finished: number;
  /** The name of its recording, or "". */
  file: string;
}

export interface Episodes {
  levels: string[];
  /** Episodes in the table, which `until` holds on to while more is read. */
  count: number;
  total: number;
  rows: Episode[];
  /** Level, progress and whether it finished, of the newest. */
  ends: [string, number | null, boolean][];
  files: string[];
}

type Interval = [number | null, number | null];

export interface Compared {
  label: string;
  mean: number;
  interval: Interval;
  seeds: number;
  apart: number;
  apart_interval: Interval;
  better: number;
  better_interval: Interval;
  /** Whether runs of its contest did not play all their steps. */
  incomplete: boolean;
}

export interface Comparison {
  rows: Compared[];
  levels: { level: string; means: number[] }[];
  /** What a reader must know of the entries. */
  remarks: string[];
}

export interface Job {
  level: string;
  seed: number;
  mean_return: number | null;
  steps: number;
  status: string;
  limits: { timesteps?: number };
}

export interface Contest {
  id: string;
  error: string;
  running: boolean;
  name: string | null;
  mode: string | null;
  timesteps: number | null;
  mean: number | null;
  low?: number | null;
  high?: number | null;
  /** Says that runs did not play all their steps; "" if all did. */
  shortfall?: string;
  planned: number;
  jobs: Job[];
  missing: { level: string; seed: number }[];
}

export interface Cell {
  run: string;
  kind: string;
  name: string;
  state: string;
  mean: number | null;
  steps: number;
  timesteps: number;
}

export interface Sweep {
  id: string;
  cells: Cell[];
  table: string;
  /** When its plot was drawn; 0: not yet. */
  drawn: number;
}
