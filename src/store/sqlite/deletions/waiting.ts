import type { StoredDeletions, TheirEvents, WaitingEvent } from "../../../model/deletion.ts";
import type { Report } from "../../../model/report.ts";
import { codeOf, type Database } from "../driver.ts";
import type { About } from "../letters.ts";
import { createOpenBodies } from "../open-bodies.ts";
import { theirsIn } from "./theirs.ts";
import { createWalk, type TriedRow } from "./walk.ts";

type Row = { destination: string; states: string };

/**
 * Finds what waits of some users, in steps. Notifications of other requests are none of it: they are what tells the receivers.
 */
export function createReadWaitingOf(db: Database, report: Pick<Report, "storeFailed">): StoredDeletions["waiting"] {
  const walk = createWalk(db);
  const bodies = createOpenBodies(db);
  const readAbout = db.prepare<[number], string>("SELECT about FROM contents WHERE segment = ?").pluck();
  const readStates = db.prepare<[number], Row>(
    "SELECT destination, states FROM progress WHERE segment = ? AND waiting > 0 ORDER BY destination",
  );
  const readBody = db
    .prepare<[number, string], string>("SELECT body FROM tried WHERE event = ? AND destination = ?")
    .pluck();

  return async function waiting(of, after) {
    const { segments, rows, next } = walk({ upTo: of.upTo, open: true }, after);
    const found = [
      ...segments.flatMap((first) => ifWhole(() => inSegment(first, of))),
      ...rows.flatMap((row) => inRow(row, of)),
    ];
    bodies.forget();
    return { found, next };
  };

  /** What is damaged is not sent either. */
  function ifWhole(read: () => readonly WaitingEvent[]): readonly WaitingEvent[] {
    try {
      return read();
    } catch (error) {
      if (codeOf(error) !== "") throw error;
      report.storeFailed("find what waits of deleted users", error);
      return [];
    }
  }

  function inSegment(segment: number, of: TheirEvents): readonly WaitingEvent[] {
    const all = readStates.all(segment);
    const about: readonly About[] = JSON.parse(readAbout.get(segment) ?? "[]");
    return about.flatMap((event, nth) => {
      if (!all.some(({ states }) => states[nth] === "w")) return [];
      const id = segment + nth;
      return toWaiting(
        id,
        event,
        theirs(event, () => bodies.read({ id, segment }).body, { ...of, id }),
      );
    });
  }

  function inRow({ event, destination, about }: TriedRow, of: TheirEvents): readonly WaitingEvent[] {
    const parsed: About = JSON.parse(about);
    const body = (): string => readBody.get(event, destination) ?? "{}";
    return toWaiting(event, parsed, theirs(parsed, body, { ...of, id: event }));
  }
}

function theirs(about: About, body: () => string, of: TheirEvents & { readonly id: number }): string | null {
  return about[1] === "delete" || of.id > of.upTo ? null : theirsIn(about, body, of);
}

function toWaiting(event: number, [source]: About, userId: string | null): readonly WaitingEvent[] {
  return userId === null ? [] : [{ event, source, userId }];
}
