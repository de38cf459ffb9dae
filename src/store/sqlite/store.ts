import { type Alias, type Bounds, describeAlias, type FileMark, type StoreHealth } from "../../model/disk.ts";
import { isFault } from "../../model/fault.ts";
import type { Store, StoreChange, StoreOptions } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { createLookup } from "../lookup.ts";
import { createPresence, OutboxGone, type Presence } from "../presence.ts";
import { createReplay } from "../replay.ts";
import { createRoom, type Room, watchRoom } from "../room.ts";
import { watchClock } from "../timeline.ts";
import { createAppend, createIntake } from "./append.ts";
import { createStoredClocks } from "./clocks.ts";
import { type Commits, createCommits, type Tx, unwritable } from "./commits.ts";
import { createStoredDeletions } from "./deletions.ts";
import { type Database, isDiskFailure, withRemedy } from "./driver.ts";
import { cannotOpen, LARGEST_LOG, lockOutbox, logOf, openFilesOf, openOutbox } from "./files.ts";
import { createIndexCheck } from "./index-check.ts";
import { findLostCommits } from "./log-check.ts";
import { createReads } from "./lookup.ts";
import { createMembers } from "./members.ts";
import { createMarks, createMeta, type Meta } from "./meta.ts";
import { createNotices } from "./notices.ts";
import { createPrune, createSize, type PruneRows, type Size } from "./prune.ts";
import { createBacklog, createReadQueue } from "./queues.ts";
import { createReplaySteps } from "./replay.ts";
import { createRescue, keepRescued } from "./rescue.ts";
import { createSettle } from "./settle.ts";
import { createTables } from "./tables.ts";
import type { Tail } from "./tail.ts";
import { createWaiting, createWithdraw, type Withdrawn } from "./waiting.ts";

/** Opens the outbox, or makes it. Rejects with a message for the operator when it cannot. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { clock, report } = options;
  const changes = createChanges();
  const watching = new AbortController();
  const alias = options.disk.alias(options.path);
  if (alias !== null) throw aliased(options.path, alias);
  const lock = await lockOutbox(options.path, options.pid);
  try {
    // Opening the database starts the log over, so it is checked first.
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
    const surroundings = { meta, room, presence, changes, release, watch };
    const store = orExplain(db, options, () => createStore(db, surroundings, options));
    watch("disk", (signal) => watchRoom({ look }, clock, signal));
    const lookAtClock = async (): Promise<unknown> => meta.isOutdated() && store.health.probe();
    watch("clock", (signal) => watchClock(lookAtClock, clock, signal));
    return store;

    /** The disk is asked first, without blocking: `presence.check` would block on a file server that does not answer. */
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

/** If the open file is not the one at the path, everything stored would be lost at the next stop. */
function requireSame(db: Database, { path, disk }: StoreOptions, before: FileMark | null): void {
  const now = disk.mark(path);
  if (before !== null && now?.identity === before.identity) return;
  db.close();
  throw new Error(
    `cannot open outbox ${path}: the file was replaced or removed while it was being opened; start again`,
  );
}

/** Reports to the listener what the daemon has to know at once. */
type Changes = {
  hear(listener: (change: StoreChange) => void): void;
  moved(): void;
  /** Deliveries were sent again. */
  replayed(): void;
  crowded(): void;
  withdrawn(deliveries: readonly Withdrawn[]): void;
};

function createChanges(): Changes {
  let listener = (_: StoreChange): void => {};
  return {
    hear(next) {
      listener = next;
    },
    moved: () => listener({ kind: "moved", what: "all" }),
    replayed: () => listener({ kind: "moved", what: "retries" }),
    crowded: () => listener({ kind: "crowded" }),
    withdrawn: (deliveries) => listener({ kind: "withdrawn", deliveries }),
  };
}

/** What the store has beside its database. */
type Surroundings = {
  readonly changes: Changes;
  readonly meta: Meta;
  readonly room: Room;
  readonly presence: Presence;
  /** Runs this until the store is released. */
  watch(what: string, run: (signal: AbortSignal) => Promise<void>): void;
  /** Lets go of everything but the database. */
  release(): void;
};

/** Creating a part reads some of the file, which may be damaged: the error then says what to do. */
function orExplain<T>(db: Database, options: StoreOptions, create: () => T): T {
  try {
    return create();
  } catch (error) {
    db.close();
    throw cannotOpen(options.path, error);
  }
}

function createStore(db: Database, surroundings: Surroundings, options: StoreOptions): Store {
  const { meta, presence, changes, watch, release } = surroundings;
  const { clock, report, bounds } = options;
  const room = { ...surroundings.room, refusal: () => presence.refusal() ?? surroundings.room.refusal() };
  const tables = createTables(db, { flush, report });
  const { segments, tail, progress, counts, repeats, leaving, suppression, kept, segmentRows: rows } = tables;
  const size = createSize(db, room.measured);
  const commits = createCommits(db, {
    clock,
    report,
    // Segments come first: what they write may fold the tail, and so change what counts and repeats write.
    keepers: [segments, tail, progress, counts, repeats, meta, size, leaving, suppression, kept],
    failed: (error) => isDiskFailure(error) && room.refused(),
    // Closing the database removes the log, which is no loss.
    gone: () => (db.open ? presence.check() : null),
  });
  const { caughtUp } = commits;
  const { moved, withdrawn } = changes;
  const notices = createNotices(db, { commits, kept, clock });
  const withdrawal = createWithdraw(tables);
  const appendRows = createAppend({ tables, withdrawal, notices });
  const reads = createReads(db, { kept, repeats });
  const lookup = createLookup({ reads, clock, timeline: meta.timeline, caughtUp });
  const replaySteps = createReplaySteps(db, { tables, commits });
  watch("indexes", createIndexCheck(db, { clock, report, commits, counts, moved, gone: presence.check }));

  return {
    changes: changes.hear,
    ...createIntake({ commits, room, appendRows, withdrawal, withdrawn }),
    readQueue: createReadQueue(db, { report, rows, ...tables.openSegments }),
    settle: createSettlePort(commits, createSettle(tables)),
    backlog: createBacklog(db, { counts, rows, caughtUp }),
    prune: createPrunePort(createPrune(db, tables, flush), { commits, report, moved }),
    lookup,
    waiting: createWaiting(tables, { commits, moved }),
    replay: createReplay({ steps: replaySteps, clock, lookup, room, moved: changes.replayed }),
    deletions: createStoredDeletions(db, { tables, clock, commits, room, size, notices, report }),
    members: createMembers(db, { tables, commits, waits: withdrawal.waits }),
    clocks: createStoredClocks(db, { commits, meta }),
    marks: createMarks(db, { commits, meta }),
    health: createHealth({ commits, meta, size, room, presence, bounds }),
    rescue: createRescue(db, options),
    timeline: meta.timeline,
    sharing: null,
    hurry: commits.hurry,
    close: createClose(db, { commits, presence, tail, release }, options),
  };

  function flush(): void {
    const tx = commits.underWay();
    if (tx === null) return;
    if (!tail.isEmpty()) tail.fold(tx);
    progress.flush();
  }
}

type CloseParts = Pick<Surroundings, "presence" | "release"> & {
  readonly commits: Pick<Commits, "add" | "idle">;
  readonly tail: Pick<Tail, "isEmpty" | "fold">;
};

function createClose(db: Database, { commits, presence, tail, release }: CloseParts, options: StoreOptions) {
  let closing: Promise<void> | null = null;
  return function closeOnce(): Promise<void> {
    closing ??= close();
    return closing;
  };

  async function close(): Promise<void> {
    await commits.idle();
    // If that fails, nothing is lost: the next start reads the tail.
    if (!tail.isEmpty()) await commits.add({ rows: 1, run: tail.fold, keepsUp: true });
    await keepRescued(db, { ...options, gone: presence.check });
    db.close();
    release();
  }
}

function createSettlePort(commits: Commits, settle: ReturnType<typeof createSettle>): Store["settle"] {
  return function settlePort(delivery, settlement) {
    const run = (tx: Tx) => (settle(tx, delivery, settlement) ? "written" : "gone");
    // If it is lost in a crash, the receiver gets the delivery again. Failures are written at once: their waits depend on it.
    return commits.add({ rows: 1, run, keepsUp: true, canWait: settlement.state === "delivered" });
  };
}

type HealthParts = {
  readonly commits: Commits;
  readonly meta: Meta;
  readonly size: Size;
  readonly room: Room;
  readonly presence: Presence;
  readonly bounds: () => Bounds;
};

function createHealth({ commits, meta, size, room, presence, bounds }: HealthParts): StoreHealth {
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
    probe: () => commits.add<boolean, boolean>({ rows: 1, run: touch, failed: () => false }),
    responds: () => commits.add<boolean, boolean>({ rows: 0, looks: true, run: () => true, failed: isDiskTrouble }),
  };
}

/** A restart would not help, and would lose what only this process still has open. */
function isDiskTrouble(error: unknown): boolean {
  return isDiskFailure(error) || error instanceof OutboxGone;
}

type PruneParts = {
  readonly commits: Commits;
  readonly report: Pick<Report, "storeFailed">;
  readonly moved: () => void;
};

function createPrunePort(rows: PruneRows, { commits, report, moved }: PruneParts): Store["prune"] {
  return async function prune(before, limit) {
    try {
      if (!rows.isNeeded(before)) {
        rows.finish();
        return null;
      }
    } catch (error) {
      report.storeFailed("prune", withRemedy(error));
      return unwritable(error);
    }
    const pruned = await commits.add({ rows: limit, keepsUp: true, run: (tx) => rows.run(tx, before, limit) });
    if (isFault(pruned)) return pruned;
    const { moved: movedRows, ...counts } = pruned;
    if (movedRows > 0) moved();
    return counts;
  };
}
