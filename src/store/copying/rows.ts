/** What is copied from one engine to the other, in a form that neither of them has. */
import { hash } from "node:crypto";
import type { Attempt, AttemptLog, DeliveryState } from "../../model/delivery.ts";
import type { At, Ms } from "../../model/units.ts";

/** A segment as it is stored: what its events are is copied byte by byte, with the checksum that detects damage. */
export type SegmentRow = {
  readonly first: number;
  readonly events: number;
  readonly acceptedAt: At;
  readonly about: string;
  readonly bodies: string | Buffer;
  readonly sum: number;
  readonly routes: readonly Route[];
};

/** The part of a segment for one destination. */
export type Route = {
  readonly destination: string;
  /** A letter for each event (`store/segment.ts`). */
  readonly states: string;
  /** Who took which of them, in the lines of `store/takers.ts`. */
  readonly takers: string;
  /** When the last one was settled; null before. */
  readonly settledAt: At | null;
};

/** A messageId that was seen, by its key. */
export type Seen = { readonly key: Buffer; readonly at: At };

/**
 * The kinds of columns. Neutral forms: texts as they came in, times of the machine's clock, flags as booleans. `odd` and `id`
 * may have characters that an engine stores escaped; `log` is JSON with times.
 */
export type Kind = "number" | "time" | "text" | "odd" | "id" | "json" | "log" | "flag";
export type Cell = number | string | boolean | null;
export type Row = Readonly<Record<string, Cell>>;

/** A table that both engines have, with columns of different form. */
export type Table = {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, Kind>>;
};

const TRIED = table("tried", ["event", "destination"], {
  number: ["event", "attempts", "stood_still", "status", "sum"],
  time: ["due_at", "first_attempt_at", "attempted_at", "settled_at", "accepted_at", "replayed_at"],
  text: ["destination", "state", "url", "body"],
  odd: ["reason"],
  json: ["finals", "about"],
  log: ["log"],
});

/** All tables but those that the engines store in ways of their own. */
export const TABLES: readonly Table[] = [
  TRIED,
  table("clocks", ["destination"], {
    text: ["destination"],
    time: ["paused_at", "unserved_at", "offline_at", "stopped_at"],
    number: ["stood_still"],
  }),
  table("deletions", ["id"], {
    text: ["id", "status", "stage"],
    // Unlike those of events, these times are of the machine's clock on both engines.
    number: ["requested_at", "ended_at", "users", "up_to"],
    json: ["scope", "sources", "notices", "erased", "untold"],
    flag: ["erase", "suppress", "forced"],
  }),
  table("deletion_users", ["deletion", "nth"], { text: ["deletion", "hash"], number: ["nth"], id: ["user_id"] }),
  table("deletion_notices", ["deletion", "source", "nth"], {
    text: ["deletion", "source"],
    number: ["nth", "event"],
    json: ["fates"],
    flag: ["open"],
  }),
  table("suppressed", ["hash", "source"], { text: ["hash", "source"], number: ["since_at"] }),
  table("computations", ["number"], {
    number: ["number", "size"],
    text: ["id", "source", "class", "key"],
    odd: ["name"],
    time: ["created_at", "removed_at"],
  }),
  table("members", ["computation", "user"], { number: ["computation", "event"], odd: ["user"], text: ["value"] }),
  table("syncs", ["number"], {
    number: ["number", "computation", "added", "changed", "removed", "done"],
    text: ["id", "kind", "state"],
    time: ["started_at", "finished_at"],
  }),
  table("changes", ["sync", "user"], { number: ["sync"], odd: ["user"], text: ["value"] }),
];

function table(
  name: string,
  key: readonly string[],
  byKind: Readonly<Partial<Record<Kind, readonly string[]>>>,
): Table {
  const kinds = Object.entries(byKind) as [Kind, readonly string[]][];
  return { name, key, columns: Object.fromEntries(kinds.flatMap(([kind, all]) => all.map((one) => [one, kind]))) };
}

/** What is copied one after the other. The order is that of the marks: it stays. */
export type Part = "segments" | "seen" | Table;
export const PARTS: readonly Part[] = ["segments", "seen", ...TABLES];

/** Columns whose values name an event. None of them may be given to another event. */
export const EVENTS: readonly (readonly [table: string, column: string])[] = [
  ["tried", "event"],
  ["deletions", "up_to"],
  ["deletion_notices", "event"],
  ["members", "event"],
];

export type Batch =
  | { readonly part: "segments"; readonly rows: readonly SegmentRow[] }
  | { readonly part: "seen"; readonly rows: readonly Seen[] }
  | { readonly part: Table; readonly rows: readonly Row[] };

/** How many rows make a batch: few of what is large, so that memory is bounded. */
export function batchSize(part: Part): number {
  if (part === "segments") return 32;
  if (part === "seen") return 10_000;
  return part === TRIED ? 200 : 1_000;
}

export type Count = { readonly destination: string; readonly state: DeliveryState; readonly count: number };

/** What an outbox holds, counted in its rows. */
export type Totals = { readonly events: number; readonly deliveries: readonly Count[] };

/** The same totals as text, so that two can be compared. */
export function describeTotals({ events, deliveries }: Totals): string {
  const some = deliveries.filter(({ count }) => count > 0);
  return [`${events} events`, ...some.map((one) => `${one.destination} ${one.state} ${one.count}`).sort()].join("\n");
}

/** Lines of takers, with their times moved. */
export function shiftTakers(lines: string, by: Ms): string {
  if (by === 0) return lines;
  return lines.replaceAll(/^.+$/gm, (line) => {
    const taker: { readonly at: At } = JSON.parse(line);
    return JSON.stringify({ ...taker, at: taker.at + by });
  });
}

/** A log of attempts as JSON, with their times moved. */
export function shiftLog(text: string, by: Ms): string {
  if (by === 0) return text;
  const log: AttemptLog = JSON.parse(text);
  const shifted = (one: Attempt): Attempt => ({ ...one, at: one.at + by });
  return JSON.stringify({ ...log, first: log.first.map(shifted), last: log.last.map(shifted) });
}

/** A number that stands for this text in a mark. */
export function fingerprint(text: string): number {
  return Number.parseInt(hash("sha256", text, "hex").slice(0, FINGERPRINT_DIGITS), 16);
}

/** 48 bits, which a number holds exactly. */
const FINGERPRINT_DIGITS = 12;
