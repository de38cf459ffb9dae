import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Bound, Space } from "../../src/model/disk.ts";
import { formatSize, GB, MB } from "../../src/model/units.ts";
import { createRoom, crowdedBy, fullBy, type Measures, watchRoom } from "../../src/store/room.ts";
import { createFalseClock } from "../flow/clock.ts";
import { createFalseReport, type Told } from "./harness.ts";

type Machine = { free: number | Error; log: number; looks: number };

/** A room of 100 MB on a disk of which 64 MB should stay free and 1 GB is. */
function startRoom() {
  const clock = createFalseClock();
  const told: Told[] = [];
  const machine: Machine = { free: GB, log: 0, looks: 0 };
  const bounds = { maxSize: 100 * MB, freeDisk: 64 * MB };
  let crowdings = 0;
  const watching = new AbortController();
  async function space(): Promise<Space> {
    machine.looks += 1;
    if (machine.free instanceof Error) throw machine.free;
    return { free: machine.free, total: GB };
  }
  const room = createRoom({
    path: "/o.db",
    log: { path: "/o.db-wal", most: 64 * MB },
    bounds: () => bounds,
    disk: { space, size: async () => machine.log },
    crowded: () => {
      crowdings += 1;
    },
    clock,
    report: createFalseReport(told),
  });
  return {
    ...{ room, clock, told, machine, bounds, crowdings: () => crowdings },
    /** The names of what was told. */
    said: () => told.map(({ what }) => what),
    async start() {
      await room.look();
      void watchRoom(room, clock, watching.signal);
    },
    async see(free: number) {
      machine.free = free;
      await clock.advance("5s");
    },
    [Symbol.dispose]: () => watching.abort(),
  };
}

describe("the room in a store", () => {
  it("is there while neither bound is reached", async () => {
    using r = startRoom();
    await r.start();
    r.room.measured(80 * MB);
    assert.deepEqual([r.room.refusal(), r.room.full(), r.room.crowding(), r.room.free()], [null, null, null, GB]);
    assert.deepEqual([r.told, r.crowdings()], [[], 0]);
  });

  it("ends at maxSize, and is there again when some of it is unused, not at the first delivery", async () => {
    using r = startRoom();
    await r.start();
    r.room.measured(100 * MB);
    const refusal = r.room.refusal();
    assert.deepEqual([refusal?.code, refusal?.retryAfter, r.room.full()], ["store_full", 10_000, "maxSize"]);
    assert.match(refusal?.message ?? "", /^the outbox is full \(100MB used, the bound of outbox\.maxSize\)/);
    for (const used of [99, 100, 98, 100, 97]) r.room.measured(used * MB);
    assert.equal(r.room.refusal()?.code, "store_full");
    await r.clock.advance("5m");
    r.room.measured(96 * MB);
    assert.equal(r.room.refusal(), null);
    assert.deepEqual(r.said(), ["storeFull", "storeOpen"]);
    assert.deepEqual(r.told[1]?.args, ["maxSize", 300_000]);
  });

  it("ends when too little of the disk is free, and is there again when a quarter more is", async () => {
    using r = startRoom();
    await r.start();
    await r.see(64 * MB - 1);
    const refusal = r.room.refusal();
    assert.deepEqual([refusal?.code, refusal?.retryAfter, r.room.full()], ["store_full", 10_000, "freeDisk"]);
    assert.match(refusal?.message ?? "", /disk of the outbox is full \(64MB free, outbox\.freeDisk keeps 64MB\)/);
    for (const free of [65, 63, 70, 79]) await r.see(free * MB);
    assert.equal(r.room.full(), "freeDisk");
    await r.see(80 * MB);
    assert.equal(r.room.refusal(), null);
    assert.deepEqual(r.said(), ["storeFull", "storeOpen"]);
    assert.partialDeepStrictEqual(r.told[0]?.args[0], { bound: "freeDisk", path: "/o.db", free: 64 * MB - 1 });
  });

  it("is not bounded by the disk if freeDisk is 0, and follows a reload of either bound", async () => {
    using r = startRoom();
    await r.start();
    await r.see(1);
    assert.equal(r.room.full(), "freeDisk");
    r.bounds.freeDisk = 0;
    assert.equal(r.room.refusal(), null);
    r.room.measured(50 * MB);
    r.bounds.maxSize = 50 * MB;
    assert.equal(r.room.full(), "maxSize");
  });

  it("is taken to be there where nobody can say what is free, which is told once", async () => {
    using r = startRoom();
    await r.start();
    await r.see(1);
    r.machine.free = new Error("ENOSYS");
    await r.clock.advance("1m");
    assert.deepEqual([r.room.refusal(), r.room.free()], [null, null]);
    assert.deepEqual(r.said(), ["storeFull", "diskUnknown", "storeOpen"]);
    await r.see(GB);
    r.machine.free = new Error("ENOSYS");
    await r.clock.advance("1m");
    assert.deepEqual(r.said(), ["storeFull", "diskUnknown", "storeOpen", "diskUnknown"]);
  });

  it("says that it is crowded from nine tenths of maxSize on, and from half as much again as freeDisk", async () => {
    using r = startRoom();
    await r.start();
    r.room.measured(90 * MB);
    assert.deepEqual([r.room.crowding(), r.crowdings()], ["maxSize", 1]);
    r.room.measured(89 * MB);
    assert.deepEqual([r.room.crowding(), r.crowdings()], [null, 1]);
    await r.see(96 * MB - 1);
    assert.deepEqual([r.room.crowding(), r.crowdings(), r.room.full()], ["freeDisk", 2, null]);
    await r.see(96 * MB);
    assert.deepEqual([r.room.crowding(), r.crowdings()], [null, 2]);
  });

  it("counts a log that cannot be used again as used, beyond what it may have; pruning would not help", async () => {
    using r = startRoom();
    await r.start();
    r.room.measured(80 * MB);
    r.machine.log = 83 * MB;
    await r.clock.advance("5s");
    assert.equal(r.room.full(), null);
    r.machine.log = 84 * MB;
    await r.clock.advance("5s");
    assert.equal(r.room.full(), "maxSize");
    assert.partialDeepStrictEqual(r.told[0]?.args[0], { used: 80 * MB, log: 20 * MB });
    assert.deepEqual([r.room.crowding(), r.crowdings()], [null, 0]);
    r.machine.log = 0;
    await r.clock.advance("5s");
    assert.equal(r.room.full(), null);
  });

  it("is looked at every five seconds, and sooner when a quarter of freeDisk has come", async () => {
    using r = startRoom();
    await r.start();
    await r.clock.advance("1m");
    assert.equal(r.machine.looks, 13);
    r.bounds.maxSize = GB;
    await r.see(70 * MB);
    const { looks } = r.machine;
    r.room.measured(16 * MB - 1);
    await r.clock.rest();
    assert.equal(r.machine.looks, looks);
    r.machine.free = 50 * MB;
    r.room.measured(16 * MB);
    await r.clock.rest();
    assert.deepEqual([r.machine.looks, r.room.full()], [looks + 1, "freeDisk"]);
  });

  it("is closed for a second after the disk has refused a commit, and looked at", async () => {
    using r = startRoom();
    await r.start();
    r.machine.free = GB - MB;
    r.room.refused();
    assert.equal(r.room.refusal()?.code, "store_failed");
    await r.clock.advance("999ms");
    assert.deepEqual([r.room.refusal()?.code, r.room.free()], ["store_failed", GB - MB]);
    await r.clock.advance("1ms");
    assert.equal(r.room.refusal(), null);
    assert.deepEqual(r.told, []);
  });

  it("is not waited for: a disk that does not answer holds nobody up, and is asked once", async () => {
    using r = startRoom();
    let asked = 0;
    const room = createRoom({
      path: "/o.db",
      log: { path: "/o.db-wal", most: 0 },
      bounds: () => r.bounds,
      disk: {
        space: () => {
          asked += 1;
          return new Promise(() => {});
        },
        size: async () => 0,
      },
      crowded() {},
      clock: r.clock,
      report: createFalseReport(r.told),
    });
    void room.look();
    for (let n = 0; n < 5; n += 1) room.refused();
    assert.deepEqual([asked, room.full(), room.free()], [1, null, null]);
    room.measured(100 * MB);
    assert.equal(room.refusal()?.code, "store_full", formatSize(r.bounds.maxSize));
  });
});

const BOUNDS = { maxSize: 1_000, freeDisk: 100 };

function measuresOf({ used = 0, overflow = 0, free = 1_000 }: Partial<Measures>): Measures {
  return { used, overflow, free };
}

describe("when a store is full", () => {
  const cases: readonly (readonly [string, Partial<Measures>, Bound | null, Bound | null])[] = [
    ["nothing is near", {}, null, null],
    ["all but a byte is used", { used: 999 }, null, null],
    ["all is used", { used: 1_000 }, null, "maxSize"],
    ["the log has the rest", { used: 600, overflow: 400 }, null, "maxSize"],
    ["it was full, and has opened a little", { used: 970 }, "maxSize", "maxSize"],
    ["it was full, and has opened far enough", { used: 969 }, "maxSize", null],
    ["just enough of the disk is free", { free: 100 }, null, null],
    ["too little of the disk is free", { free: 99 }, null, "freeDisk"],
    ["the disk was full, and has a little room", { free: 124 }, "freeDisk", "freeDisk"],
    ["the disk was full, and has room", { free: 125 }, "freeDisk", null],
    ["nobody knows what is free", { free: null }, "freeDisk", null],
    ["both are reached", { used: 1_000, free: 0 }, null, "maxSize"],
    ["both are reached, and the disk was before", { used: 1_000, free: 0 }, "freeDisk", "freeDisk"],
    ["one ends while the other is reached", { used: 1_000 }, "freeDisk", "maxSize"],
  ];
  for (const [name, measures, was, is] of cases) {
    it(`is ${is ?? "not"} if ${name}`, () => assert.equal(fullBy(measuresOf(measures), BOUNDS, was), is));
  }

  it("is never by a disk of which nothing must stay free", () => {
    assert.equal(fullBy(measuresOf({ free: 0 }), { ...BOUNDS, freeDisk: 0 }, "freeDisk"), null);
  });
});

describe("when a store is crowded", () => {
  const cases: readonly (readonly [Partial<Measures>, Bound | null])[] = [
    [{ used: 899 }, null],
    [{ used: 900 }, "maxSize"],
    [{ used: 899, overflow: 1_000 }, null],
    [{ free: 150 }, null],
    [{ free: 149 }, "freeDisk"],
    [{ used: 900, free: 0 }, "maxSize"],
  ];
  for (const [measures, is] of cases) {
    it(`is ${is ?? "not"} with ${JSON.stringify(measures)}`, () => {
      assert.equal(crowdedBy(measuresOf(measures), BOUNDS), is);
    });
  }
});
