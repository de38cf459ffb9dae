// How much of a long backlog the delivery loops read ahead, in the simulator: plans from seeds are too short for one.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ReadQueue } from "../../src/model/ports.ts";
import { type Fault, inStore } from "./faults.ts";
import type { Step } from "./plan.ts";
import { runPlan, type Verdict } from "./run.ts";
import { createDiskEngine } from "./world/lives.ts";
import { FIRST_SHAPE } from "./world/shape.ts";
import type { Engine, World } from "./world/world.ts";

const LIMIT = { timeout: 600_000 };
const BATCHES = 10;
const IN_BATCH = 100;
/** Of one destination: a page of first attempts, one of retries, and some that are being sent. */
const MOST_READ = 600;

describe("a backlog of a thousand events", () => {
  let engine: Engine;
  before(async () => {
    engine = await createDiskEngine();
  });
  after(() => engine.remove());

  it(
    "is read by a page or two while its receivers are down, before and after a restart, and arrives",
    LIMIT,
    async () => {
      const { verdict, mostRead } = await run(engine, (readQueue) => readQueue);
      assert.deepEqual(verdict.wrong, []);
      assert.equal(verdict.met.get("acknowledged"), BATCHES * IN_BATCH);
      assert.ok(mostRead > 0 && mostRead <= MOST_READ, `${mostRead} deliveries were read and not sent`);
    },
  );

  it("is seen to be in memory as a whole, if it is", LIMIT, async () => {
    const { mostRead } = await run(engine, (readQueue) => (ask) => readQueue({ ...ask, limit: 10_000 }));
    assert.ok(mostRead > MOST_READ, `${mostRead} deliveries were read and not sent`);
  });
});

/** Runs the plan, and answers how many deliveries a destination had read from the store and not settled, at most, until the calm. */
async function run(
  engine: Engine,
  wrap: (readQueue: ReadQueue) => ReadQueue,
): Promise<{ verdict: Verdict; mostRead: number }> {
  let [read, mostRead] = [0, 0];
  const fault: Fault = inStore("counts what is read", ({ readQueue, settle }) => {
    const held = new Map<string, Set<number>>();
    const wrapped = wrap(readQueue);
    return {
      async readQueue(ask) {
        const page = await wrapped(ask);
        const known = held.get(ask.destination) ?? new Set();
        for (const { id } of page.deliveries) known.add(id);
        held.set(ask.destination, known);
        read = Math.max(read, known.size);
        return page;
      },
      async settle(delivery, settlement) {
        const result = await settle(delivery, settlement);
        held.get(delivery.destination)?.delete(delivery.id);
        return result;
      },
    };
  });
  const watching = (_: World, { act }: Step): void => {
    if (act !== "calm") mostRead = read;
  };
  const verdict = await runPlan({ seed: 1, daemons: 1, shape: FIRST_SHAPE, steps: plan() }, engine, {
    fault,
    watching,
  });
  return { verdict, mostRead };
}

function plan(): readonly Step[] {
  const down = ["crm", "mail", "warehouse"].map((destination): Step => {
    return { act: "receiver", with: { destination, webhook: 0, does: "down" } };
  });
  const batches = Array.from({ length: BATCHES }, (_, nth): Step => {
    const numbers = Array.from({ length: IN_BATCH }, (_, within) => nth * IN_BATCH + within);
    return { act: "batch", with: { source: "backend", numbers, bad: 0 } };
  });
  const restart: Step = { act: "crash", with: { after: 0, down: 0 } };
  return [...down, ...batches, { act: "pass", with: { ms: 10_000 } }, restart, { act: "pass", with: { ms: 1_000 } }];
}
