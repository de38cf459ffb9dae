import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Halt } from "../../../src/model/pause.ts";
import { type OpenStore, startStore } from "../harness.ts";

const NOTHING = { pausedAt: null, unservedAt: null, spells: [] };
const CRM: Halt = { ...NOTHING, destination: "crm", pausedAt: 300, spells: [spell(10, 20), spell(100, 200)] };
const LAKE: Halt = { ...NOTHING, destination: "lake", unservedAt: 250 };

function spell(from: number, until: number) {
  return { from, until };
}

export function describeHalts(open: OpenStore): void {
  describe("what is halted", () => {
    it("is nothing at first", async () => {
      await using s = await startStore(open);
      assert.deepEqual(s.store().halts.all(), []);
    });

    it("is what was saved last, also after a restart", async () => {
      await using s = await startStore(open);
      assert.equal(await s.store().halts.save([CRM, LAKE]), null);
      assert.deepEqual(s.store().halts.all(), [CRM, LAKE]);
      const resumed = { ...CRM, pausedAt: null, spells: [...CRM.spells, spell(300, 400)] };
      await s.store().halts.save([resumed]);
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(s.store().halts.all(), [resumed, LAKE]);
      }
    });

    it("can have two reasons at once", async () => {
      await using s = await startStore(open);
      const both = { ...CRM, unservedAt: 300 };
      await s.store().halts.save([both]);
      await s.reopen();
      assert.deepEqual(s.store().halts.all(), [both]);
    });

    it("is forgotten when there is nothing to remember", async () => {
      await using s = await startStore(open);
      await s.store().halts.save([CRM, LAKE]);
      await s.store().halts.save([{ ...NOTHING, destination: "crm" }]);
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(s.store().halts.all(), [LAKE]);
      }
    });

    it("does not begin in the future, wherever the clock stands after a crash", async () => {
      await using s = await startStore(open);
      await s.append();
      await s.clock.advance("30s");
      const pausedAt = s.clock.now();
      await s.store().halts.save([{ ...CRM, pausedAt }]);
      s.clock.setWall(0);
      await s.reopen();
      assert.ok(s.clock.now() >= pausedAt, `${pausedAt - s.clock.now()} ms in the future`);
    });
  });
}
