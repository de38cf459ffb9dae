import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { startLoad } from "./load.ts";
import { startPlace } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";

const CALLS = 6_000;

describe("a backup of a daemon that takes calls", () => {
  it("has all that was acknowledged before it; restored after a kill, that is delivered", PATIENT, async () => {
    let isUp = false;
    await using place = await startPlace(() => (isUp ? 200 : 503));
    const { receiver, w, daemon } = place;
    let ingest: string | null = daemon.ingest;
    const load = startLoad({ calls: CALLS, ingest: async () => ingest });

    await load.reached(1_000);
    const before = new Set(load.acknowledged);
    const backup = w.run(["backup", "copy.db"]);
    assert.equal((await backup.exit).code, 0, backup.err.join("\n"));
    const busy = w.run(["restore", "--force", "copy.db"]);
    assert.equal((await busy.exit).code, 1);
    assert.match(busy.err.join("\n"), new RegExp(`another Fairlead \\(pid ${daemon.process.pid}\\) has it open`));
    ingest = null;
    daemon.process.kill("SIGKILL");
    await daemon.process.exit;
    await load.done;

    const restore = w.run(["restore", "--force", "copy.db"]);
    assert.equal((await restore.exit).code, 0, restore.err.join("\n"));
    const [kept = ""] = (await readdir(w.folder)).filter((name) => name.includes(".before-restore-"));
    const old = await openDatabase(w.path(kept));
    const ids = new Set(old.prepare<[], string>("SELECT message_id FROM deliveries").pluck().all());
    old.close();
    const lost = [...load.acknowledged].filter((id) => !ids.has(id));
    assert.deepEqual(lost, []);

    isUp = true;
    const again = await w.serve();
    await receiver.all(before);
    assert.equal(receiver.forged, 0);
    again.process.kill("SIGTERM");
    assert.equal((await again.process.exit).code, 0);
  });
});
