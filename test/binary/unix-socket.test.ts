import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { describe, it } from "node:test";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, postCall, type World } from "./world.ts";

async function makeSocketWorld(url: string): Promise<World> {
  const w = await makeWorld();
  const [ingest, admin] = [`unix:${w.path("ingest.sock")}`, `unix:${w.path("admin.sock")}`];
  await w.write("config.yaml", makeConfig({ url, ingest, admin }));
  return w;
}

async function callOver(unix: string, messageId: string): Promise<number> {
  const answer = await postCall("http://localhost/v1/track", { userId: "u1", event: "Local", messageId }, { unix });
  return answer.status;
}

describe("Unix sockets", () => {
  it("take calls and the operator's requests, for owner and group, and go when the daemon stops", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeSocketWorld(receiver.url);
    const daemon = await w.serve();
    assert.equal(daemon.ingest, `unix:${w.path("ingest.sock")}`);
    assert.equal(await callOver(w.path("ingest.sock"), "m-1"), 200);
    await receiver.all(["m-1"]);
    const alive = await fetch("http://localhost/healthz", { unix: w.path("admin.sock") });
    assert.deepEqual(await alive.json(), { status: "alive" });
    assert.equal((await stat(w.path("admin.sock"))).mode & 0o777, 0o660);

    daemon.process.kill("SIGTERM");
    assert.equal((await daemon.process.exit).code, 0);
    for (const name of ["ingest.sock", "admin.sock"]) await assert.rejects(stat(w.path(name)), { code: "ENOENT" });
  });

  it("that kill -9 has left behind do not keep the daemon from starting again", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeSocketWorld(receiver.url);
    const first = await w.serve();
    first.process.kill("SIGKILL");
    await first.process.exit;
    assert.ok((await stat(w.path("ingest.sock"))).isSocket());

    await w.serve();
    assert.equal(await callOver(w.path("ingest.sock"), "m-1"), 200);
    await receiver.all(["m-1"]);
  });
});
