import { createSegments } from "./append.ts";
import { createCounts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { createKept } from "./kept.ts";
import { createForget, createMemberRows } from "./members.ts";
import { createProgress } from "./progress.ts";
import { createRepeats } from "./repeats.ts";
import { createTried } from "./settle.ts";
import { createCallHash } from "./superseded.ts";
import { createSuppression, createUserHash } from "./suppressed.ts";
import { createUploads } from "./uploads.ts";

/** The rows of the outbox, with what is in memory of them. The ports of the store are built on these. */
export type Tables = ReturnType<typeof createTables>;

export function createTables(db: Database, openTemporary: () => Database) {
  const counts = createCounts(db);
  const progress = createProgress(db);
  const uploads = createUploads(openTemporary);
  const userHash = createUserHash(db);
  return {
    counts,
    progress,
    userHash,
    segments: createSegments(db, counts),
    tried: createTried(db),
    kept: createKept(db, progress.flush),
    repeats: createRepeats(db),
    suppression: createSuppression(db, userHash),
    memberRows: createMemberRows(db),
    forgetMembers: createForget(db, uploads),
    uploads,
    callHash: createCallHash(db),
  };
}
