import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld } from "./world.ts";

const CALL = { userId: "u1", event: "Late", messageId: "m-1" };

describe("a restart", () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`after ${signal} goes on with waits and cutoffs where they were`, PATIENT, async () => {
      await using receiver = startReceiver(({ nth }) => (nth === 1 ? busy() : 200));
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: receiver.url, level: "debug" }));
      const first = await w.serve();
      await first.call("/v1/track", CALL);
      await first.process.line(/delivery\.retrying/);
      first.process.kill(signal);
      await first.process.exit;

      const [waiting] = await w.rows();
      assert.partialDeepStrictEqual(waiting, { state: "waiting", attempts: 1 });
      const second = await w.serve();
      const [, again] = await receiver.count(2);
      await second.process.line(/delivery\.delivered/);
      const [delivered] = await w.rows();
      assert.partialDeepStrictEqual(delivered, { state: "delivered", attempts: 2 });
      assert.equal(delivered?.first_attempt_at, waiting?.first_attempt_at);
      // The two processes read the clock apart from each other, to the millisecond.
      assert.ok((again?.at ?? 0) >= (waiting?.due_at ?? 0) - 5, `attempted at ${again?.at}, due at ${waiting?.due_at}`);
    });
  }
});

/** Asks for more time than a restart takes. */
function busy(): Response {
  return new Response("", { status: 503, headers: { "Retry-After": "3" } });
}
