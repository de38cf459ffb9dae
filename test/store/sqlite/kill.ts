import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Delivery, Settlement } from "../../../src/model/delivery.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { Entry, Store } from "../../../src/model/ports.ts";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { logOf } from "../../../src/store/sqlite/files.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { createFalseClock, type FalseClock } from "../../flow/clock.ts";
import { SCRATCH } from "../../scratch.ts";
import { AMPLE, createFalseReport, describeCounts, makeAsk, type Told } from "../harness.ts";
import { delivered } from "../make.ts";
import { PID, pathIn, type Row } from "./start.ts";

/** A store that can be killed. Unlike that of the harness it waits with a success for another write, until its clock goes on. */
export type KillableStore = AsyncDisposable & {
  store(): Store;
  clock(): FalseClock;
  path(): string;
  /** What failed, since the last start. */
  told(): readonly string[];
  /** Answers what became of each entry, or the code of the fault. */
  append(...entries: Entry[]): Promise<readonly string[]>;
  read(destination?: string): Promise<readonly Delivery[]>;
  counts(): Promise<readonly string[]>;
  /** A first attempt succeeds. Its settlement is written with the next commit, or when it has waited long enough. */
  succeed(delivery: Delivery): Promise<unknown>;
  settle(delivery: Delivery, settlement: Settlement): Promise<unknown>;
  /** As an operator's shell. */
  sql(query: string): Promise<readonly Row[]>;
  exec(sql: string): Promise<void>;
  /** Transactions in the write-ahead log. */
  commits(): Promise<number>;
  /** As a kill -9 and a start. `harm`, which is SQL, is done to the file between them. */
  kill(harm?: string): Promise<void>;
  /** As a stop and a start. */
  restart(): Promise<void>;
};

export async function startKillable(): Promise<KillableStore> {
  let folder = await mkdtemp(join(SCRATCH, "fairlead-kill-"));
  let clock = createFalseClock();
  let told: Told[] = [];
  let store = await start();

  return {
    ...{ store: () => store, clock: () => clock, path: () => pathIn(folder), sql, exec },
    told: () =>
      told.filter(({ what }) => what === "storeFailed").map(({ args }) => `${args[0]}: ${messageOf(args[1])}`),
    async append(...entries) {
      const answer = await store.append(entries);
      return isFault(answer) ? [answer.code] : answer.map(({ kind }) => kind);
    },
    read: async (destination = "crm") => (await store.readQueue(makeAsk({ destination }))).deliveries,
    counts: () => describeCounts(store),
    succeed: (delivery) => store.settle(delivery, delivered(delivery, clock.now())),
    settle: (delivery, settlement) => store.settle(delivery, settlement),
    commits: () => commitsIn(logOf(pathIn(folder))),
    async kill(harm) {
      const next = await mkdtemp(join(SCRATCH, "fairlead-kill-"));
      for (const file of [pathIn, (of: string) => logOf(pathIn(of))]) await copyFile(file(folder), file(next));
      await end();
      folder = next;
      clock = createFalseClock(clock.now());
      if (harm !== undefined) await exec(harm);
      store = await start();
    },
    async restart() {
      await store.close();
      store = await start();
    },
    [Symbol.asyncDispose]: end,
  };

  function start(): Promise<Store> {
    told = [];
    return openStore({ ...AMPLE, path: pathIn(folder), pid: PID, clock, report: createFalseReport(told) });
  }

  async function end(): Promise<void> {
    await store.close();
    await rm(folder, { recursive: true });
  }

  async function sql(query: string): Promise<readonly Row[]> {
    const db = await openDatabase(pathIn(folder));
    const rows = db.prepare<[], Row>(query).all();
    db.close();
    return rows;
  }

  async function exec(text: string): Promise<void> {
    const db = await openDatabase(pathIn(folder));
    db.exec(text);
    db.close();
  }
}

function messageOf(error: unknown): string {
  assert.ok(error instanceof Error);
  return error.message;
}

const WAL_HEADER = 32;
const FRAME_HEADER = 24;

/** Commits in a write-ahead log: the frames whose header says how large the file was after one. */
export async function commitsIn(log: string): Promise<number> {
  const wal = await readFile(log);
  const frame = FRAME_HEADER + wal.readUInt32BE(8);
  let commits = 0;
  for (let at = WAL_HEADER; at + frame <= wal.length; at += frame) {
    if (wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}
