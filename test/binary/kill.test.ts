import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startLoad } from "./load.ts";
import { refuseSome, startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld } from "./world.ts";

const CALLS = 5_000;

describe("kill -9", () => {
  it("in the middle of 5,000 calls, twice, loses none that was acknowledged", PATIENT, async () => {
    await using receiver = startReceiver(refuseSome);
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    let daemon = await w.serve();
    let ingest = Promise.resolve(daemon.ingest);
    const load = startLoad({ calls: CALLS, ingest: () => ingest });

    for (const count of [1_700, 3_400]) {
      await load.reached(count);
      const back = Promise.withResolvers<string>();
      ingest = back.promise;
      daemon.process.kill("SIGKILL");
      assert.deepEqual(await daemon.process.exit, { code: null, signal: "SIGKILL" });
      assert.ok(load.acknowledged.size < CALLS, "calls were still being sent");
      const waiting = [...load.acknowledged].filter((id) => !receiver.delivered.has(id));
      assert.notEqual(waiting.length, 0, "acknowledged calls were still to be delivered");
      daemon = await w.serve();
      back.resolve(daemon.ingest);
    }

    await load.done;
    assert.equal(load.acknowledged.size, CALLS);
    await receiver.all(load.acknowledged);
    assert.equal(receiver.forged, 0);
  });
});
