import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StoredClock } from "../../../src/model/destination-clock.ts";
import { type OpenStore, startStore } from "../harness.ts";
import type { Abilities } from "./sharing.ts";

const RUNNING = { pausedAt: null, unservedAt: null, offlineAt: null, stoppedAt: null, stoodStill: 0 };
const CRM: StoredClock = { ...RUNNING, destination: "crm", pausedAt: 300, stoppedAt: 300, stoodStill: 110 };
const LAKE: StoredClock = { ...RUNNING, destination: "lake", unservedAt: 250, offlineAt: 240, stoppedAt: 240 };

export function describeClocks(open: OpenStore, { clock }: Abilities): void {
  describe("the clocks of destinations", () => {
    it("are none at first", async () => {
      await using s = await startStore(open);
      assert.deepEqual(await s.store().clocks.all(), []);
    });

    it("are what was saved last, also after a restart", async () => {
      await using s = await startStore(open);
      assert.equal(await s.store().clocks.save([CRM, LAKE], "command"), null);
      assert.deepEqual(await s.store().clocks.all(), [CRM, LAKE]);
      const resumed = { ...CRM, pausedAt: null, stoppedAt: null, stoodStill: 210 };
      await s.store().clocks.save([resumed], "command");
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(await s.store().clocks.all(), [resumed, LAKE]);
      }
    });

    it("are forgotten when they have never stood still", async () => {
      await using s = await startStore(open);
      await s.store().clocks.save([CRM, LAKE], "command");
      await s.store().clocks.save([{ ...RUNNING, destination: "crm" }], "command");
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(await s.store().clocks.all(), [LAKE]);
      }
    });

    it("have not stopped in the future, wherever the machine's clock stands after a crash", async () => {
      await using s = await startStore(open);
      await s.append();
      await s.clock.advance("30s");
      const pausedAt = s.clock.now();
      await s.store().clocks.save([{ ...CRM, pausedAt, stoppedAt: pausedAt }], "command");
      if (clock === "machine") s.clock.setWall(0);
      await s.reopen();
      assert.ok(s.clock.now() >= pausedAt, `${pausedAt - s.clock.now()} ms in the future`);
    });
  });
}
