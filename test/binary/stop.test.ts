import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startLoad } from "./load.ts";
import { refuseSome, startPlace } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";

describe("SIGTERM", () => {
  it("under load ends the daemon with 0, and loses none of the calls that were acknowledged", PATIENT, async () => {
    await using place = await startPlace(refuseSome);
    const { receiver, w, daemon } = place;
    let ingest: string | null = daemon.ingest;
    const load = startLoad({ calls: 5_000, ingest: async () => ingest });
    await load.reached(1_700);
    ingest = null;
    daemon.process.kill("SIGTERM");
    assert.deepEqual(await daemon.process.exit, { code: 0, signal: null });
    await load.done;
    assert.ok(load.acknowledged.size < 5_000, "calls were still being sent");

    await w.serve();
    await receiver.all(load.acknowledged);
    assert.equal(receiver.forged, 0);
  });

  it("waits for the answers of running requests, and writes them down", PATIENT, async () => {
    const answer = Promise.withResolvers<Response>();
    await using place = await startPlace(() => answer.promise);
    const { receiver, w, daemon } = place;
    await daemon.call("/v1/track", { userId: "u1", event: "Slow" });
    await receiver.count(1);
    daemon.process.kill("SIGTERM");
    await daemon.process.line(/daemon\.stopping/);
    answer.resolve(new Response(""));
    assert.equal((await daemon.process.exit).code, 0);
    assert.deepEqual(
      (await w.rows()).map(({ state }) => state),
      ["delivered"],
    );
  });

  it("a second time lets go of a receiver that hangs, and leaves the call for the next start", PATIENT, async () => {
    let hangs = true;
    const never = new Promise<Response>(() => {});
    await using place = await startPlace(() => (hangs ? never : 200));
    const { receiver, w, daemon } = place;
    await daemon.call("/v1/track", { userId: "u1", event: "Stuck", messageId: "m-1" });
    await receiver.count(1);
    daemon.process.kill("SIGTERM");
    await daemon.process.line(/daemon\.stopping/);
    daemon.process.kill("SIGTERM");
    assert.deepEqual(await daemon.process.exit, { code: 1, signal: null });
    // Had it waited for the answer, this would be a failed attempt.
    assert.partialDeepStrictEqual(await w.rows(), [{ state: "waiting", attempts: 0 }]);

    hangs = false;
    await w.serve();
    await receiver.all(["m-1"]);
  });
});
