import type { Deletion, NewDeletion, StoredDeletions, Suppressed } from "../../../model/deletion.ts";
import type { Fault } from "../../../model/fault.ts";
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
import type { Suppression } from "./suppressed.ts";
import type { UserHash } from "./user-hash.ts";
import { createReadWaitingOf } from "./waiting.ts";

export type DeletionsWorld = EraseParts & {
  readonly clock: Pick<Clock, "now" | "sleep" | "nextTurn">;
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  readonly size: Pick<Size, "borrow" | "repaid">;
  readonly segments: Pick<Segments, "nextNumber">;
  readonly notices: Notices;
  readonly forgetMembers: ForgetMembers;
  readonly userHash: UserHash;
  readonly suppression: Suppression;
  readonly failed: (error: unknown) => Fault;
  readonly report: Pick<Report, "storeFailed">;
};

type Parts = DeletionsWorld & { readonly rows: DeletionRows };

/** What the store knows of requests that users be deleted, and does for them. */
export function createStoredDeletions(db: Database, world: DeletionsWorld): StoredDeletions {
  const rows = createDeletionRows(db, world.userHash);
  const parts: Parts = { ...world, rows };
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
    suppressed: createSuppressedPort(world),
  };
}

function createSuppressedPort({ suppression, commits, failed }: DeletionsWorld): Suppressed {
  return {
    among: async (userIds, source) => new Set(userIds.filter((userId) => suppression.refuses([userId], source))),
    lift(userIds) {
      const run = (): number => suppression.lift(userIds);
      return commits.add<number | Fault>({ rows: userIds.length, run, failed });
    },
  };
}

function createReads({ rows, userHash, suppression, notices }: Parts) {
  return {
    unfinished: async (stage, after) => rows.unfinished(stage, after),
    async page(ask) {
      const deletions = rows.page(ask);
      const last = deletions.length < ask.limit ? undefined : deletions.at(-1);
      return { deletions, cursor: last?.id ?? null };
    },
    async receipt(id) {
      const deletion = rows.find(id);
      if (deletion === null) return null;
      const people = rows.users(id).map((one) => ({ ...one, suppressed: suppression.isKnown(one.hash) }));
      return { ...deletion, people };
    },
    salt: async () => userHash.salt,
    unnoticed: async (of, limit) => notices.unnoticed(of, limit),
    people: async (id) => rows.users(id).flatMap(({ userId }) => userId ?? []),
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
 * One commit holds the request, the suppression of its users and the end of their memberships. A call that was accepted
 * before it has a number up to `upTo`; a call behind it is refused; a request that is refused has changed nothing.
 */
async function record(request: NewDeletion, parts: Parts): Promise<Deletion | Fault> {
  const { rows, segments, room, commits, suppression, forgetMembers, failed } = parts;
  const refusal = room.refusal();
  if (refusal) return refusal;
  const run = (): Deletion | Fault => {
    rows.insert(request, segments.nextNumber() - 1);
    if (request.suppress) suppression.add({ ...request, since: request.requestedAt });
    forgetMembers(request.userIds, request.sources);
    return found(request.id, rows);
  };
  return commits.add<Deletion | Fault>({ rows: request.userIds.length, run, failed });
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
