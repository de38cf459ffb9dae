import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startAdmin } from "./admin.ts";

const SLOW = { timeout: 60_000 };

describe("fairlead move", () => {
  it("says how many wait, has all of them moved, and says which the other had already", SLOW, async () => {
    await using admin = await startAdmin(2_345);
    const { code, out, err } = await admin.run(["move", "old", "crm", "--yes"]);
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(out.split("\n"), [
      "2,345 deliveries are waiting for old.",
      "Moved 2,342 deliveries from old to crm.",
      "3 deliveries failed instead: crm already has those events.",
      "",
    ]);
    assert.deepEqual(admin.done, new Array(3).fill(["move", { from: "old", to: "crm" }]));
  });

  it("does nothing without --yes where nobody can be asked, and says how many it would be", SLOW, async () => {
    await using admin = await startAdmin(1);
    const { code, out, err } = await admin.run(["move", "old", "crm"]);
    assert.deepEqual([code, out], [2, ""]);
    assert.equal(err, "fairlead: 1 delivery is waiting for old. Move them to crm? Add --yes to confirm\n");
    assert.deepEqual(admin.done, []);
  });

  it("only says on a dry run how many would be moved, also to a program", SLOW, async () => {
    await using admin = await startAdmin(1);
    const { code, out } = await admin.run(["move", "old", "crm", "--dry-run"]);
    assert.deepEqual([code, out], [0, "1 delivery is waiting for old, and would be moved to crm. Nothing was done.\n"]);
    const json = await admin.run(["move", "old", "crm", "--dry-run", "--json"]);
    assert.deepEqual(JSON.parse(json.out), { destination: "old", to: "crm", waiting: 1, dryRun: true });
    assert.deepEqual(admin.done, []);
  });

  it("prints JSON and nothing else, if a program reads it", SLOW, async () => {
    await using admin = await startAdmin(1_500);
    const { code, out } = await admin.run(["move", "old", "off", "--yes", "--json"]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), { destination: "old", to: "off", moved: 1_498, doubled: 2, more: false });
  });

  it("passes on in one line why the daemon does not do it, before anybody is asked", SLOW, async () => {
    await using admin = await startAdmin(7);
    const unknown = await admin.run(["move", "old", "crn"]);
    assert.deepEqual([unknown.code, unknown.err], [1, 'fairlead: there is no destination "crn"; did you mean crm?\n']);
    const same = await admin.run(["move", "off", "off"]);
    assert.deepEqual([same.code, same.err], [1, "fairlead: to: must be a destination other than off\n"]);
    assert.match((await admin.run(["move", "crm", "off"])).err, /^fairlead: crm is being served; /);
  });

  it("wants to know both destinations", SLOW, async () => {
    await using admin = await startAdmin(7);
    assert.equal((await admin.run(["move", "old"])).code, 2);
  });
});
