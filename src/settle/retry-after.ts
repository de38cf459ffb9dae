import type { At, Ms } from "../model/units.ts";

/**
 * Reads a Retry-After header: whole seconds, or an HTTP date, which is compared with the wall clock. Answers how long to
 * wait from now, or null if there is none or it cannot be read.
 */
export function parseRetryAfter(text: string | null, wall: At): Ms | null {
  if (text === null) return null;
  const trimmed = text.trim();
  if (/^\d{1,10}$/.test(trimmed)) return Number(trimmed) * 1_000;
  // A date has a day's name and a comma or a space; `Date.parse` alone would take a bare number for a year.
  if (!/^[A-Za-z]{3,9},? /.test(trimmed)) return null;
  const at = Date.parse(trimmed);
  return Number.isNaN(at) ? null : Math.max(0, at - wall);
}
