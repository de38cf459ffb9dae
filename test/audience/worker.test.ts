import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSyncWorker } from "../../src/audience/worker.ts";
import type { Computation, Members, OpenSync, SyncKind } from "../../src/model/audience.ts";
import { StoreAway } from "../../src/model/fault.ts";
import { createFalseClock } from "../flow/clock.ts";
import { createFalseReport, type Told } from "../store/harness.ts";

const DAMAGED = new Error("database disk image is malformed");

describe("the worker of audiences and traits", () => {
  for (const broken of ["open", "discard", "sweep"] as const) {
    it(`tells of a file that is damaged, and looks at it again: ${broken}`, async () => {
      const told: Told[] = [];
      const clock = createFalseClock();
      const stopping = new AbortController();
      const worker = createSyncWorker({
        members: membersThatThrow(broken),
        accept: () => Promise.reject(new Error("nothing is sent here")),
        refusalOf: () => null,
        ...{ clock, report: createFalseReport(told) },
      });
      const running = worker.run(stopping.signal);
      await clock.advance("6s");
      const times = told.filter(({ what, args }) => what === "storeFailed" && args[1] === DAMAGED).length;
      assert.ok(times >= 2, `told ${times} times`);
      stopping.abort();
      await running;
    });
  }

  it("tells of a database that is away as such, and goes on soon after it is back", async () => {
    const told: Told[] = [];
    const clock = createFalseClock();
    const begun = makeSync("list");
    let isAway = true;
    const running = [begun];
    const stopping = new AbortController();
    const worker = createSyncWorker({
      members: {
        ...QUIET,
        open: async () => [...running],
        pending: async () => (isAway ? Promise.reject(new StoreAway("connection refused")) : []),
        finish: async () => ({ ...running.pop(), sync: { ...begun.sync, finishedAt: clock.now() } }),
      } as unknown as Members,
      accept: () => Promise.reject(new Error("nothing is sent here")),
      refusalOf: () => null,
      ...{ clock, report: createFalseReport(told) },
    });
    const working = worker.run(stopping.signal);
    await clock.advance("20s");
    const [waits, ...more] = told.filter(({ what }) => what === "syncWaits" || what === "unexpected");
    assert.deepEqual(
      [waits?.what, waits?.args[1], more],
      ["syncWaits", "the outbox cannot be read now: connection refused", []],
    );
    isAway = false;
    await clock.advance("5s");
    assert.ok(told.some(({ what }) => what === "syncFinished"));
    stopping.abort();
    await working;
  });

  for (const kind of ["list", "removal"] as const) {
    it(`looks for the end of a sync that another daemon sends: ${kind}`, async () => {
      const clock = createFalseClock();
      const begun = makeSync(kind);
      let found: Computation | null = { ...begun.computation, syncs: [begun.sync] };
      const stopping = new AbortController();
      const worker = createSyncWorker({
        members: { ...QUIET, find: async () => found } as unknown as Members,
        accept: () => Promise.reject(new Error("nothing is sent here")),
        refusalOf: () => null,
        ...{ clock, report: createFalseReport([]) },
      });
      const running = worker.run(stopping.signal);
      const ends: (number | null)[] = [];
      void worker.begin(begun).then(({ sync }) => ends.push(sync.finishedAt));
      await clock.advance("10s");
      assert.deepEqual(ends, []);
      const finished = { ...begun.sync, finishedAt: clock.now() + 1_000 };
      found = kind === "removal" ? null : { ...begun.computation, syncs: [finished] };
      await clock.advance("1s");
      assert.deepEqual(ends, [finished.finishedAt]);
      stopping.abort();
      await running;
    });
  }
});

const QUIET = { open: async () => [], discard: async () => false, sweep: async () => false };

function makeSync(kind: SyncKind): OpenSync {
  const counts = { added: 3, changed: 0, removed: 0, done: 0 };
  const sync = { number: 7, id: "audience-7", kind, startedAt: createFalseClock().now(), finishedAt: null, ...counts };
  const name = { source: "website", class: "audience", name: "Big", key: "big" } as const;
  return { sync, computation: { ...name, number: 1, id: "aud_1", size: 0, createdAt: 0, syncs: [] } };
}

function membersThatThrow(broken: "open" | "discard" | "sweep"): Members {
  const throwing = (): never => {
    throw DAMAGED;
  };
  return { ...QUIET, [broken]: throwing } as unknown as Members;
}
