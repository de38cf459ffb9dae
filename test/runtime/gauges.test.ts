import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "prom-client";
import type { StoreState } from "../../src/model/disk.ts";
import type { Backlog } from "../../src/model/ports.ts";
import { declareStoreGauges, type ExposedStore } from "../../src/runtime/gauges.ts";
import { UNSHIFTED } from "../flow/clock.ts";

const NOW = 1_000_000;

const backlog: Backlog = {
  nextRetryAt: async () => null,
  oldestWaitingAt: async (destination) => (destination === "crm" ? NOW - 90_500 : null),
  counts: async () => [
    { destination: "crm", state: "waiting", count: 12 },
    { destination: "gone", state: "failed", count: 3 },
  ],
};

const STATE: StoreState = {
  ...{ writable: true, refusal: null, gone: null, full: null, crowding: null },
  size: { used: 4_096, max: 8_192, free: 1_024 },
};

const STORE: ExposedStore = {
  backlog,
  clocks: { all: async () => [] },
  members: { all: async () => [] },
  health: { state: async () => STATE },
  timeline: UNSHIFTED,
  sharing: null,
};

function makeSharing(leads: boolean): ExposedStore["sharing"] {
  return { leads: () => leads, streams: () => 3, beatAt: () => NOW - 2_500, alive: () => 2 };
}

type Served = readonly string[] | null;

async function read(
  changes: Partial<ExposedStore> | null,
  destinations: readonly string[] = [],
  served: Served = ["crm", "gone"],
): Promise<string[]> {
  const registry = new Registry();
  const names = { destinations: () => destinations, served: () => served };
  declareStoreGauges(registry, {
    store: () => changes && { ...STORE, ...changes },
    ...names,
    clock: { now: () => NOW },
  });
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((line) => line.startsWith("fairlead_"));
}

function only(lines: readonly string[], name: string): string[] {
  return lines.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

describe("the gauges of daemons that share a store", () => {
  const OWN = [
    "fairlead_store_free_disk_bytes 1024",
    "fairlead_store_full 0",
    "fairlead_store_gone 0",
    "fairlead_clock_implausible 0",
    "fairlead_streams_held 3",
  ];

  it("are only its own for one that does not lead, so that a sum counts nothing twice", async () => {
    const members = { all: async () => [] };
    const lines = await read({ sharing: makeSharing(false), members }, ["crm"]);
    assert.deepEqual(lines, [...OWN, "fairlead_leads 0", "fairlead_beat_age_seconds 2.5"]);
  });

  it("are also those of what is shared for the one that leads", async () => {
    const lines = await read({ sharing: makeSharing(true) }, ["crm"]);
    for (const line of [...OWN, "fairlead_leads 1", "fairlead_daemons_alive 2", "fairlead_store_bytes 4096"]) {
      assert.ok(lines.includes(line), line);
    }
    assert.equal(only(lines, "fairlead_deliveries").length, 8);
  });

  it("are none where a store has only one daemon", async () => {
    assert.deepEqual(
      (await read({}, ["crm"])).filter((line) => /streams_held|leads|beat_age|daemons_alive/.test(line)),
      [],
    );
  });
});

describe("declareStoreGauges", () => {
  it("reads counts from the store, with 0 for the states that have no row", async () => {
    const lines = only(await read({}, ["crm", "new"]), "fairlead_deliveries");
    assert.equal(lines.length, 12);
    assert.ok(lines.includes('fairlead_deliveries{destination="crm",state="waiting"} 12'));
    assert.ok(lines.includes('fairlead_deliveries{destination="gone",state="failed"} 3'));
    assert.ok(lines.includes('fairlead_deliveries{destination="new",state="waiting"} 0'));
  });

  it("counts what waits for destinations that nothing is delivered to, and has no series for others", async () => {
    const name = "fairlead_deliveries_unserved";
    const counts = async () => [
      ...(await backlog.counts()),
      { destination: "off", state: "waiting" as const, count: 5 },
      { destination: "off", state: "failed" as const, count: 9 },
      { destination: "empty", state: "waiting" as const, count: 0 },
    ];
    const store = { backlog: { ...backlog, counts } };
    const unserved = async (served: Served) => only(await read(store, ["crm", "off"], served), name);
    assert.deepEqual(await unserved(["crm"]), [`${name}{destination="off"} 5`]);
    assert.deepEqual(await unserved([]), [`${name}{destination="crm"} 12`, `${name}{destination="off"} 5`]);
    assert.deepEqual(await unserved(["crm", "off"]), []);
    assert.deepEqual(await unserved(null), []);
  });

  it("tells the age of the oldest that waits, and 0 where none does", async () => {
    const lines = only(await read({}), "fairlead_oldest_waiting_seconds");
    assert.deepEqual(lines, [
      'fairlead_oldest_waiting_seconds{destination="crm"} 90.5',
      'fairlead_oldest_waiting_seconds{destination="gone"} 0',
    ]);
  });

  it("does not trouble the store about destinations for which nothing waits", async () => {
    const asked: string[] = [];
    const oldestWaitingAt = async (destination: string) => {
      asked.push(destination);
      return NOW;
    };
    await read({ backlog: { ...backlog, oldestWaitingAt } }, ["new"]);
    assert.deepEqual(asked, ["crm"]);
  });

  it("never tells an age below 0, even when the clock was behind", async () => {
    const lines = await read({ backlog: { ...backlog, oldestWaitingAt: async () => NOW + 5_000 } });
    assert.ok(lines.includes('fairlead_oldest_waiting_seconds{destination="crm"} 0'));
  });

  it("reads the size of the store and its bound", async () => {
    const lines = await read({});
    assert.ok(lines.includes("fairlead_store_bytes 4096"));
    assert.ok(lines.includes("fairlead_store_max_bytes 8192"));
  });

  it("says which destinations are paused, of the config or not", async () => {
    const name = "fairlead_destination_paused";
    const clock = { pausedAt: null, unservedAt: null, offlineAt: null, stoppedAt: NOW, stoodStill: 0 };
    const all = async () => [
      { ...clock, destination: "crm", pausedAt: NOW },
      { ...clock, destination: "lake", unservedAt: NOW },
      { ...clock, destination: "gone", pausedAt: NOW },
    ];
    const lines = only(await read({ clocks: { all } }, ["crm", "lake"]), name);
    assert.deepEqual(lines, [
      `${name}{destination="crm"} 1`,
      `${name}{destination="lake"} 0`,
      `${name}{destination="gone"} 1`,
    ]);
  });

  it("reads what is free of the disk, and whether calls are refused", async () => {
    const lines = await read({});
    assert.ok(lines.includes("fairlead_store_free_disk_bytes 1024"));
    assert.ok(lines.includes("fairlead_store_full 0"));
    assert.ok(lines.includes("fairlead_clock_implausible 0"));
    const doubt = { plausible: false, code: "behind", reason: "it says 2025", since: NOW } as const;
    const doubted = { timeline: { ...UNSHIFTED, health: () => doubt } };
    assert.deepEqual(only(await read(doubted), "fairlead_clock_implausible"), ["fairlead_clock_implausible 1"]);
    for (const bound of ["maxSize", "freeDisk"] as const) {
      const full = await read({ health: { state: async () => ({ ...STATE, full: bound }) } });
      assert.deepEqual(only(full, "fairlead_store_full"), ["fairlead_store_full 1"]);
    }
    const unknown = { state: async () => ({ ...STATE, size: { used: 1, max: 2, free: null } }) };
    assert.deepEqual(only(await read({ health: unknown }), "fairlead_store_free_disk_bytes"), []);
  });

  it("has no numbers before the store is open", async () => {
    assert.deepEqual(await read(null, ["crm"]), []);
  });

  it("leaves out what a failing store cannot say, and keeps the rest", async () => {
    const oldestWaitingAt = () => Promise.reject(new Error("disk I/O error"));
    const state = () => Promise.reject(new Error("disk I/O error"));
    const lines = await read({ backlog: { ...backlog, oldestWaitingAt }, health: { state } });
    assert.deepEqual(only(lines, "fairlead_store_bytes"), []);
    assert.deepEqual(only(lines, "fairlead_oldest_waiting_seconds"), [
      'fairlead_oldest_waiting_seconds{destination="gone"} 0',
    ]);
    assert.equal(only(lines, "fairlead_deliveries").length, 8);
  });
});
