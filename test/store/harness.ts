import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Delivery, DeliveryKey } from "../../src/model/delivery.ts";
import type { Bounds, Disk, Space } from "../../src/model/disk.ts";
import { isFault } from "../../src/model/fault.ts";
import type { Entry, PruneBefore, PruneCounts, QueueAsk, Store, StoreChange } from "../../src/model/ports.ts";
import type { Report } from "../../src/model/report.ts";
import { type At, GB, type Ms, parseDuration, SECOND } from "../../src/model/units.ts";
import { disk } from "../../src/runtime/disk.ts";
import type { Tx } from "../../src/store/sqlite/commits.ts";
import { createFalseClock, type FalseClock } from "../flow/clock.ts";
import { SCRATCH } from "../scratch.ts";

/** What an engine gets to open its store with. */
export type Place = {
  /** An own folder; the same one means the same store. */
  readonly folder: string;
  readonly bounds: () => Bounds;
  readonly disk: Disk;
  readonly clock: FalseClock;
  readonly report: Report;
};

export type OpenStore = ((place: Place) => Promise<Store>) & Partial<Kept>;

/** What an engine has to say about where it keeps things, if that is not in the files of the folder. */
export type Kept = {
  /**
   * Leaves of the store in this folder what a kill -9 of its daemon leaves, and answers the folder in which to open it next.
   * If left out, the folder is copied.
   */
  kill(folder: string): Promise<string>;
  /** Removes what is kept for this folder. */
  remove(folder: string): Promise<void>;
  /** Whether calls that come at once are done in any order, and pruning with a limit begins anywhere. */
  readonly anyOrder: boolean;
};

export type Told = { readonly what: string; readonly args: readonly unknown[] };

export type TestStore = AsyncDisposable & {
  readonly folder: string;
  readonly clock: FalseClock;
  /** What the store told the operator. */
  readonly told: readonly Told[];
  /** How often the store said that it is crowded. */
  readonly crowdings: () => number;
  /** How often it said that it has moved deliveries. */
  readonly moves: () => number;
  /** What it said that it has withdrawn, each time. */
  readonly withdrawals: () => readonly (readonly DeliveryKey[])[];
  store(): Store;
  setMaxSize(bytes: number): void;
  /** What is free of the disk, and how much of it should be. */
  setDisk(free: number, freeDisk: number): void;
  /** Answers `accepted` or `duplicate` for each entry, or the code of the fault. */
  append(...entries: Entry[]): Promise<readonly string[]>;
  /** Reads what waits, from its start; retries however late they are due. */
  read(ask?: Partial<QueueAsk>): Promise<readonly Delivery[]>;
  /** As the store's; zero of each if there was nothing to do. */
  prune(before: PruneBefore, limit: number): Promise<PruneCounts>;
  /** As `crm waiting: 2`, in the order of the alphabet; those of zero are left out. */
  counts(): Promise<readonly string[]>;
  /** Which event it is, of those that `append` has stored: 1 for the first one. Numbers of events have gaps on some engines. */
  nth(event: number): number;
  /** So much later. Of what a store does every few seconds, it has only done the last rounds. */
  later(duration: string): Promise<void>;
  /** As a stop and a start of the daemon. */
  reopen(clock?: FalseClock): Promise<void>;
  readonly anyOrder: boolean;
  /** As a kill -9 and a start. */
  kill(): Promise<void>;
};

/** A store of this engine in a folder of its own, with a false clock. */
export async function startStore(open: OpenStore): Promise<TestStore> {
  let folder = await makeFolder();
  const told: Told[] = [];
  const clock = createFalseClock();
  let max = GB;
  let crowdings = 0;
  let moves = 0;
  const withdrawals: (readonly DeliveryKey[])[] = [];
  // Null: of an event without deliveries, whose number is in no receipt.
  const numbers: (number | null)[] = [];
  const hear = (change: StoreChange): void => {
    if (change.kind === "moved") moves += 1;
    if (change.kind === "crowded") crowdings += 1;
    if (change.kind === "withdrawn") withdrawals.push([...change.deliveries]);
  };
  let space: Space = { free: GB, total: GB };
  let freeDisk = 0;
  const falseDisk: Disk = {
    space: async () => space,
    size: async () => 0,
    read: async () => new Uint8Array(),
    mark,
    alias,
  };
  const bounds = (): Bounds => ({ maxSize: max, freeDisk });
  const place = { bounds, disk: falseDisk, report: createFalseReport(told) };
  // Nothing waits here for another write, as the clock stands still.
  async function start(by: FalseClock): Promise<Store> {
    const opened = await open({ ...place, folder, clock: by });
    opened.changes(hear);
    opened.hurry();
    return opened;
  }
  let store = await start(clock);

  return {
    get folder() {
      return folder;
    },
    ...{
      clock,
      told,
      crowdings: () => crowdings,
      moves: () => moves,
      withdrawals: () => withdrawals,
      store: () => store,
    },
    setMaxSize(bytes) {
      max = bytes;
    },
    setDisk(free, bound) {
      space = { free, total: GB };
      freeDisk = bound;
    },
    async append(...entries) {
      const answer = await store.append(entries);
      if (isFault(answer)) return [answer.code];
      for (const one of answer) if (one.kind === "accepted") numbers.push(one.deliveries[0]?.id ?? null);
      return answer.map(({ kind }) => kind);
    },
    read: async (ask = {}) => (await store.readQueue(makeAsk(ask))).deliveries,
    async prune(before, limit) {
      const counts = await store.prune(before, limit);
      return isFault(counts) ? assert.fail(counts.message) : (counts ?? NOTHING);
    },
    counts: () => describeCounts(store),
    async later(duration) {
      clock.skip(`${(parseDuration(duration) ?? assert.fail(duration)) - LAST_ROUNDS}ms`);
      await clock.advance(`${LAST_ROUNDS}ms`);
    },
    nth: (event) => numbers.indexOf(event) + 1,
    async reopen(next = clock) {
      await store.close();
      store = await start(next);
    },
    anyOrder: open.anyOrder ?? false,
    async kill() {
      const killed = folder;
      folder = await (open.kill ?? copyFolder)(killed);
      await store.close();
      if (folder !== killed) await rm(killed, { recursive: true });
      store = await start(clock);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await open.remove?.(folder);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const LAST_ROUNDS: Ms = 10 * SECOND;

function makeFolder(): Promise<string> {
  return mkdtemp(join(SCRATCH, "fairlead-store-"));
}

async function copyFolder(killed: string): Promise<string> {
  const next = await makeFolder();
  await cp(killed, next, { recursive: true });
  return next;
}

/** Without `ref`, which each engine fills in its own way. */
export function withoutRef({ ref: _, ...delivery }: Delivery): Omit<Delivery, "ref"> {
  return delivery;
}

const NOTHING: PruneCounts = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };
const NO_END: At = Number.MAX_SAFE_INTEGER;

/** The files are real ones. */
const { mark, alias } = disk;

/** For those that are not about the disk: there is more than enough of it. */
export const AMPLE: Pick<Place, "bounds" | "disk"> = {
  bounds: () => ({ maxSize: GB, freeDisk: 0 }),
  disk: {
    space: async () => ({ free: GB, total: GB }),
    size: async () => 0,
    read: async () => new Uint8Array(),
    mark,
    alias,
  },
};

export function makeAsk(ask: Partial<QueueAsk> = {}): QueueAsk {
  return { destination: "crm", queue: "first", after: null, dueBy: NO_END, limit: 1_000, ...ask };
}

export async function describeCounts({ backlog }: Store): Promise<readonly string[]> {
  const some = (await backlog.counts()).filter(({ count }) => count !== 0);
  return some.map(({ destination, state, count }) => `${destination} ${state}: ${count}`).sort();
}

/** Notes what is told. */
export function createFalseReport(told: Told[]): Report {
  return new Proxy({} as Report, {
    get: (_, what) => {
      return (...args: unknown[]) => void told.push({ what: String(what), args });
    },
  });
}

/** What a job gets from its commit, for tests of what it calls. */
export function makeTx(now = 0): Tx {
  return { now } as Tx;
}
