import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/migrations.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, type World } from "./world.ts";

const NOWHERE = "http://127.0.0.1:9/hooks";
/** For a destination that is gone: whoever kills the daemon does so while an index of them is made, or beside it. */
const WAITING = 30_000;

/** A world with the outbox that schema 1 has left, and much more in it. */
async function makeOldWorld(): Promise<World> {
  const w = await makeWorld();
  const kept = readFileSync(new URL("../fixtures/stores/schema-1.db.gz", import.meta.url));
  await writeFile(w.path("fairlead.db"), gunzipSync(kept));
  const db = await openDatabase(w.path("fairlead.db"));
  const insert = db.prepare<[number, number]>(
    `INSERT INTO tried (event, destination, state, due_at, attempts, stood_still, accepted_at, about, body)
      VALUES (?, 'gone', 'waiting', 5, 1, 0, ?, '["website","track","m","u1"]', '{}')`,
  );
  db.transaction(() => {
    for (let event = 1_000; event < 1_000 + WAITING; event += 1) insert.run(event, event);
    db.exec(`INSERT INTO counts VALUES ('gone', 'waiting', ${WAITING})`);
  })();
  db.close();
  await w.write("config.yaml", makeConfig({ url: NOWHERE }));
  return w;
}

describe("a daemon on the outbox of an older version", () => {
  it(
    "that is killed in each step of the upgrade goes on at the next start, and has lost nothing",
    PATIENT,
    async () => {
      await using w = await makeOldWorld();
      for (let step = 2; step <= SCHEMA_VERSION; step += 1) {
        const process = w.run(["serve", "--config", "config.yaml"]);
        // A kill may come just after the step that was told, and the next start then begins with the one after.
        await process.line(new RegExp(`daemon\\.migrating step=[${step}-9]|^ingest `));
        process.kill("SIGKILL");
        await process.exit;
      }
      const daemon = await w.serve();
      assert.equal((await daemon.call("/v1/track", { userId: "u1", event: "E" })).status, 200);
      daemon.process.kill("SIGTERM");
      assert.equal((await daemon.process.exit).code, 0);
      const db = await openDatabase(w.path("fairlead.db"));
      assert.equal(db.pragma("user_version", { simple: true }), SCHEMA_VERSION);
      assert.deepEqual(db.pragma("integrity_check"), [{ integrity_check: "ok" }]);
      const waiting = db
        .prepare("SELECT count(*) FROM deliveries WHERE destination = 'gone' AND state = 'waiting'")
        .pluck();
      assert.equal(waiting.get(), WAITING);
      db.close();
    },
  );

  it(
    "refuses one of a newer version with a code, and so that systemd does not try again and again",
    PATIENT,
    async () => {
      await using w = await makeOldWorld();
      const db = await openDatabase(w.path("fairlead.db"));
      db.pragma("user_version = 99");
      db.close();
      const process = w.run(["serve", "--config", "config.yaml"]);
      assert.equal((await process.exit).code, 78);
      assert.match(
        process.err.join("\n"),
        /^fairlead: schema_newer: cannot open outbox .*: its schema is version 99, and this /m,
      );
    },
  );
});
