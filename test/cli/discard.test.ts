import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { describe, it } from "node:test";
import { fault } from "../../src/model/fault.ts";
import { destinationBusy } from "../../src/model/waiting-deliveries.ts";
import { startAdmin } from "./admin.ts";

const SLOW = { timeout: 60_000 };

describe("fairlead discard", () => {
  it("says how many wait, has all of them discarded, and says so", SLOW, async () => {
    await using admin = await startAdmin(2_345);
    const { code, out, err } = await admin.run(["discard", "old", "--yes"]);
    assert.deepEqual([code, err], [0, ""]);
    assert.equal(out, "2,345 deliveries are waiting for old.\nDiscarded 2,345 deliveries of old.\n");
    assert.deepEqual(admin.done, new Array(3).fill(["discard", "old"]));
  });

  it("does nothing without --yes where nobody can be asked, and says how many it would be", SLOW, async () => {
    await using admin = await startAdmin(7);
    const { code, out, err } = await admin.run(["discard", "old"]);
    assert.deepEqual([code, out], [2, ""]);
    const question = "Discard them? They will not be sent.";
    assert.equal(err, `fairlead: 7 deliveries are waiting for old. ${question} Add --yes to confirm\n`);
    assert.deepEqual(admin.done, []);
  });

  it("only says on a dry run what would become of how many, also to a program", SLOW, async () => {
    await using admin = await startAdmin(7);
    const { code, out, err } = await admin.run(["discard", "old", "--dry-run"]);
    assert.deepEqual([code, err], [0, ""]);
    assert.equal(out, "7 deliveries are waiting for old, and would fail without being sent. Nothing was done.\n");
    const json = await admin.run(["discard", "old", "--dry-run", "--yes", "--json"]);
    assert.deepEqual(JSON.parse(json.out), { destination: "old", waiting: 7, dryRun: true });
    const nothing = await admin.run(["discard", "off", "--dry-run"]);
    assert.equal(nothing.out, "No delivery is waiting for off. Nothing was done.\n");
    assert.deepEqual(admin.done, []);
  });

  it("has nothing to ask, and nothing to do, if nothing waits", SLOW, async () => {
    await using admin = await startAdmin(0);
    const { code, out, err } = await admin.run(["discard", "off"]);
    assert.deepEqual([code, out, err], [0, "No delivery is waiting for off.\n", ""]);
    assert.deepEqual(admin.done, []);
  });

  it("prints JSON and nothing else, if a program reads it", SLOW, async () => {
    await using admin = await startAdmin(1_500);
    const { code, out, err } = await admin.run(["discard", "old", "--yes", "--json"]);
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(JSON.parse(out), { destination: "old", discarded: 1_500, more: false });
    const nothing = await admin.run(["discard", "off", "--json"]);
    assert.deepEqual(JSON.parse(nothing.out), { destination: "off", discarded: 0, more: false });
  });

  it("passes on in one line why the daemon does not do it", SLOW, async () => {
    await using admin = await startAdmin(7);
    const served = await admin.run(["discard", "crm", "--yes"]);
    assert.equal(served.code, 1);
    assert.match(
      served.err,
      /^fairlead: crm is being served; before you move or discard its waiting deliveries, pause it, .*\n$/,
    );
    const unknown = await admin.run(["discard", "odl", "--yes"]);
    assert.deepEqual([unknown.code, unknown.err], [1, 'fairlead: there is no destination "odl"; did you mean old?\n']);
  });

  it("says how far it came when the daemon fails", SLOW, async () => {
    const pages = [{ discarded: 1_000, more: true }, fault("store_failed", "the outbox cannot be written")];
    const discard = async () => pages.shift() ?? assert.fail();
    await using admin = await startAdmin(1_500, { waiting: { discard, move: async () => assert.fail() } });
    const { code, out, err } = await admin.run(["discard", "old", "--yes", "--json"]);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(out), { destination: "old", discarded: 1_000, more: true });
    assert.equal(JSON.parse(err).code, "store_failed");
    assert.match(JSON.parse(err).message, /the outbox cannot be written; 1,000 of 1,500 are done$/);
  });

  it("waits for attempts that still run", SLOW, async () => {
    let asked = 0;
    await using admin = await startAdmin(7, {
      async whileIdle(name, work) {
        asked += 1;
        return asked < 3 ? destinationBusy(name) : work();
      },
    });
    const { code, out } = await admin.run(["discard", "old", "--yes"]);
    assert.deepEqual([code, asked], [0, 3]);
    assert.match(out, /Discarded 7 deliveries of old\./);
  });

  it("stops behind the page under way at Ctrl-C, and says how far it came", SLOW, async () => {
    let child: ChildProcess | null = null;
    let asked = 0;
    const discard = async () => {
      asked += 1;
      // Not child.kill: on Deno, the exit code would be null then.
      if (asked === 2) process.kill(child?.pid ?? assert.fail(), "SIGINT");
      return { discarded: 1_000, more: true };
    };
    await using admin = await startAdmin(90_000, { waiting: { discard, move: async () => assert.fail() } });
    const begun = admin.begin(["discard", "old", "--yes"]);
    child = begun.child;
    const { code, out, err } = await begun.ended;
    assert.equal(code, 1);
    const done = /^Discarded (\d),000 deliveries of old\.$/m.exec(out)?.[1];
    // The signal may reach it one page later.
    assert.ok(done && Number(done) >= 2 && Number(done) === asked, out);
    assert.equal(err, `fairlead: interrupted: ${done},000 of 90,000 are done, the others are still waiting\n`);
  });
});
