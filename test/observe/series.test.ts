import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MB } from "../../src/model/units.ts";
import { createSeries } from "../../src/observe/series.ts";
import { createTimings } from "../../src/observe/timings.ts";
import { makeDelivery } from "../deliver/make.ts";
import { createFalseClock } from "../flow/clock.ts";
import { makeOutcome } from "../settle/make.ts";

const OK = makeOutcome({ kind: "answered", status: 200, retryAfter: null, location: null });

function startSeries() {
  const clock = createFalseClock();
  const series = createSeries({
    clock,
    backlog: { counts: async () => [] },
    report: { storeFailed: (_, error) => assert.fail(String(error)) },
  });
  series.start(new AbortController().signal);
  return { clock, series };
}

function namesOf(count: number, prefix: string): readonly string[] {
  return Array.from({ length: count }, (_, nth) => `${prefix}${nth}`);
}

/** Runs it, and answers the bytes of all typed arrays that it made. */
async function bytesOf(run: () => Promise<void>): Promise<number> {
  const kinds = ["Float32Array", "Uint32Array"] as const;
  const originals = kinds.map((kind) => [kind, globalThis[kind]] as const);
  let bytes = 0;
  for (const [kind, original] of originals) {
    Object.assign(globalThis, {
      [kind]: new Proxy(original, {
        construct(target, args, self) {
          const made = Reflect.construct(target, args, self);
          bytes += made.byteLength;
          return made;
        },
      }),
    });
  }
  try {
    await run();
  } finally {
    Object.assign(globalThis, Object.fromEntries(originals));
  }
  return bytes;
}

describe("the memory of series", () => {
  for (const count of [50, 10_000]) {
    it(`is at most 4 MB with ${count} destinations and as many sources, all of them busy`, async () => {
      const [destinations, sources] = [namesOf(count, "d"), namesOf(count, "s")];
      const bytes = await bytesOf(async () => {
        const { clock, series } = startSeries();
        series.declare({ destinations, sources });
        for (let round = 0; round < 3; round += 1) {
          for (const destination of destinations) series.attempted(makeDelivery({ id: 1, destination }), OK);
          for (const source of sources) series.accepted(source, { entries: [], receipts: [], count: 1 });
          await clock.advance("1m");
        }
      });
      assert.ok(bytes > MB && bytes <= 4 * MB, `${bytes} bytes`);
    });
  }

  it("says how many names have none, and gives one that of a name that is gone", () => {
    const { series } = startSeries();
    const destinations = namesOf(100, "d");
    const attempt = (destination: string) => series.attempted(makeDelivery({ id: 1, destination }), OK);
    const omitted = () => series.read("1h", { kind: "daemon" }).omitted;
    series.declare({ destinations, sources: [] });
    assert.equal(omitted(), 0);
    destinations.forEach(attempt);
    assert.equal(omitted(), 36);
    series.declare({ destinations: destinations.slice(1), sources: [] });
    attempt("d99");
    assert.equal(omitted(), 35);
    series.declare({ destinations: destinations.slice(0, 10), sources: [] });
    assert.equal(omitted(), 0);
  });

  it("is not spent on names outside the config", async () => {
    const { clock, series } = startSeries();
    series.declare({ destinations: ["crm"], sources: [] });
    series.attempted(makeDelivery({ id: 1, destination: "gone" }), OK);
    await clock.advance("5s");
    assert.deepEqual(series.read("1h", { kind: "destination", name: "gone" }).series.delivered, [null]);
    assert.deepEqual(series.read("1h", { kind: "daemon" }).series.delivered, [0.2]);
  });
});

describe("the timer of series", () => {
  it("runs once a minute while nothing happens, and every five seconds while something does", async () => {
    const clock = createFalseClock();
    let counted = 0;
    const backlog = {
      async counts() {
        counted += 1;
        return [];
      },
    };
    const series = createSeries({ clock, backlog, report: { storeFailed() {} } });
    const stopping = new AbortController();
    series.start(stopping.signal);
    await clock.advance("10m");
    const idle = counted;
    assert.ok(idle <= 13, String(idle));
    for (let second = 0; second < 60; second += 1) {
      series.accepted("website", { entries: [], receipts: [], count: 1 });
      await clock.advance("1s");
    }
    assert.equal(counted - idle, 12);
    stopping.abort();
    await clock.advance("10m");
    assert.equal(counted - idle, 12);
  });
});

describe("timings", () => {
  it("are none at first, and again once cleared", () => {
    const timings = createTimings();
    assert.equal(timings.quantile(0.5), null);
    timings.add(7);
    assert.equal(timings.quantile(0.5), 7);
    timings.clear();
    assert.equal(timings.quantile(0.5), null);
  });

  it("are exact up to 16 ms, and off by a sixteenth at most up to 16 s", () => {
    for (let duration = 0; duration < 16_384; duration += 1) {
      const timings = createTimings();
      timings.add(duration);
      const found = timings.quantile(0.99) ?? -1;
      assert.ok(Math.abs(found - duration) <= (duration < 16 ? 0 : duration / 16), `${duration}: ${found}`);
    }
  });

  it("have their longest bucket for whatever is longer", () => {
    const timings = createTimings();
    timings.add(1e9);
    assert.equal(timings.quantile(0.5), 15_871);
  });

  it("say what half of them, and 99 of 100, did not exceed", () => {
    const [timings, others] = [createTimings(), createTimings()];
    for (let duration = 1; duration <= 50; duration += 1) timings.add(5);
    for (let duration = 1; duration <= 49; duration += 1) others.add(6);
    others.add(1_000);
    timings.addAll(others);
    assert.deepEqual([timings.quantile(0.5), timings.quantile(0.51), timings.quantile(0.99)], [5, 6, 6]);
    assert.equal(timings.quantile(1), 991);
  });
});
