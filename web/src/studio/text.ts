/** Numbers and times as people read them. */

export const count = (value: number) => Math.round(value).toLocaleString("en");

/** 1,250,000 as 1.25 M. step: of an axis, whose ticks must differ. */
export function short(value: number, step = 0): string {
  const far = Math.abs(step ? value : Number(Number(value).toPrecision(3))); // 999,999 is 1 M
  const [size, unit] = far >= 1e6 ? [1e6, " M"] : far >= 1e4 ? [1e3, " k"] : [1, ""];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const rounded = step ? { maximumFractionDigits: digits } : { maximumSignificantDigits: 3 };
  return (value / size).toLocaleString("en", rounded) + unit;
}

/** A return, with decimals where it is small, as those of Procgen are; a dash if it is unknown. */
export function amount(value: number | null): string {
  if (value === null) return "–";
  return Number.isInteger(value) || Math.abs(value) >= 100 ? count(value) : short(value);
}

export function duration(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return `${Math.round(seconds)} s`;
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 60 / 24)} days`;
}

/** Seconds to the second unit: 1 min 20 s. */
export function elapsed(seconds: number): string {
  const parts = TIMES.map(
    ([size, unit, most]) => [Math.floor(seconds / size) % most, unit] as const,
  );
  const first = parts.findIndex(([many]) => many);
  const said = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2);
  return said
    .filter(([many], i) => many || !i)
    .map(([many, unit]) => `${many} ${unit}`)
    .join(" ");
}

const TIMES = [
  [86400, "d", Infinity],
  [3600, "h", 24],
  [60, "min", 60],
  [1, "s", 60],
] as const;

/** metrics/mean_return as mean return. */
export const nameOf = (column: string) =>
  NAMES[column] ?? column.slice(column.indexOf("/") + 1).replaceAll("_", " ");

const NAMES: Record<string, string> = {
  "episodes/r": "return of episodes",
  "episodes/l": "length of episodes",
  "episodes/progress": "progress of episodes",
  "episodes/finished": "share of episodes that finish",
  "timing/seconds": "seconds since the start",
};

/** GAME:STATE as STATE; Procgen's GAME:NUMBER as it is. */
export const levelOf = (level: string) => level.replace(/^.*:(?!\d+$)/, "");

/** Colours of runs, told apart in both colour schemes. */
const HUES = [
  "#3f9d5c",
  "#d8692f",
  "#4187e0",
  "#a763d6",
  "#bd9412",
  "#d5487e",
  "#1f9c9c",
  "#8d7b66",
];
export const hue = (number: number) => HUES[number % HUES.length];
