import { withoutQuery } from "../model/config.ts";
import { type AttemptLog, NO_ATTEMPTS } from "../model/delivery.ts";
import type { At } from "../model/units.ts";
import { damaged } from "./segment.ts";

/** Who took a delivery at its first attempt, and when. */
export type Delivered = { readonly at: At; readonly url: string; readonly status: number };

/** Who took which deliveries of a segment to one destination. */
export type Takers = { lines: string; by: Delivered | null; events: number[]; lastAt: At };

export function noTakers(): Takers {
  return { lines: "", by: null, events: [], lastAt: 0 };
}

export function note(takers: Takers, event: number, by: Delivered): void {
  if (takers.by !== null && !isSame(takers.by, by)) {
    takers.lines = toLines(takers);
    takers.events = [];
  }
  takers.by = by;
  takers.events.push(event);
  takers.lastAt = Math.max(takers.lastAt, by.at);
}

export function isSame(one: Delivered, other: Delivered): boolean {
  return one.at === other.at && one.url === other.url && one.status === other.status;
}

/** As they are stored, with lines only ever appended: `{"at":…,"url":…,"status":…,"events":[…]}`. */
export function toLines({ lines, by, events }: Takers): string {
  return by === null ? lines : `${lines}${JSON.stringify({ ...by, events })}\n`;
}

/** Who took each event, from the lines that are stored. */
export function readTakers(segment: number, stored: string): ReadonlyMap<number, Delivered> {
  const lines = stored.split("\n").filter((line) => line !== "");
  try {
    return new Map(
      lines.flatMap((line) => {
        const { events, ...by }: Delivered & { readonly events: readonly number[] } = JSON.parse(line);
        return events.map((event) => [event, by] as const);
      }),
    );
  } catch (cause) {
    throw damaged(segment, "the list of delivered events cannot be read", cause);
  }
}

/** The log of a delivery that its first attempt delivered. It is not stored: it follows from what is. */
export function logOfFirst({ at, url, status }: Delivered): AttemptLog {
  const outcome = { outcome: "delivered", status, reason: String(status), answer: null } as const;
  const attempt = { at, url: withoutQuery(url), duration: null, ...outcome, trigger: "first" } as const;
  return { ...NO_ATTEMPTS, first: [attempt] };
}
