import type { Clock } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import type { Gone } from "../../model/space.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import { OutboxGone } from "../presence.ts";
import { type Database, withRemedy } from "./driver.ts";

/** A commit that takes longer than this is told: the disk is in trouble, and clients are waiting. */
const SLOW_COMMIT: Ms = SECOND;

/** Rows in one commit, so that nobody waits long for the rest of a large group. */
const MOST_ROWS = 5_000;

declare const underWay: unique symbol;

/** The transaction under way: what writes asks for it, and only a job gets it. `now` is when it began. */
export type Tx = { readonly now: At; readonly [underWay]: true };

/** Work inside a transaction, and about how many rows it touches. */
export type Job<T> = {
  readonly rows: number;
  readonly run: (tx: Tx) => T;
  /** It writes nothing, and says nothing about whether that could be done. */
  readonly looks?: true;
  /** It only says what has been done already: it is written even where the next start would not find it. */
  readonly keepsUp?: true;
  /** The result when it could not be made durable; left out, that is an error. */
  readonly failed?: (error: unknown) => T;
};

/** Group commit: jobs that arrive together share one transaction, and so one fsync. */
export type Commits = {
  /** Runs the job in the next transaction. Resolves with its result after the commit; see `failed` for when there is none. */
  add<T>(job: Job<T>): Promise<T>;
  /** The verdict of the last commit. */
  succeeded(): boolean;
  /** Resolves when all that was added is committed or rejected. */
  idle(): Promise<void>;
};

type Pending = { readonly job: Job<unknown>; resolve(result: unknown): void; reject(error: unknown): void };

export type CommitsWorld = {
  readonly clock: Clock;
  readonly report: Report;
  readonly keepers: readonly Keeper[];
  /** Hears of each commit that failed. */
  readonly failed: (error: unknown) => void;
  /** Looks whether the next start would find what is written now; null if it would. Asked before each commit. */
  readonly gone: () => Gone | null;
};

/** Somebody who keeps in memory what is also in the file, and has to be told how a transaction ends. */
export type Keeper = {
  /** After the jobs of the transaction. */
  write(tx: Tx): void;
  committed(): void;
  rolledBack(): void;
};

/**
 * The commit starts at the next turn of the event loop, never on a timer: what has arrived by then shares it, and
 * nobody waits for company.
 */
export function createCommits(db: Database, world: CommitsWorld): Commits {
  const writer = createWriter(db, world);
  let pending: Pending[] = [];
  let working: Promise<void> | null = null;

  return {
    add<T>(job: Job<T>) {
      const result = new Promise<T>((resolve, reject) => {
        pending.push({ job, resolve: resolve as Pending["resolve"], reject });
      });
      working ??= work();
      return result;
    },
    succeeded: writer.succeeded,
    async idle() {
      while (working) await working;
    },
  };

  async function work(): Promise<void> {
    while (pending.length > 0) {
      await world.clock.nextTurn();
      const size = groupSize(pending);
      const group = pending.slice(0, size);
      pending = pending.slice(size);
      await writer.write(group);
    }
    working = null;
  }
}

/** How many of these jobs, at least one, make up a transaction that is over soon. */
function groupSize(pending: readonly Pending[]): number {
  let rows = 0;
  const end = pending.findIndex(({ job }, index) => {
    rows += job.rows;
    return index > 0 && rows > MOST_ROWS;
  });
  return end < 0 ? pending.length : end;
}

type Writer = {
  /** Commits these jobs, and resolves or rejects each of them. */
  write(group: readonly Pending[]): Promise<void>;
  succeeded(): boolean;
};

function createWriter(db: Database, world: CommitsWorld): Writer {
  const transaction = createTransaction(db, world);
  let lastSucceeded = true;
  return { write, succeeded: () => lastSucceeded };

  async function write(all: readonly Pending[]): Promise<void> {
    const group = refuseIfGone(all, world.gone());
    if (group.length === 0) return;
    try {
      transaction.begin();
    } catch (error) {
      // No job is to blame, and for the next one it would be the same.
      return fail(group, error);
    }
    try {
      const results = transaction.finish(group);
      lastSucceeded ||= !onlyLooks(group);
      group.forEach(({ resolve }, index) => {
        resolve(results[index]);
      });
    } catch (error) {
      if (group.length === 1) return fail(group, error);
      await writeEach(group);
    }
  }

  /** One job has perhaps spoiled it for the others: each gets a transaction of its own, and a turn for who waits. */
  async function writeEach(group: readonly Pending[]): Promise<void> {
    for (const one of group) {
      await world.clock.nextTurn();
      await write([one]);
    }
  }

  function fail(group: readonly Pending[], error: unknown): void {
    lastSucceeded = false;
    const told = withRemedy(error);
    world.report.storeFailed("commit", told);
    world.failed(error);
    refuse(group, error, told);
  }
}

/** Refuses what must not be written to a file that is gone, and answers the rest. */
function refuseIfGone(group: readonly Pending[], gone: Gone | null): readonly Pending[] {
  if (gone === null) return group;
  // One that was cut short has holes, which a checkpoint would make look like pages.
  const [allowed, refused] = split(
    group,
    ({ job }) => gone.what !== "truncated" && (job.keepsUp || job.looks) === true,
  );
  refuse(refused, new OutboxGone(gone));
  return allowed;
}

function refuse(group: readonly Pending[], error: unknown, told = error): void {
  for (const { job, resolve, reject } of group) {
    if (job.failed) resolve(job.failed(error));
    else reject(told);
  }
}

function split<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

type Transaction = {
  /** Throws when nobody may write now. */
  begin(): void;
  /** Runs the jobs, and answers their results when they are durable. Throws when they are not. */
  finish(group: readonly Pending[]): readonly unknown[];
};

function createTransaction(db: Database, { clock, report, keepers }: CommitsWorld): Transaction {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");

  return {
    begin: () => void begin.run(),
    finish(group) {
      const startedAt = clock.now();
      const results = runAndCommit(group, startedAt);
      for (const keeper of keepers) keeper.committed();
      const duration = clock.now() - startedAt;
      if (duration >= SLOW_COMMIT) report.slowCommit(duration, sum(group));
      return results;
    },
  };

  function runAndCommit(group: readonly Pending[], now: At): readonly unknown[] {
    const tx = { now } as Tx;
    try {
      const results = group.map(({ job }) => job.run(tx));
      if (!onlyLooks(group)) for (const keeper of keepers) keeper.write(tx);
      commit.run();
      return results;
    } catch (error) {
      for (const keeper of keepers) keeper.rolledBack();
      // SQLite has rolled back by itself after some errors.
      if (db.inTransaction) rollback.run();
      throw error;
    }
  }
}

function onlyLooks(group: readonly Pending[]): boolean {
  return group.every(({ job }) => job.looks);
}

function sum(group: readonly Pending[]): number {
  return group.reduce((rows, { job }) => rows + job.rows, 0);
}
