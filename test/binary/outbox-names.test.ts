import assert from "node:assert/strict";
import { link, rm } from "node:fs/promises";
import { describe, it } from "node:test";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld } from "./world.ts";

describe("an outbox that has another name", () => {
  it(
    "is used by no second daemon, and refused by check, doctor and the next start, with the reason",
    PATIENT,
    async () => {
      await using receiver = startReceiver();
      await using w = await makeWorld();
      const config = JSON.parse(makeConfig({ url: receiver.url }));
      await w.write("config.yaml", JSON.stringify({ ...config, outbox: { path: w.path("fairlead.db") } }));
      await w.write("other.yaml", JSON.stringify({ ...config, outbox: { path: w.path("other.db") } }));
      const daemon = await w.serve();
      await link(w.path("fairlead.db"), w.path("other.db"));
      const reason = /it has 2 names \(hard links, another one is .*\/fairlead\.db\)/;
      for (const [args, code] of [
        [["serve"], 1],
        [["check"], 78],
        [["doctor", "--admin", daemon.admin], 1],
      ] as const) {
        const refused = w.run([...args, "--config", "other.yaml"]);
        const started = refused.line(/^ingest /).catch(() => "");
        assert.equal(await started, "", "a second daemon runs");
        const exit = await refused.exit;
        const said = [...refused.out, ...refused.err].join("\n");
        assert.match(said, reason, args.join(" "));
        assert.equal(exit.code, code, said);
      }
      // The one that runs has it, and goes on.
      assert.equal((await daemon.call("/v1/track", { userId: "u1", event: "E", messageId: "m1" })).status, 200);
      daemon.process.kill("SIGTERM");
      await daemon.process.exit;
      await rm(w.path("other.db"));
      await w.serve();
      await receiver.all(["m1"]);
    },
  );
});
