import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Vitals } from "../../src/model/supervisor.ts";
import { feedWatchdog } from "../../src/runtime/systemd.ts";
import { createFalseClock } from "../flow/clock.ts";

/** A watchdog that waits for so long, and daemon of which a test says how it is. `fed`: when, in seconds since the start. */
function startWatchdog(patience: number | null = 60_000) {
  const clock = createFalseClock();
  const start = clock.now();
  const fed: number[] = [];
  const told: string[] = [];
  const state = { store: async () => true, stuckLoops: [] as string[] };
  const stopping = new AbortController();
  const ended = feedWatchdog(
    {
      clock,
      supervisor: { patience, alive: () => fed.push((clock.now() - start) / 1_000) },
      vitals: (): Vitals => ({ store: state.store(), stuckLoops: state.stuckLoops }),
      report: { daemon: (what, fields) => told.push(`${what} ${fields.what ?? JSON.stringify(fields.after)}`) },
    },
    stopping.signal,
  );
  return { clock, fed, told, state, ended, stop: () => stopping.abort() };
}

describe("the watchdog", () => {
  it("is fed at half of the time that it waits", async () => {
    const w = startWatchdog();
    await w.clock.advance("2m");
    assert.deepEqual(w.fed, [0, 30, 60, 90, 120]);
    assert.deepEqual(w.told, []);
  });

  it("is not fed while the store says no, and at once when it does not any more", async () => {
    const w = startWatchdog();
    await w.clock.advance("10s");
    w.state.store = async () => false;
    await w.clock.advance("1m");
    assert.deepEqual(w.fed, [0]);
    w.state.store = async () => true;
    await w.clock.advance("31s");
    assert.deepEqual(w.fed, [0, 71, 101]);
    assert.deepEqual(w.told, ["stuck the store", 'unstuck {"ms":41000}']);
  });

  it("is not fed while the store does not answer at all", async () => {
    const w = startWatchdog();
    await w.clock.advance("10s");
    w.state.store = () => new Promise(() => {});
    await w.clock.advance("1h");
    assert.deepEqual(w.fed, [0]);
    assert.deepEqual(w.told, ["stuck the store"]);
  });

  it("is not fed while a loop does not come round; all that is stuck is named", async () => {
    const w = startWatchdog();
    await w.clock.advance("10s");
    Object.assign(w.state, { stuckLoops: ["crm", "lake"], store: async () => false });
    await w.clock.advance("1h");
    assert.deepEqual(w.fed, [0]);
    assert.deepEqual(w.told, ["stuck the store, the loop of crm, the loop of lake"]);
  });

  it("is left alone when nobody wants to hear of it, and after the end", async () => {
    const without = startWatchdog(null);
    await without.ended;
    assert.deepEqual(without.fed, []);
    const w = startWatchdog();
    await w.clock.advance("30s");
    w.stop();
    await w.ended;
    await w.clock.advance("1h");
    assert.deepEqual(w.fed, [0, 30]);
  });

  it("looks more often when it does not wait long", async () => {
    const w = startWatchdog(1_000);
    w.state.store = async () => w.clock.now() % 2 === 0;
    await w.clock.advance("1s");
    assert.deepEqual(w.fed, [0, 0.5, 1]);
    w.state.store = async () => false;
    await w.clock.advance("1s");
    w.state.store = async () => true;
    await w.clock.advance("150ms");
    assert.deepEqual(w.fed.slice(3), [2.125]);
  });
});
