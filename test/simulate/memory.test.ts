// What the delivery loops have in memory of a long backlog, looked at in the simulator: plans from seeds are too short for one.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type * as Reading from "../../src/deliver/reading.ts";
import { readings } from "./checks/memory.ts";
import { type Fault, fault } from "./faults/fault.ts";
import { CAN_PATCH, withPatched } from "./faults/patched.ts";
import type { Step } from "./plan.ts";
import { runPlan, type Verdict } from "./run.ts";
import { createFalseDisk, type FalseDisk } from "./world/disk.ts";
import { FIRST_SHAPE } from "./world/shape.ts";

const LIMIT = { timeout: 600_000 };

describe("a backlog of a thousand events", { skip: !CAN_PATCH }, () => {
  let disk: FalseDisk;
  before(async () => {
    disk = await createFalseDisk();
  });
  // Other tests look at what they have made only.
  afterEach(() => readings.clear());
  after(() => disk.remove());

  it("is in memory by a page or two, before and after a restart, and arrives", LIMIT, async () => {
    const verdict = await withPatched(noting({}), () => run(disk));
    assert.deepEqual(verdict.wrong, []);
    assert.equal(verdict.met.get("acknowledged"), BATCHES * IN_BATCH);
    assert.ok(verdict.met.get("queues that were looked at"));
  });

  it("is seen to be in memory as a whole, if it is", LIMIT, async () => {
    const verdict = await withPatched(noting({ isFull: () => false, hasRoom: () => true }), () => run(disk));
    assert.match(verdict.wrong[0] ?? "", /are in one queue in memory/);
  });
});

const BATCHES = 10;
const IN_BATCH = 100;

/** Notes each queue that is made, and puts these functions in place of the real ones. */
function noting(others: Partial<typeof Reading>): Fault {
  return fault<typeof Reading>("", "deliver/reading.ts", ({ createReading }) => ({
    createReading() {
      const reading = createReading();
      readings.add(new WeakRef(reading));
      return reading;
    },
    ...others,
  }));
}

function run(disk: FalseDisk): Promise<Verdict> {
  const down = ["crm", "mail", "warehouse"].map((destination): Step => {
    return { act: "receiver", with: { destination, webhook: 0, does: "down" } };
  });
  const batches = Array.from({ length: BATCHES }, (_, nth): Step => {
    const numbers = Array.from({ length: IN_BATCH }, (_, within) => nth * IN_BATCH + within);
    return { act: "batch", with: { source: "backend", numbers, bad: 0 } };
  });
  const restart: Step = { act: "crash", with: { after: 0, down: 0 } };
  const steps: Step[] = [
    ...down,
    ...batches,
    { act: "pass", with: { ms: 10_000 } },
    restart,
    { act: "pass", with: { ms: 1_000 } },
  ];
  return runPlan({ seed: 1, shape: FIRST_SHAPE, steps }, disk);
}
