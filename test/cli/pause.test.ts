import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pausedWords, resumedWords } from "../../src/cli/pause.ts";
import { HOUR } from "../../src/model/units.ts";
import { NEVER_PAUSED } from "../admin/make.ts";
import { startAdmin } from "./admin.ts";

const SLOW = { timeout: 60_000 };
const NOW = Date.UTC(2026, 10, 20, 12);
const SAID = { paused: true, since: "2026-11-20T09:00:00.000Z", changed: true, waiting: 1 } as const;

describe("fairlead pause", () => {
  it("says that it is done, and how many wait", SLOW, async () => {
    const since = Date.now();
    await using admin = await startAdmin(1_234, {
      pauses: { ...NEVER_PAUSED, pause: async () => ({ since, changed: true }) },
    });
    const { code, out, err } = await admin.run(["pause", "old"]);
    assert.deepEqual([code, out, err], [0, "Paused old. 1,234 deliveries are waiting for old.\n", ""]);
    const json = JSON.parse((await admin.run(["pause", "crm", "--json"])).out);
    assert.ok(Math.abs(Date.parse(json.since) - since) < HOUR);
    assert.deepEqual(json, { destination: "crm", paused: true, since: json.since, changed: true, waiting: 0 });
  });

  it("passes on in one line why the daemon does not do it", SLOW, async () => {
    await using admin = await startAdmin(0);
    const { code, out, err } = await admin.run(["pause", "crn"]);
    assert.deepEqual([code, out, err], [1, "", 'fairlead: there is no destination "crn"; did you mean crm?\n']);
    assert.equal((await admin.run(["pause"])).code, 2);
  });

  it("says since when, if that was so already", () => {
    const words = pausedWords("crm", { ...SAID, changed: false }, NOW);
    assert.equal(words, "crm has been paused for 3h already. 1 delivery is waiting for crm.");
  });

  it("cannot be made to write to the terminal", () => {
    assert.ok(!pausedWords("\u001b[2J", SAID, NOW).includes("\u001b"));
  });
});

const RESUMED = { paused: false, since: "2026-11-20T10:00:00.000Z", changed: true, waiting: 7, served: true } as const;

describe("fairlead resume", () => {
  it("says for how long it was paused, and how many wait", () => {
    assert.equal(
      resumedWords("crm", RESUMED, NOW),
      "Resumed crm, which was paused for 2h. 7 deliveries are waiting for crm.",
    );
  });

  it("says so if it was not paused, and if nothing is sent all the same", SLOW, async () => {
    await using admin = await startAdmin(0);
    const { code, out, err } = await admin.run(["resume", "off"]);
    const unserved = "Nothing is sent to it yet: it is disabled, or not in the config.";
    assert.deepEqual([code, err], [0, ""]);
    assert.equal(out, `off was not paused. No delivery is waiting for off.\n${unserved}\n`);
    const said = { destination: "crm", paused: false, since: null, changed: false, waiting: 0, served: true };
    assert.deepEqual(JSON.parse((await admin.run(["resume", "crm", "--json"])).out), said);
  });

  it("passes on in one line why the daemon does not do it", SLOW, async () => {
    await using admin = await startAdmin(0);
    const { code, err } = await admin.run(["resume", "crn"]);
    assert.deepEqual([code, err], [1, 'fairlead: there is no destination "crn"; did you mean crm?\n']);
  });
});
