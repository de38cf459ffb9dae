import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";
import { createServe } from "../../src/runtime/serve.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-socket-"));
after(() => rmSync(folder, { recursive: true }));

const serve = createServe();
const ok = () => new Response("ok");

async function get(path: string): Promise<string> {
  const sent = request({ socketPath: path, path: "/", agent: false }).end();
  const [answer] = await once(sent, "response");
  return await text(answer);
}

/** A process that listens on a socket and is killed leaves the file behind. */
async function leaveSocket(path: string): Promise<void> {
  const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => console.log("ready"))`;
  const args = typeof Bun === "undefined" ? ["eval", "--ext=cjs", script] : ["-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.ok(lstatSync(path).isSocket());
}

describe("a listener on a Unix socket", () => {
  it("answers without knowing an address, to its owner and group only", async () => {
    const path = join(folder, "own.sock");
    const listener = await serve({ kind: "unix", path }, (_, peer) => new Response(String(peer.address)));
    assert.equal(listener.address, `unix:${path}`);
    assert.equal(await get(path), "null");
    assert.equal(lstatSync(path).mode & 0o777, 0o660);
    await listener.stop();
  });

  it("takes its socket away when it stops", async () => {
    const path = join(folder, "away.sock");
    const listener = await serve({ kind: "unix", path }, ok);
    await listener.stop();
    assert.equal(existsSync(path), false);
  });

  it("leaves the socket of a daemon that is started while it stops", async () => {
    const path = join(folder, "next.sock");
    const running = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const first = await serve({ kind: "unix", path }, async () => {
      running.resolve();
      await gate.promise;
      return new Response("first");
    });
    const answer = get(path);
    await running.promise;
    const stopped = first.stop();
    const second = await serve({ kind: "unix", path }, () => new Response("second"));
    gate.resolve();
    assert.equal(await answer, "first");
    await stopped;
    assert.equal(await get(path), "second");
    await second.stop();
  });

  it("replaces a socket that a killed process left", async () => {
    const path = join(folder, "stale.sock");
    await leaveSocket(path);
    const listener = await serve({ kind: "unix", path }, ok);
    assert.equal(await get(path), "ok");
    await listener.stop();
  });

  it("refuses a socket on which another program answers", async () => {
    const path = join(folder, "taken.sock");
    const listener = await serve({ kind: "unix", path }, ok);
    await assert.rejects(serve({ kind: "unix", path }, ok), {
      message: `cannot listen on unix:${path}: another program answers there; stop it or choose another path`,
    });
    assert.equal(await get(path), "ok");
    await listener.stop();
  });

  it("does not touch a file that is no socket", async () => {
    const path = join(folder, "notes.txt");
    writeFileSync(path, "precious");
    await assert.rejects(serve({ kind: "unix", path }, ok), {
      message: `cannot listen on unix:${path}: there is a file of that name; remove it or choose another path`,
    });
    assert.equal(readFileSync(path, "utf8"), "precious");
  });

  it("says that the folder is missing", async () => {
    const path = join(folder, "missing", "x.sock");
    await assert.rejects(serve({ kind: "unix", path }, ok), {
      message: `cannot listen on unix:${path}: the folder does not exist; create it, or let systemd do so with RuntimeDirectory=`,
    });
  });

  it("says that the path is too long", async () => {
    const path = join(folder, "x".repeat(110));
    await assert.rejects(serve({ kind: "unix", path }, ok), {
      message: `cannot listen on unix:${path}: the path is too long for a socket; it may have 107 bytes`,
    });
  });
});
