import type { Fault } from "../../model/fault.ts";
import type { Store, StoreChange, StoreOptions } from "../../model/ports.ts";
import { type Alias, type Bounds, describeAlias, type FileMark, type StoreHealth } from "../../model/space.ts";
import type { Discarded, Moved, WaitingDeliveries } from "../../model/waiting-deliveries.ts";
import { createPresence, OutboxGone, type Presence } from "../presence.ts";
import { createReplay } from "../replay.ts";
import { createRoom, type Room, watchRoom } from "../room.ts";
import { watchClock } from "../timeline.ts";
import { createAppend, createIntake, createSegments } from "./append.ts";
import { createBacklog, createClaims } from "./claims.ts";
import { createStoredClocks } from "./clocks.ts";
import { type Commits, createCommits, type Tx } from "./commits.ts";
import { createCounts } from "./counts.ts";
import { createStoredDeletions } from "./deletions.ts";
import { createTemporary, type Database, isDiskFailure } from "./driver.ts";
import { cannotOpen, LARGEST_LOG, lockOutbox, logOf, openFilesOf, openOutbox, unwritable } from "./files.ts";
import { createIndexCheck } from "./index-check.ts";
import { createKept, type Kept } from "./kept.ts";
import { findLostCommits } from "./log-check.ts";
import { createLookup } from "./lookup.ts";
import { createMemberRows, createMembers } from "./members.ts";
import { createMeta, type Meta } from "./meta.ts";
import { createNotices } from "./notices.ts";
import { createProgress } from "./progress.ts";
import { createPrune, createSize, type PruneRows, type Size } from "./prune.ts";
import { createRepeats } from "./repeats.ts";
import { createReplaySteps } from "./replay.ts";
import { createRescue, keepRescued } from "./rescue.ts";
import { createSettle, createTried, createWithdraw, type Withdrawn } from "./settle.ts";
import { createCallHash, createForget, createSuperseding } from "./superseded.ts";
import { createIsForgotten, createSuppression, createUserHash, type UserHash } from "./suppressed.ts";
import { createUnserved, type UnservedRows } from "./unserved.ts";
import { createUploads } from "./uploads.ts";

/** Opens the outbox, or makes it. Rejects with a message for the operator when it cannot. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { clock, report } = options;
  const changes = createChanges();
  const watching = new AbortController();
  const alias = options.disk.alias(options.path);
  if (alias !== null) throw aliased(options.path, alias);
  const lock = await lockOutbox(options.path, options.pid);
  try {
    // Before it is opened: SQLite then begins it anew.
    const lost = await findLostCommits(logOf(options.path), options.disk);
    if (lost) report.storeFailed("recover the write-ahead log", lost);
    const before = options.disk.mark(options.path);
    const db = await openOutbox(options.path, { ...options, freeDisk: options.bounds().freeDisk });
    const presence = createPresence({ ...options, files: openFilesOf(options.path, db, lock) });
    requireSame(db, options, before);
    const meta = orExplain(db, options, () => createMeta(db, options));
    const room = createRoom({
      ...options,
      crowded: changes.crowded,
      log: { path: logOf(options.path), most: LARGEST_LOG },
    });
    await room.look();
    const surroundings = { meta, room, presence, changes, release, watch, openTemporary: await createTemporary() };
    const store = orExplain(db, options, () => createStore(db, surroundings, options));
    watch("disk", (signal) => watchRoom({ look }, clock, signal));
    const lookAtClock = async (): Promise<unknown> => meta.isOutdated() && store.health.probe();
    watch("clock", (signal) => watchClock(lookAtClock, clock, signal));
    return store;

    /** In this order: whether a file server still answers is found out without holding anybody up. */
    async function look(): Promise<void> {
      await room.look();
      presence.check();
    }
  } catch (error) {
    lock.release();
    throw error;
  }

  function watch(what: string, run: (signal: AbortSignal) => Promise<void>): void {
    run(watching.signal).catch((error: unknown) => report.unexpected(`watch the ${what}`, error));
  }

  function release(): void {
    watching.abort();
    lock.release();
  }
}

function aliased(path: string, alias: Alias): Error {
  const { why, remedy } = describeAlias(alias);
  return new Error(`cannot open outbox ${path}: ${why}; ${remedy}`);
}

/** What is open has to be what is at the path, or all that is stored is lost with the next stop. */
function requireSame(db: Database, { path, disk }: StoreOptions, before: FileMark | null): void {
  const now = disk.mark(path);
  if (before !== null && now?.identity === before.identity) return;
  db.close();
  throw new Error(`cannot open outbox ${path}: the file was replaced or removed while it was opened; start again`);
}

/** Tells the one who listens what the daemon has to know at once. */
type Changes = {
  hear(listener: (change: StoreChange) => void): void;
  moved(): void;
  crowded(): void;
  withdrawn(deliveries: readonly Withdrawn[]): void;
};

function createChanges(): Changes {
  let tell = (_: StoreChange): void => {};
  return {
    hear(listener) {
      tell = listener;
    },
    moved: () => tell({ kind: "moved" }),
    crowded: () => tell({ kind: "crowded" }),
    withdrawn: (deliveries) => tell({ kind: "withdrawn", deliveries }),
  };
}

/** `release` lets go of all that is not the database. */
type Surroundings = {
  readonly changes: Changes;
  readonly meta: Meta;
  readonly room: Room;
  readonly presence: Presence;
  release(): void;
  /** Has this go on until the store is released. */
  watch(what: string, run: (signal: AbortSignal) => Promise<void>): void;
  readonly openTemporary: () => Database;
};

/** Some of a file is read with this only, and may be damaged. */
function orExplain<T>(db: Database, options: StoreOptions, create: () => T): T {
  try {
    return create();
  } catch (error) {
    db.close();
    throw cannotOpen(options.path, error);
  }
}

function createStore(db: Database, surroundings: Surroundings, options: StoreOptions): Store {
  const { meta, presence, changes, release, openTemporary } = surroundings;
  const { moved, withdrawn } = changes;
  const room = { ...surroundings.room, refusal: () => presence.refusal() ?? surroundings.room.refusal() };
  const { clock, report, bounds } = options;
  const tables = createTables(db, openTemporary);
  const { counts, repeats, segments, progress, memberRows, uploads, suppression, kept } = tables;
  const size = createSize(db, room.measured);
  const withdrawal = createWithdraw(tables);
  const settleRow = createSettle(tables);
  const claims = createClaims(db, report);
  const commits = createCommits(db, {
    ...{ clock, report, keepers: [segments, progress, counts, repeats, meta, size, uploads, suppression, kept] },
    failed: (error) => isDiskFailure(error) && room.refused(),
    // Who lets go of the files takes the log away itself.
    gone: () => (db.open ? presence.check() : null),
  });
  const notices = createNotices(db, { commits, kept, clock, failed: unwritable });
  const appendRows = createAppend({ segments, repeats, suppression, withdrawal, notices, memberRows });
  surroundings.watch("indexes", createIndexCheck(db, { clock, report, commits, counts, moved, gone: presence.check }));
  const lookup = createLookup(db, { clock, repeats, kept, timeline: meta.timeline });
  const about = createAbout(db, tables);
  const replaySteps = createReplaySteps({ ...tables, ...about, commits, failed: unwritable });
  let closing: Promise<void> | null = null;

  return {
    changes: changes.hear,
    ...createIntake({ commits, room, appendRows, withdrawal, withdrawn }),
    claims: async (ask) => claims(ask),
    settle(delivery, settlement) {
      const run = (tx: Tx): Written => (settleRow(tx, delivery, settlement) ? "written" : "gone");
      return commits.add<Written>({ rows: 1, run, keepsUp: true, failed: unwritable });
    },
    backlog: createBacklog(db, counts),
    prune: createPrunePort({ commits, rows: createPrune(db, tables), moved }),
    lookup,
    waiting: createUnservedPort({ commits, rows: createUnserved(tables), moved }),
    replay: createReplay({ ...replaySteps, clock, lookup, room, moved }),
    deletions: createStoredDeletions(db, {
      ...{ ...tables, clock, commits, room, size, notices, report },
      failed: unwritable,
    }),
    members: createMembers(db, { ...withdrawal, ...tables, ...about, commits, failed: unwritable }),
    clocks: createStoredClocks(db, { commits, meta, failed: unwritable }),
    health: createHealth({ commits, meta, size, room, presence, bounds }),
    rescue: createRescue(db, options),
    timeline: meta.timeline,
    close() {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    await commits.idle();
    await keepRescued(db, { ...options, gone: presence.check });
    db.close();
    release();
  }
}

/** What is in memory of the tables, and the statements that write them. */
function createTables(db: Database, openTemporary: () => Database) {
  const counts = createCounts(db);
  const segments = createSegments(db, counts);
  const progress = createProgress(db);
  const uploads = createUploads(openTemporary);
  const of = { memberRows: createMemberRows(db), uploads, forgetMembers: createForget(db, uploads) };
  const userHash = createUserHash(db);
  const suppression = createSuppression(db, userHash);
  return {
    counts,
    segments,
    progress,
    kept: createKept(db, progress.flush),
    tried: createTried(db),
    repeats: createRepeats(db),
    userHash,
    suppression,
    ...of,
  };
}

/** What knows of an event whether it is to be sent again. */
function createAbout(db: Database, { kept, userHash }: { readonly kept: Kept; readonly userHash: UserHash }) {
  const callHash = createCallHash(db);
  const isForgotten = createIsForgotten(db, { hash: userHash, kept });
  return { callHash, isForgotten, superseding: createSuperseding(db, { kept, callHash }) };
}

type Written = Awaited<ReturnType<Store["settle"]>>;

type Vitals = {
  readonly commits: Commits;
  readonly meta: Meta;
  readonly size: Size;
  readonly room: Room;
  readonly presence: Presence;
  readonly bounds: () => Bounds;
};

function createHealth({ commits, meta, size, room, presence, bounds }: Vitals): StoreHealth {
  function touch(): boolean {
    meta.touch();
    return true;
  }
  return {
    async state() {
      const gone = presence.check();
      return {
        writable: commits.succeeded(),
        refusal: room.refusal(),
        gone,
        full: room.full(),
        crowding: room.crowding(),
        size: { used: size.used(), max: bounds().maxSize, free: room.free() },
      };
    },
    probe: () => commits.add<boolean>({ rows: 1, run: touch, failed: () => false }),
    responds: () => commits.add<boolean>({ rows: 0, looks: true, run: () => true, failed: isDiskTrouble }),
  };
}

/** To be started again would not help, and what only this process still has open would be gone. */
function isDiskTrouble(error: unknown): boolean {
  return isDiskFailure(error) || error instanceof OutboxGone;
}

type PruneWorld = Pick<Changes, "moved"> & { readonly commits: Commits; readonly rows: PruneRows };

function createPrunePort({ commits, rows, moved }: PruneWorld): Store["prune"] {
  return async function prune(before, limit) {
    if (!rows.isNeeded(before)) {
      rows.finish();
      return null;
    }
    const run = (tx: Tx): ReturnType<PruneRows["run"]> => rows.run(tx, before, limit);
    const { moved: left, ...counts } = await commits.add({ rows: limit, keepsUp: true, run });
    if (left > 0) moved();
    return counts;
  };
}

type UnservedWorld = Pick<Changes, "moved"> & { readonly commits: Commits; readonly rows: UnservedRows };

function createUnservedPort({ commits, rows, moved }: UnservedWorld): WaitingDeliveries {
  return {
    discard(destination, limit) {
      const run = (tx: Tx): Discarded => rows.discard(tx, destination, limit);
      return commits.add<Discarded | Fault>({ rows: limit, run, failed: unwritable });
    },
    async move(by, limit) {
      const run = (tx: Tx): Moved => rows.move(tx, by, limit);
      const answer = await commits.add<Moved | Fault>({ rows: limit, run, failed: unwritable });
      if ("moved" in answer && answer.moved > 0) moved();
      return answer;
    },
  };
}
