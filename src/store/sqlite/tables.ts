import type { Report } from "../../model/report.ts";
import { createUploads } from "../uploads.ts";
import { createSegments } from "./append.ts";
import { createCounts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { createKept } from "./kept.ts";
import { createForget, createMemberRows, createUploadsLeft } from "./members.ts";
import { createProgress } from "./progress.ts";
import { createOpenSegments } from "./queues.ts";
import { createRepeats } from "./repeats.ts";
import { createSegmentRows } from "./segment-rows.ts";
import { createTried } from "./settle.ts";
import { readCallHash } from "./superseded.ts";
import { createSuppression, readUserHash } from "./suppressed.ts";
import { createTail } from "./tail.ts";

/** The rows of the outbox, with what is in memory of them. The ports of the store are built on these. */
export type Tables = ReturnType<typeof createTables>;

type TablesParts = {
  /** Writes what the transaction under way has changed of segments, so that it is read. */
  readonly flush: () => void;
  readonly report: Pick<Report, "storeFailed">;
};

export function createTables(db: Database, { flush, report }: TablesParts) {
  const counts = createCounts(db);
  const progress = createProgress(db);
  const repeats = createRepeats(db);
  const tail = createTail(db, { counts, repeats, report });
  const segmentRows = createSegmentRows(db, tail, flush);
  const callHash = readCallHash(db);
  const uploads = createUploads({ toStored: (user) => user, hashOf: callHash.of });
  const leaving = createUploadsLeft(uploads, callHash);
  const userHash = readUserHash(db);
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
    forgetMembers: createForget(db, leaving),
    uploads,
    leaving,
    callHash,
  };
}
