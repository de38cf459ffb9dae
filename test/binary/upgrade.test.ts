import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld } from "./world.ts";

const NOWHERE = "http://127.0.0.1:9/hooks";

describe("a daemon on an outbox whose schema it does not know", () => {
  for (const { schema, code } of [
    { schema: 99, code: "schema_newer" },
    { schema: 5, code: "schema_unsupported" },
  ]) {
    it(`refuses schema ${schema} with ${code}, and so that systemd does not start it again`, PATIENT, async () => {
      await using w = await makeWorld();
      const db = await openDatabase(w.path("fairlead.db"));
      db.pragma(`user_version = ${schema}`);
      db.close();
      await w.write("config.yaml", makeConfig({ url: NOWHERE }));
      const process = w.run(["serve", "--config", "config.yaml"]);
      assert.equal((await process.exit).code, 78);
      const said = new RegExp(`^fairlead: ${code}: cannot open outbox .*: its schema is version ${schema}, `, "m");
      assert.match(process.err.join("\n"), said);
    });
  }
});
