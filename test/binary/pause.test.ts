import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

const CALL = { userId: "u1", event: "E", messageId: "m-1" };

async function run(w: World, daemon: Daemon, ...args: readonly string[]): Promise<readonly string[]> {
  const process = w.run([...args, "--admin", daemon.admin]);
  const { code } = await process.exit;
  assert.deepEqual([code, process.err], [0, []]);
  return process.out;
}

async function isPaused(daemon: Daemon): Promise<boolean> {
  const text = await (await fetch(`${daemon.admin}/metrics`)).text();
  return /^fairlead_destination_paused\{destination="crm"\} 1$/m.test(text);
}

describe("a destination that is paused", () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it(`holds what comes in over ${signal} and a restart, and gets it when it is resumed`, PATIENT, async () => {
      await using receiver = startReceiver();
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: receiver.url }));
      const first = await w.serve();
      assert.equal(await isPaused(first), false);
      assert.deepEqual(await run(w, first, "pause", "crm"), ["Paused crm. No delivery is waiting for crm."]);
      await first.process.line(/destination\.paused destination=crm waiting=0/);
      assert.equal((await first.call("/v1/track", CALL)).status, 200);
      first.process.kill(signal);
      await first.process.exit;

      const second = await w.serve();
      await second.process.line(
        /destination\.still_paused destination=crm waiting=1 since=\S+ hint=".*fairlead resume/,
      );
      assert.equal(await isPaused(second), true);
      assert.ok((await run(w, second, "status")).some((line) => /^crm +paused for \S+ +0 +1 /.test(line)));
      assert.equal(receiver.hooks.length, 0);
      const [said] = await run(w, second, "resume", "crm");
      assert.match(said ?? "", /^Resumed crm, which was paused for \S+\. 1 delivery is waiting for crm\.$/);
      await receiver.all(["m-1"]);
      assert.equal(receiver.hooks.length, 1);
      await second.process.line(/destination\.resumed destination=crm/);
      assert.equal(await isPaused(second), false);
    });
  }
});
