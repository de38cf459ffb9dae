import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { failing, startOutbox } from "./start.ts";

const NOTHING = { destination: "crm", pausedAt: null, unservedAt: null, spells: [] };

describe("the table of spells", () => {
  it("says what a person wants to know, a row for each", async () => {
    await using o = await startOutbox();
    const spells = [{ from: 10, until: 20 }];
    await o.s.store().halts.save([{ ...NOTHING, pausedAt: 300, unservedAt: 400, spells }]);
    assert.deepEqual(o.sql("SELECT * FROM spells ORDER BY from_at"), [
      { destination: "crm", kind: "over", from_at: 10, until_at: 20 },
      { destination: "crm", kind: "paused", from_at: 300, until_at: null },
      { destination: "crm", kind: "unserved", from_at: 400, until_at: null },
    ]);
  });

  it("is as before when it cannot be written, and so is what the store says", async () => {
    await using o = await startOutbox();
    const before = { ...NOTHING, pausedAt: 300 };
    await o.s.store().halts.save([before]);
    const rows = o.sql("SELECT * FROM spells");
    o.shell.exec(failing("spells"));
    assert.partialDeepStrictEqual(await o.s.store().halts.save([{ ...before, unservedAt: 400 }]), {
      code: "store_failed",
    });
    assert.deepEqual(o.s.store().halts.all(), [before]);
    assert.deepEqual(o.sql("SELECT * FROM spells"), rows);
    o.shell.exec("DROP TRIGGER failing_spells");
    assert.equal(await o.s.store().halts.save([{ ...before, unservedAt: 400 }]), null);
  });
});
