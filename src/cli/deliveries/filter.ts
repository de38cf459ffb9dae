import { type Command, InvalidArgumentError } from "commander";
import { suggest } from "../../config/suggest.ts";
import { toQueryTime } from "./times.ts";

const TYPES = ["identify", "track", "page", "screen", "group", "alias", "delete"];

/** The options by which deliveries are chosen, beside their state. */
export function addFilterOptions(command: Command): Command {
  return command
    .option("--destination <name>", "only those for this destination")
    .option("--source <name>", "only those of events from this source")
    .option("--type <type>", "only those of such events, as track", oneOf(TYPES))
    .option("--user <id>", "only those of events of this user")
    .option("--since <time>", "only those that are in their state since then: 2h, or 2009-11-10T23:00", toTime)
    .option("--until <time>", "only those that were so before then", toTime);
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

/** What the daemon is asked for: the options that were given. */
export function filterOf({ state, destination, source, type, user, since, until }: Filter): Record<string, string> {
  const wanted = { state, destination, source, type, user, since, until };
  const given = Object.entries(wanted).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(given);
}

/** Takes one of these words, and says which was probably meant by another. */
export function oneOf(words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text)) return text;
    const meant = suggest(text, words);
    throw new InvalidArgumentError(
      meant === null ? `It must be one of ${words.join(", ")}.` : `Did you mean ${meant}?`,
    );
  };
}

function toTime(text: string): string {
  const time = toQueryTime(text);
  if (time !== null) return time;
  throw new InvalidArgumentError("It must be how long ago, as 2h or 30m, or a time, as 2009-11-10T23:00:00Z.");
}
