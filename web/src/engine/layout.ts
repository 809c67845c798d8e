/** Where the engine's structs have their fields, in bytes: cartridge/host/games.c.
 *
 * tests/layout.test.ts computes the same from the C source and fails where they part. */

export const SETTINGS = {
  stick_probability: 0,
  games: 8,
  frame_skip: 12,
  episode_steps: 16,
  rotate_every: 20,
  backtracking: 24,
  height: 28,
  width: 32,
  depth: 36,
  colours: 40,
  from: 44,
  to: 48,
  pads: 52,
  game: 180,
  observations: 184,
  states: 188,
  rgb: 192,
  state_bytes: 196,
  observation_bytes: 200,
} as const;

export const GAME = {
  random_low: 0,
  random_high: 8,
  increment_low: 16,
  increment_high: 24,
  score: 32,
  total: 36,
  furthest: 40,
  gain: 44,
  steps: 48,
  level_steps: 52,
  held: 56,
  act: 58,
  action: 60,
  rotates: 61,
  terminated: 62,
  truncated: 63,
  rotated: 64,
  stuck: 65,
  frames: 66,
  variables: 68,
} as const;

export const LINE = { count: 0, actions: 4, stuck: 8196, played: 16388, seen: 16392 } as const;

/** In `seen` of a line, as words of 32 bits. */
export const SEEN = [
  "x",
  "y",
  "progress",
  "length",
  "frame_counter",
  "speed_x",
  "speed_y",
  "flags",
  "rings",
  "lives",
  "level_end_bonus",
  "contest_score",
  "switches",
  "furthest_x",
] as const;
