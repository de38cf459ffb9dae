import type { At } from "./units.ts";

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
