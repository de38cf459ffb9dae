/** Durations and sizes as an operator writes them (`5s`, `4h`, `1GB`), and the numbers the program works with. */

/** A length of time in milliseconds. */
export type Ms = number;

/** A point in time, in milliseconds since 1970. Which clock it came from is said where it is made. */
export type At = number;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;
export const HOUR: Ms = 60 * MINUTE;
export const DAY: Ms = 24 * HOUR;

export const KB = 1_024;
export const MB = 1_024 * KB;
export const GB = 1_024 * MB;

const DURATION_UNITS: Readonly<Record<string, Ms>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };
const SIZE_UNITS: Readonly<Record<string, number>> = { B: 1, KB, MB, GB, TB: 1_024 * GB };
/** The same ones by their standard names. */
const BINARY_UNITS: Readonly<Record<string, number>> = { KIB: KB, MIB: MB, GIB: GB, TIB: 1_024 * GB };

/** Reads `250ms`, `5s`, `4h`, `30d` or a sum like `1h30m`. Answers milliseconds, or null if it is none of these. */
export function parseDuration(text: string): Ms | null {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d)\s*)+$/.test(text)) return null;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g);
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (DURATION_UNITS[unit ?? ""] ?? 0), 0));
}

/** Reads `512MB`, `1.5GiB` or a plain number of bytes; units are powers of 1,024, with or without the i. Answers bytes, or null. */
export function parseSize(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(B|[KMGT]i?B)?$/i.exec(text);
  if (!match) return null;
  const unit = (match[2] ?? "B").toUpperCase();
  return Math.round(Number(match[1]) * (SIZE_UNITS[unit] ?? BINARY_UNITS[unit] ?? 1));
}

/** Reads `50/s`, `30/m` or `100/h`. Answers how many in which time, or null. */
export function parseRate(text: string): { readonly count: number; readonly per: Ms } | null {
  const match = /^(\d{1,9})\s*\/\s*([smh])$/.exec(text);
  return match && { count: Number(match[1]), per: DURATION_UNITS[match[2] ?? ""] ?? SECOND };
}

/** A duration in a line of the log: a number of milliseconds for programs, `42s` for people. */
export type Duration = { readonly ms: Ms };

/** Writes a duration in its two largest units: `850ms`, `42s`, `6m`, `4h 1m`, `3d 2h`. */
export function formatDuration(ms: Ms): string {
  if (ms < SECOND) return `${Math.round(ms)}ms`;
  const seconds = Math.round(ms / SECOND);
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(" ");
}

/** Writes a rate as `parseRate` reads it. */
export function formatRate(count: number, per: Ms): string {
  const [unit = "s"] = Object.entries(DURATION_UNITS).find(([, ms]) => ms === per) ?? [];
  return `${count}/${unit}`;
}

/** Writes a size in its largest fitting unit: `512B`, `32KB`, `1.5GB`. */
export function formatSize(bytes: number): string {
  const unit = Object.entries(SIZE_UNITS).findLast(([, size]) => bytes >= size) ?? ["B", 1];
  return `${Number((bytes / unit[1]).toFixed(1))}${unit[0]}`;
}

/** Writes a share as `20%`; without one, the size. */
export function formatPortion({ share, bytes }: { readonly share: number | null; readonly bytes: number }): string {
  return share === null ? formatSize(bytes) : `${Number((share * 100).toFixed(3))}%`;
}

let lastAt: At = 0;
let lastTime = "1970-01-01T00:00:00.000Z";

/** Writes a point in time as `2009-11-10T23:00:00.000Z`. Remembers the last one: the events of a request share theirs. */
export function formatTime(at: At): string {
  if (at !== lastAt) {
    lastTime = new Date(at).toISOString();
    lastAt = at;
  }
  return lastTime;
}

export type Day = { readonly year: number; readonly month: number; readonly day: number };

/** The beginning of a day in UTC, or null if there is no such day: `Date` takes 31 February for 3 March. */
export function startOfDay({ year, month, day }: Day): At | null {
  // Date.UTC takes the years 0 to 99 for 1900 to 1999; setUTCFullYear takes them as they are.
  const at = new Date(0).setUTCFullYear(year, month - 1, day);
  const isDay = month >= 1 && month <= 12 && new Date(at).getUTCDate() === day;
  return isDay ? at : null;
}

/** Whether a text that begins like `2009-02-28` names a real day. */
export function isCalendarDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  return startOfDay({ year, month, day }) !== null;
}

/** The earlier of two points in time; null is never. */
export function earliest(a: At | null, b: At | null): At | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
