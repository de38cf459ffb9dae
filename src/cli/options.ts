import { type Command, InvalidArgumentError } from "commander";
import { suggest } from "../config/suggest.ts";
import { isCalendarDay, parseDuration } from "../model/units.ts";
import { TYPES } from "../wire/deliveries.ts";

/** Accepts one of these words; for any other, suggests the nearest. */
export function oneOf(words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text)) return text;
    const meant = suggest(text, words);
    throw new InvalidArgumentError(
      meant === null ? `It must be one of ${words.join(", ")}.` : `Did you mean ${meant}?`,
    );
  };
}

/** Accepts a whole number from 1 to `most`. */
export function upTo(most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (number >= 1 && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
  };
}

/** The options that select deliveries, besides their state. */
export function addFilterOptions(command: Command): Command {
  return command
    .option("--destination <name>", "only deliveries to this destination")
    .option("--source <name>", "only events from this source")
    .option("--type <type>", "only events of this type, such as track", oneOf(TYPES))
    .option("--user <id>", "only events of this user")
    .option("--since <time>", "only since this time: 2h, or 2009-11-10T23:00", toTime)
    .option("--until <time>", "only before this time", toTime);
}

export type Filter = {
  readonly state?: string;
  readonly destination?: string;
  readonly source?: string;
  readonly type?: string;
  readonly user?: string;
  readonly since?: string;
  readonly until?: string;
};

/** The query for the daemon: the options that were given. */
export function filterOf({ state, destination, source, type, user, since, until }: Filter): Record<string, string> {
  const all = { state, destination, source, type, user, since, until };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function toTime(text: string): string {
  const time = toQueryTime(text);
  if (time !== null) return time;
  throw new InvalidArgumentError("It must be an age such as 2h or 30m, or a time such as 2009-11-10T23:00:00Z.");
}

const FORM = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Converts a time for the daemon. An age such as `2h` is passed on; a date or time without a zone is in this machine's zone.
 * Null if it is neither.
 */
export function toQueryTime(text: string): string | null {
  if (parseDuration(text) !== null) return text;
  if (!FORM.test(text) || !isCalendarDay(text)) return null;
  // A date alone would be read in UTC.
  const at = Date.parse(text.includes("T") ? text : `${text}T00:00`);
  const time = Number.isNaN(at) ? "" : new Date(at).toISOString();
  // The zone can move it out of the years with four digits; other years begin with a sign.
  return /^\d/.test(time) ? time : null;
}
