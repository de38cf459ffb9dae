import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { createDeliver } from "../../src/deliver/deliver.ts";
import { createActivity } from "../../src/deliver/health.ts";
import { createLanes } from "../../src/deliver/lanes.ts";
import type { Vitals } from "../../src/model/daemon.ts";
import { GB } from "../../src/model/units.ts";
import { feedWatchdog } from "../../src/runtime/systemd.ts";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { makeDelivery, makeReport, makeStore } from "../deliver/make.ts";
import { SLOW } from "../slow.ts";
import { createFalseClock, type FalseClock } from "./clock.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination } from "./make.ts";
import { ONLY_SQLITE } from "./outbox.ts";

/** Of what happens to a file: a database that is away or locked is not made better by a restart, so that the watchdog is fed. */
const FILE = { ...SLOW, ...ONLY_SQLITE };

/** A watchdog that waits for a minute, as that of packaging/systemd/fairlead.service. */
async function watch(clock: FalseClock, vitals: () => Vitals) {
  let meals = 0;
  const told: string[] = [];
  const over = new AbortController();
  const supervisor = { patience: 60_000, alive: () => void meals++ };
  const report = { daemon: (what: string, { what: part = "" }) => void told.push(`${what} ${part}`.trim()) };
  const ended = feedWatchdog({ clock, supervisor, vitals, report }, over.signal);
  await clock.rest();
  return {
    told,
    /** How often it is fed in this time, from now on; the next time is in half a minute if all is well. */
    async meals(during = "10m") {
      const before = meals;
      await clock.advance(during);
      return meals - before;
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await ended;
    },
  };
}

/** As a program does that has begun to write and hangs. */
async function lock(d: TestDaemon): Promise<() => void> {
  const other = await openDatabase(d.config.outbox.path);
  other.exec("BEGIN IMMEDIATE");
  return () => {
    other.exec("ROLLBACK");
    other.close();
  };
}

describe("the watchdog of a daemon", () => {
  it("is fed while it is idle, and while it has work", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await using watchdog = await watch(d.clock, d.app.vitals);
    assert.equal(await watchdog.meals(), 20);
    await d.call("/v1/track", { userId: "u1", event: "E" });
    assert.equal(await watchdog.meals(), 20);
    assert.deepEqual(watchdog.told, []);
  });

  it("is not fed while the store is locked, and is again when it is free", FILE, async () => {
    await using d = await startDaemon();
    await using watchdog = await watch(d.clock, d.app.vitals);
    const unlock = await lock(d);
    assert.equal(await watchdog.meals("33s"), 0);
    assert.deepEqual(watchdog.told, ["stuck the store"]);
    unlock();
    assert.equal(await watchdog.meals("2s"), 1);
    assert.equal(await watchdog.meals(), 20);
    assert.deepEqual(watchdog.told, ["stuck the store", "unstuck"]);
  });

  it("is not fed while commits do not come to an end", FILE, async () => {
    const clock = createFalseClock();
    let gate: Promise<void> | null = null;
    const nextTurn = (): Promise<void> => gate ?? clock.nextTurn();
    await using d = await startDaemon({ clock: { ...clock, nextTurn } });
    await using watchdog = await watch(clock, d.app.vitals);
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    assert.equal(await watchdog.meals(), 0);
    assert.deepEqual(watchdog.told, ["stuck the store"]);
    gate = null;
    resolve();
    assert.equal(await watchdog.meals("2s"), 1);
  });

  it("is fed when the disk is full: to start again would not help", FILE, async () => {
    const { outbox } = makeConfig();
    await using d = await startDaemon({
      config: { outbox: { ...outbox, freeDisk: GB } },
      space: async () => ({ free: 0, total: GB }),
    });
    await using watchdog = await watch(d.clock, d.app.vitals);
    assert.equal((await d.ask("/v1/track", { userId: "u1", event: "E" })).status, 503);
    assert.equal(await watchdog.meals(), 20);
  });

  it("is fed while destinations are disabled, and when others come with a reload", SLOW, async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination({ enabled: false })] } });
    await using watchdog = await watch(d.clock, d.app.vitals);
    assert.equal(await watchdog.meals(), 20);
    await d.app.reload({ ...d.config, destinations: [makeDestination({ name: "lake" })] });
    assert.equal(await watchdog.meals(), 20);
    assert.deepEqual(watchdog.told, []);
  });

  it("does not have the disk written to: an idle daemon leaves it alone", FILE, async () => {
    await using d = await startDaemon();
    await using watchdog = await watch(d.clock, d.app.vitals);
    await d.clock.advance("2m");
    const before = await fingerprint(d);
    assert.equal(await watchdog.meals(), 20);
    assert.equal(await fingerprint(d), before);
  });

  it("is not fed while the loop of one destination is stuck", SLOW, async () => {
    const clock = createFalseClock();
    let isStuck = false;
    const store = makeStore([makeDelivery({ id: 1 })]);
    const deliver = createDeliver({
      clock,
      random: { fraction: () => 0.5, hex: () => "" },
      post: async () => ({
        kind: "answered",
        status: 200,
        retryAfter: null,
        location: null,
        body: Promise.resolve(""),
      }),
      report: makeReport(),
      observer: { ...createActivity(clock), givenUp() {} },
      lanes: createLanes(makeReport()),
      readQueue: (ask) => (isStuck ? new Promise(() => {}) : store.readQueue(ask)),
      settle: async () => "written",
      backlog: store.backlog,
      clockStore: { save: async () => null },
      storedClocks: [],
      announce: null,
    });
    await using watchdog = await watch(clock, () => ({
      store: Promise.resolve(true),
      stuckLoops: deliver.checkLiveness(),
    }));
    deliver.start();
    deliver.setDestinations([makeDestination({ name: "lake", enabled: false })], []);
    assert.equal(await watchdog.meals(), 20);
    isStuck = true;
    deliver.setDestinations([makeDestination()], []);
    await clock.advance("1m");
    assert.equal(await watchdog.meals(), 0);
    assert.deepEqual(watchdog.told, ["stuck the loop of crm"]);
  });
});

/** Of what is on the disk. */
async function fingerprint(d: TestDaemon): Promise<string> {
  const hash = createHash("sha256");
  for (const end of ["", "-wal"]) hash.update(await readFile(d.config.outbox.path + end));
  return hash.digest("hex");
}
