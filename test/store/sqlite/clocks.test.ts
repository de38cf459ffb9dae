import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { failing, startOutbox } from "./start.ts";

const CRM = { destination: "crm", pausedAt: 300, unservedAt: null, offlineAt: null, stoppedAt: 300, stoodStill: 10 };

describe("the table of clocks", () => {
  it("says what a person wants to know, a row for each destination", async () => {
    await using o = await startOutbox();
    await o.s.store().clocks.save([{ ...CRM, unservedAt: 400 }], "command");
    assert.deepEqual(o.sql("SELECT * FROM clocks"), [
      { destination: "crm", paused_at: 300, unserved_at: 400, offline_at: null, stopped_at: 300, stood_still: 10 },
    ]);
  });

  it("is as before when it cannot be written, and so is what the store says", async () => {
    await using o = await startOutbox();
    await o.s.store().clocks.save([CRM], "command");
    const rows = o.sql("SELECT * FROM clocks");
    o.shell.exec(failing("clocks"));
    const next = { ...CRM, unservedAt: 400 };
    assert.partialDeepStrictEqual(await o.s.store().clocks.save([next], "command"), { code: "store_failed" });
    assert.deepEqual([await o.s.store().clocks.all(), o.sql("SELECT * FROM clocks")], [[CRM], rows]);
    o.shell.exec("DROP TRIGGER failing_clocks");
    assert.equal(await o.s.store().clocks.save([next], "command"), null);
  });
});
