import type { Report } from "../../model/report.ts";
import { createSegments } from "./append.ts";
import { createCounts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { createKept } from "./kept.ts";
import { createForget, createMemberRows } from "./members.ts";
import { createProgress } from "./progress.ts";
import { createOpenSegments } from "./queues.ts";
import { createRepeats } from "./repeats.ts";
import { createSegmentRows } from "./segment-rows.ts";
import { createTried } from "./settle.ts";
import { createCallHash } from "./superseded.ts";
import { createSuppression, createUserHash } from "./suppressed.ts";
import { createTail } from "./tail.ts";
import { createUploads } from "./uploads.ts";

/** The rows of the outbox, with what is in memory of them. The ports of the store are built on these. */
export type Tables = ReturnType<typeof createTables>;

type TablesParts = {
  readonly openTemporary: () => Database;
  /** Writes what the transaction under way has changed of segments, so that it is read. */
  readonly flush: () => void;
  readonly report: Pick<Report, "storeFailed">;
};

export function createTables(db: Database, { openTemporary, flush, report }: TablesParts) {
  const counts = createCounts(db);
  const progress = createProgress(db);
  const repeats = createRepeats(db);
  const tail = createTail(db, { counts, repeats, report });
  const segmentRows = createSegmentRows(db, tail, flush);
  const uploads = createUploads(openTemporary);
  const userHash = createUserHash(db);
  return {
    counts,
    progress,
    userHash,
    tail,
    segments: createSegments(db, tail),
    tried: createTried(db),
    segmentRows,
    openSegments: createOpenSegments(db),
    kept: createKept(db, segmentRows),
    repeats,
    suppression: createSuppression(db, userHash),
    memberRows: createMemberRows(db),
    forgetMembers: createForget(db, uploads),
    uploads,
    callHash: createCallHash(db),
  };
}
