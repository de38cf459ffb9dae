import type { Answer } from "../wire/fields.ts";
import type { liveLine } from "../wire/live.ts";

export type LiveLine = Pick<Answer<typeof liveLine>, "events" | "omitted">;
export type LiveEvent = LiveLine["events"][number];

/** `number` tells the rows apart. */
export type Row = { readonly number: number; readonly event: LiveEvent };

/** What has come since the stream was opened. The newest is first. */
export type Tail = {
  readonly rows: readonly Row[];
  /** What came while the page was paused. */
  readonly held: readonly Row[];
  readonly counts: Readonly<Record<LiveEvent["kind"], number>>;
  /** How many were never on the page: the daemon left them out, or too many came while it was paused. */
  readonly unseen: number;
};

export const EMPTY_TAIL: Tail = {
  rows: [],
  held: [],
  counts: { accepted: 0, refused: 0, attempted: 0 },
  unseen: 0,
};

export const MOST_ROWS = 200;

/** The tail with one more line. A paused page keeps its rows, and holds the new ones back. */
export function append(tail: Tail, { events, omitted }: LiveLine, paused: boolean): Tail {
  const { accepted, refused, attempted } = tail.counts;
  const first = accepted + refused + attempted;
  const added = events.map((event, nth) => ({ number: first + nth, event })).reverse();
  const counts = { accepted, refused, attempted };
  for (const { kind } of events) counts[kind] += 1;
  const unseen = tail.unseen + omitted;
  if (!paused) return { rows: [...added, ...tail.rows].slice(0, MOST_ROWS), held: [], counts, unseen };
  const held = [...added, ...tail.held];
  const over = Math.max(0, held.length - MOST_ROWS);
  return { rows: tail.rows, held: held.slice(0, MOST_ROWS), counts, unseen: unseen + over };
}

/** The tail with what was held back. */
export function release({ rows, held, counts, unseen }: Tail): Tail {
  return { rows: [...held, ...rows].slice(0, MOST_ROWS), held: [], counts, unseen };
}

/** Reads lines of JSON, each as soon as it is whole. */
export async function readLines(body: ReadableStream<Uint8Array>, hear: (line: unknown) => void): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") hear(JSON.parse(line));
  }
}
