import type { Deletion, NewDeletion, StoredDeletions } from "../../../model/deletion.ts";
import { type Fault, isFault } from "../../../model/fault.ts";
import type { Clock } from "../../../model/ports.ts";
import type { Report } from "../../../model/report.ts";
import type { Room } from "../../room.ts";
import type { Commits } from "../commits.ts";
import type { Database } from "../driver.ts";
import type { ForgetMembers } from "../members/leaving.ts";
import type { Segments } from "../segments.ts";
import type { Size } from "../size.ts";
import { createErase, type EraseParts } from "./erase.ts";
import type { Notices } from "./notices.ts";
import { createRewrite } from "./rewrite.ts";
import { createDeletionRows, type DeletionRows } from "./rows.ts";
import { createScrub } from "./scrub.ts";
import { createSuppressed, type SuppressedRows } from "./suppressed.ts";
import { createUserHash, type UserHash } from "./user-hash.ts";
import { createReadWaitingOf } from "./waiting.ts";

export type DeletionsWorld = EraseParts & {
  readonly clock: Pick<Clock, "now" | "sleep" | "nextTurn">;
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  readonly size: Pick<Size, "borrow" | "repaid">;
  readonly segments: Pick<Segments, "nextNumber">;
  readonly notices: Notices;
  readonly forgetMembers: ForgetMembers;
  readonly failed: (error: unknown) => Fault;
  readonly report: Pick<Report, "storeFailed">;
};

type Parts = DeletionsWorld & {
  readonly rows: DeletionRows;
  readonly suppressed: SuppressedRows;
  readonly hash: UserHash;
};

/** What the store knows of requests that users be deleted, and does for them. */
export function createStoredDeletions(db: Database, world: DeletionsWorld): StoredDeletions {
  const hash = createUserHash(db);
  const rows = createDeletionRows(db, hash);
  const suppressed = createSuppressed(db, { ...world, hash });
  const parts: Parts = { ...world, rows, suppressed, hash };
  return {
    ...createReads(parts),
    ...createErasing(db, parts),
    record: (request) => record(request, parts),
    waiting: createReadWaitingOf(db, world.report),
    async check(id) {
      const refused = await world.notices.check(id);
      return refused ?? { ...found(id, rows), closed: !world.notices.areOpen(id) };
    },
    advance: (id, to) => change(id, () => rows.advance({ id, ...to }), parts),
    force: (id) => change(id, () => rows.force(id), parts),
    rewrite: createRewrite(db, world),
    scrub: createScrub(db, world),
    suppressed,
  };
}

function createReads({ rows, hash, suppressed, notices }: Parts) {
  return {
    unfinished: rows.unfinished,
    page(ask) {
      const deletions = rows.page(ask);
      const last = deletions.length < ask.limit ? undefined : deletions.at(-1);
      return { deletions, cursor: last?.id ?? null };
    },
    receipt(id) {
      const deletion = rows.find(id);
      if (deletion === null) return null;
      const people = rows.users(id).map((one) => ({ ...one, suppressed: suppressed.isKnown(one.hash) }));
      return { ...deletion, people };
    },
    salt: hash.salt,
    unnoticed: notices.unnoticed,
    people: (id) => rows.users(id).flatMap(({ userId }) => userId ?? []),
  } satisfies Partial<StoredDeletions>;
}

function createErasing(db: Database, parts: Parts): Pick<StoredDeletions, "erase" | "forgetPeople"> {
  const { rows, notices, commits, failed } = parts;
  const eraseRows = createErase(db, parts);
  return {
    erase({ id }, of, after) {
      const run = () => {
        const { next, busy, ...counts } = eraseRows.run({ of, prefix: noticePrefix(id) }, after);
        if (counts.events + counts.deliveries > 0) rows.countErased(id, counts);
        return { next, busy };
      };
      return commits.add<ReturnType<typeof run> | Fault>({ rows: ROWS_OF_STEP, run, failed });
    },
    forgetPeople(deletion) {
      const run = (): boolean => {
        if (rows.isNeeded(deletion.id)) return false;
        notices.close(deletion.id);
        rows.forgetPeople(deletion);
        return true;
      };
      return commits.add<boolean | Fault>({ rows: deletion.users, run, failed });
    },
  };
}

/** A step rewrites a few segments, or removes some hundred rows. */
const ROWS_OF_STEP = 1_000;

/** The messageIds of a request's notices begin like this (`deletion/notice.ts`). */
function noticePrefix(id: string): string {
  return id.replace(/^del-/, "delete-");
}

/**
 * Who is to be suppressed is so before the commit: calls that were let in before are in commits before this one, or in this
 * one, and so have numbers up to `upTo`. Their memberships go in the same commit: a sync that runs sends nothing about them
 * behind it, and a request that is refused has done nothing.
 */
async function record(request: NewDeletion, parts: Parts): Promise<Deletion | Fault> {
  const { rows, segments, room, commits, suppressed, hash, forgetMembers, failed } = parts;
  const refusal = room.refusal();
  if (refusal) return refusal;
  const those = { hashes: request.suppress ? request.userIds.map(hash.of) : [], sources: request.sources };
  const takeBack = suppressed.announce(those);
  const run = (): Deletion | Fault => {
    rows.insert(request, segments.nextNumber() - 1);
    suppressed.write({ ...those, since: request.requestedAt });
    forgetMembers(request.userIds, request.sources);
    return found(request.id, rows);
  };
  const recorded = await commits.add<Deletion | Fault>({ rows: request.userIds.length, run, failed });
  if (isFault(recorded)) takeBack();
  return recorded;
}

function change(id: string, write: () => void, { rows, commits, failed }: Parts): Promise<Deletion | Fault> {
  const run = (): Deletion | Fault => {
    write();
    return found(id, rows);
  };
  return commits.add<Deletion | Fault>({ rows: 1, run, failed });
}

function found(id: string, rows: DeletionRows): Deletion {
  const deletion = rows.find(id);
  if (deletion === null) throw new Error(`there is no deletion ${id}`);
  return deletion;
}
