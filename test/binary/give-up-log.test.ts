import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld } from "./world.ts";

describe("deliveries that a receiver refuses", () => {
  it(
    "are in the log with an id that can be pasted; of more than ten, the number of the others at the stop",
    PATIENT,
    async () => {
      await using receiver = startReceiver(() => 400);
      await using w = await makeWorld();
      const admin = `unix:${w.path("admin.sock")}`;
      await w.write("config.yaml", makeConfig({ url: receiver.url, admin }));
      const daemon = await w.serve();
      const batch = Array.from({ length: 13 }, (_, n) => ({
        type: "track",
        userId: "u1",
        event: "E",
        messageId: `m-${n}`,
      }));
      assert.equal((await daemon.call("/v1/batch", { batch })).status, 200);
      const lines = await daemon.process.lines(/msg=delivery\.failed /, 10);
      const ids = lines.map((line) => / delivery=(\S+)/.exec(line)?.[1] ?? "");
      assert.equal(new Set(ids).size, 10);
      const shown = w.run(["deliveries", "show", ids[9] ?? ""]);
      assert.equal((await shown.exit).code, 0, shown.err.join("\n"));

      await receiver.count(13);
      daemon.process.kill("SIGTERM");
      await daemon.process.exit;
      const others = daemon.process.err.filter((line) => /msg=delivery\.failed .* suppressed=/.test(line));
      assert.equal(others.length, 1);
      assert.match(others[0] ?? "", / destination=crm hint="list them: fairlead deliveries .*" suppressed=3$/);
      assert.match(daemon.process.err.at(-1) ?? "", /msg=daemon\.stopped$/);
    },
  );
});
