import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isResumed } from "../../src/cli/pause/said.ts";
import { toWords } from "../../src/cli/resume.ts";
import { startAdmin } from "./unserved/process.ts";

const SLOW = { timeout: 60_000 };
const NOW = Date.UTC(2026, 10, 20, 12);
const SAID = { paused: false, since: "2026-11-20T10:00:00.000Z", changed: true, waiting: 7, served: true } as const;

describe("fairlead resume", () => {
  it("says for how long it was paused, and how many wait", () => {
    assert.equal(toWords("crm", SAID, NOW), "Resumed crm, which was paused for 2h. 7 deliveries wait for crm.");
  });

  it("says so if it was not paused, and if nothing is sent all the same", SLOW, async () => {
    await using admin = await startAdmin(0);
    const { code, out, err } = await admin.run(["resume", "off"]);
    const unserved = "Nothing is sent to it all the same: it is disabled, or not in the config.";
    assert.deepEqual([code, err], [0, ""]);
    assert.equal(out, `off was not paused. No delivery waits for off.\n${unserved}\n`);
    const said = { destination: "crm", paused: false, since: null, changed: false, waiting: 0, served: true };
    assert.deepEqual(JSON.parse((await admin.run(["resume", "crm", "--json"])).out), said);
  });

  it("passes on in one line why the daemon does not do it", SLOW, async () => {
    await using admin = await startAdmin(0);
    const { code, err } = await admin.run(["resume", "crn"]);
    assert.deepEqual([code, err], [1, 'fairlead: there is no destination "crn"; did you mean crm?\n']);
  });

  it("understands what the daemon answers, and nothing else", () => {
    assert.ok(isResumed({ ...SAID, success: true }));
    assert.ok(!isResumed({ ...SAID, served: undefined }));
    assert.ok(!isResumed(null));
  });
});
