import type { Gone } from "../../model/disk.ts";
import { type Fault, fault } from "../../model/fault.ts";
import type { Cancel, Clock } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import { OutboxGone } from "../presence.ts";
import { type Database, withRemedy } from "./driver.ts";

/** A commit that takes longer than this is logged: the disk is in trouble, and clients are waiting. */
const SLOW_COMMIT: Ms = SECOND;

/**
 * How long a job that can wait waits for another one, and how many of them make up a commit of their own. Where a call comes
 * every second, its commit also has the outcome of the one before.
 */
const LONGEST_WAIT: Ms = 1.5 * SECOND;
const MOST_WAITING = 256;

/** Rows in one commit, so that the first jobs of a large group do not wait long for the last ones. */
const MOST_ROWS = 5_000;

declare const underWay: unique symbol;

/** The transaction under way. Functions that write take it as an argument, and only a job gets one. `now` is when it began. */
export type Tx = { readonly now: At; readonly [underWay]: true };

/** Work inside a transaction, and about how many rows it touches. `F`: the answer when it could not be made durable. */
export type Job<T, F = Fault> = {
  readonly rows: number;
  readonly run: (tx: Tx) => T;
  /** It writes nothing, so its success says nothing about whether the store can be written. */
  readonly looks?: true;
  /** It records what has happened already: it is written even where the next start would not find it. */
  readonly keepsUp?: true;
  /** It need not be durable at once: it waits a while for another job, whose commit it then shares. */
  readonly canWait?: boolean;
  /** Left out, the answer is the fault of `unwritable`. */
  readonly failed?: (error: unknown) => F;
};

/** Group commit: jobs that arrive together share one transaction, and so one fsync. */
export type Commits = {
  /** Runs the job in the next transaction. Resolves after the commit, with the job's result or its `failed`. Never rejects. */
  add<T, F = Fault>(job: Job<T, F>): Promise<T | F>;
  /** The verdict of the last commit. */
  succeeded(): boolean;
  /** The transaction under way; null between two. */
  underWay(): Tx | null;
  /** Resolves when the jobs so far are committed or have failed: those that can wait do not. */
  caughtUp(): Promise<void>;
  /** No job waits any more, from now on. */
  hurry(): void;
  /** Resolves when every job is committed or has failed. */
  idle(): Promise<void>;
};

type Pending = { readonly job: Job<unknown, unknown>; resolve(result: unknown): void };

export type CommitsWorld = {
  readonly clock: Pick<Clock, "now" | "nextTurn" | "after">;
  readonly report: Report;
  readonly keepers: readonly Keeper[];
  /** Called after each commit that failed. */
  readonly failed: (error: unknown) => void;
  /** Checks, before each commit, whether the next start would find what is written now; null if it would. */
  readonly gone: () => Gone | null;
};

/** Keeps in memory what is also in the file, and hears how each transaction ends. */
export type Keeper = {
  /** After the jobs of the transaction. */
  write(tx: Tx): void;
  committed(): void;
  rolledBack(): void;
};

/**
 * The commit starts at the next turn of the event loop. The jobs that have arrived by then share it. A timer only starts one
 * for jobs that can wait, when no other has come.
 */
export function createCommits(db: Database, world: CommitsWorld): Commits {
  const writer = createWriter(db, world);
  let pending: Pending[] = [];
  let working: Promise<void> | null = null;
  let isDue = false;
  let isHurried = false;
  let cancel: Cancel | null = null;

  return {
    add,
    succeeded: writer.succeeded,
    underWay: writer.underWay,
    async caughtUp() {
      if (pending.length > 0 || working) await add(NOTHING);
    },
    hurry() {
      isHurried = true;
      if (pending.length > 0) begin();
    },
    async idle() {
      while (pending.length > 0 || working) {
        begin();
        await working;
      }
    },
  };

  function add<T, F>(job: Job<T, F>): Promise<T | F> {
    const result = new Promise<T | F>((resolve) => {
      pending.push({ job, resolve: resolve as Pending["resolve"] });
    });
    if (!job.canWait || isHurried || pending.length >= MOST_WAITING) begin();
    else if (working === null) cancel ??= world.clock.after(LONGEST_WAIT, begin);
    return result;
  }

  function begin(): void {
    isDue = true;
    cancel?.();
    cancel = null;
    working ??= work();
  }

  async function work(): Promise<void> {
    while (isDue) {
      await world.clock.nextTurn();
      const size = groupSize(pending);
      const group = pending.slice(0, size);
      pending = pending.slice(size);
      isDue = pending.length > 0;
      await writer.write(group);
    }
    working = null;
    if (pending.length > 0) cancel ??= world.clock.after(LONGEST_WAIT, begin);
  }
}

const NOTHING: Job<null, null> = { rows: 0, looks: true, run: () => null, failed: () => null };

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
  /** Commits these jobs, and answers each of them. */
  write(group: readonly Pending[]): Promise<void>;
  underWay: Commits["underWay"];
  succeeded(): boolean;
};

function createWriter(db: Database, world: CommitsWorld): Writer {
  const transaction = createTransaction(db, world);
  let lastSucceeded = true;
  return { write, underWay: transaction.underWay, succeeded: () => lastSucceeded };

  async function write(all: readonly Pending[]): Promise<void> {
    const group = refuseIfGone(all, world.gone());
    if (group.length === 0) return;
    try {
      transaction.begin();
    } catch (error) {
      // No job is to blame, and the next one would fail in the same way.
      return fail(group, error);
    }
    try {
      const results = transaction.finish(group.map(({ job }) => job));
      lastSucceeded ||= !group.every(({ job }) => job.looks);
      group.forEach(({ resolve }, index) => {
        resolve(results[index]);
      });
    } catch (error) {
      if (group.length === 1) return fail(group, error);
      await writeEach(group);
    }
  }

  /** One job may have failed the others: each gets a transaction of its own, with a turn of the event loop between them. */
  async function writeEach(group: readonly Pending[]): Promise<void> {
    for (const one of group) {
      await world.clock.nextTurn();
      await write([one]);
    }
  }

  function fail(group: readonly Pending[], error: unknown): void {
    lastSucceeded = false;
    world.report.storeFailed("commit", withRemedy(error));
    world.failed(error);
    refuse(group, error);
  }
}

/** Refuses the jobs that must not be written to a file that is gone, and answers the others. */
function refuseIfGone(group: readonly Pending[], gone: Gone | null): readonly Pending[] {
  if (gone === null) return group;
  // A file that was cut short has holes, which a checkpoint would turn into pages that look valid.
  const [allowed, refused] = split(
    group,
    ({ job }) => gone.what !== "truncated" && (job.keepsUp || job.looks) === true,
  );
  refuse(refused, new OutboxGone(gone));
  return allowed;
}

function refuse(group: readonly Pending[], error: unknown): void {
  for (const { job, resolve } of group) resolve((job.failed ?? unwritable)(error));
}

/** The answer to an operator whose change could not be made durable. */
export function unwritable(error: unknown): Fault {
  if (error instanceof OutboxGone) return error.fault;
  return fault("store_failed", "the outbox cannot be written, and nothing was changed; see the log for the reason");
}

function split<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

type AnyJob = Job<unknown, unknown>;

type Transaction = {
  underWay: Commits["underWay"];
  /** Throws when another program holds the write lock. */
  begin(): void;
  /** Runs the jobs, and answers their results when they are durable. Throws when they are not. */
  finish(jobs: readonly AnyJob[]): readonly unknown[];
};

function createTransaction(db: Database, { clock, report, keepers }: CommitsWorld): Transaction {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");
  let current: Tx | null = null;

  return {
    underWay: () => current,
    begin: () => void begin.run(),
    finish(jobs) {
      const startedAt = clock.now();
      const results = runAndCommit(jobs, startedAt);
      for (const keeper of keepers) keeper.committed();
      const duration = clock.now() - startedAt;
      if (duration >= SLOW_COMMIT) report.slowCommit(duration, sum(jobs));
      return results;
    },
  };

  function runAndCommit(jobs: readonly AnyJob[], now: At): readonly unknown[] {
    const tx = { now } as Tx;
    current = tx;
    try {
      const results = jobs.map((job) => job.run(tx));
      if (!jobs.every(({ looks }) => looks)) for (const keeper of keepers) keeper.write(tx);
      commit.run();
      return results;
    } catch (error) {
      for (const keeper of keepers) keeper.rolledBack();
      // SQLite has rolled back by itself after some errors.
      if (db.inTransaction) rollback.run();
      throw error;
    } finally {
      current = null;
    }
  }
}

function sum(jobs: readonly AnyJob[]): number {
  return jobs.reduce((rows, job) => rows + job.rows, 0);
}
