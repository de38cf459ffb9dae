import assert from "node:assert/strict";
import { startLoad } from "./load.ts";
import { refuseSome, startReceiver } from "./receiver.ts";
import { makeConfig, makeWorld } from "./world.ts";

export type Kills = {
  /** How many calls are sent in all. */
  readonly calls: number;
  /** The daemon is killed each time that so many were acknowledged. */
  readonly at: readonly number[];
};

/** Kills the daemon in the middle of load, and sees that each call that was acknowledged reaches its receiver. */
export async function killUnderLoad({ calls, at }: Kills): Promise<void> {
  await using receiver = startReceiver(refuseSome);
  await using w = await makeWorld();
  await w.write("config.yaml", makeConfig({ url: receiver.url }));
  let daemon = await w.serve();
  let ingest = Promise.resolve(daemon.ingest);
  const load = startLoad({ calls, ingest: () => ingest });

  for (const count of at) {
    await load.reached(count);
    const back = Promise.withResolvers<string>();
    ingest = back.promise;
    daemon.process.kill("SIGKILL");
    assert.deepEqual(await daemon.process.exit, { code: null, signal: "SIGKILL" });
    assert.ok(load.acknowledged.size < calls, "calls were still being sent");
    const waiting = [...load.acknowledged].filter((id) => !receiver.delivered.has(id));
    assert.notEqual(waiting.length, 0, "acknowledged calls were still to be delivered");
    daemon = await w.serve();
    assert.ok(!daemon.process.err.some((line) => /store\.failed/.test(line)), "what it finds is taken for what it is");
    back.resolve(daemon.ingest);
  }

  await load.done;
  assert.equal(load.acknowledged.size, calls);
  await receiver.all(load.acknowledged);
  assert.equal(receiver.forged, 0);
}
