import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { type NotifySocket, openNotifySocket } from "../notify-socket.ts";
import { findBinary } from "./binary.ts";
import { type Process, start } from "./process.ts";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, postCall, type World } from "./world.ts";

const NOWHERE = "http://127.0.0.1:9/hooks";
const CALL = { userId: "u1", event: "E" };
/** Four signs of life a second. */
const HALF_A_SECOND = { WATCHDOG_USEC: "500000" };

/** The daemon as systemd starts it: nobody waits for what it prints. */
async function serve(w: World, socket: NotifySocket, env: Readonly<Record<string, string>> = {}): Promise<Process> {
  await w.write("config.yaml", makeConfig({ url: NOWHERE }));
  return w.run(["serve", "--config", "config.yaml"], { env: { NOTIFY_SOCKET: socket.name, ...env } });
}

/** What has arrived, each by its first assignment, in order. */
function said(socket: NotifySocket): readonly string[] {
  return socket.all().map(({ lines: [first = ""] }) => first);
}

async function readyStatus(socket: NotifySocket, count = 1): Promise<string> {
  const found = await socket.having(/READY=1/, count);
  return found.at(-1)?.lines.find((line) => line.startsWith("STATUS=")) ?? "";
}

describe("a daemon that systemd has started", () => {
  for (const abstract of [false, true]) {
    it(`says that it is ready once both listeners accept, to ${abstract ? "a name" : "a path"}`, PATIENT, async () => {
      await using socket = await openNotifySocket({ abstract });
      await using w = await makeWorld();
      const daemon = await serve(w, socket);
      const [, ingest = "", admin = ""] =
        /^STATUS=takes calls at (\S+), and operators at (\S+)$/.exec(await readyStatus(socket)) ?? [];
      const answers = await Promise.all([postCall(`${ingest}/v1/track`, CALL), fetch(`${admin}/readyz`)]);
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200],
      );
      assert.equal(socket.all()[0]?.pid, daemon.pid);
    });
  }

  it("says when it reads its config anew, on SIGHUP and on fairlead reload, and when it stops", PATIENT, async () => {
    await using socket = await openNotifySocket();
    await using w = await makeWorld();
    const daemon = await serve(w, socket);
    const [, admin = ""] = /operators at (\S+)$/.exec(await readyStatus(socket)) ?? [];
    daemon.kill("SIGHUP");
    assert.equal(await readyStatus(socket, 2), "STATUS=runs with the newest config");
    const reload = w.run(["reload", "--admin", admin]);
    assert.equal((await reload.exit).code, 0);
    await readyStatus(socket, 3);
    daemon.kill("SIGTERM");
    assert.equal((await daemon.exit).code, 0);
    await socket.having(/STOPPING=1/);
    // Nobody has asked for a sign of life.
    const wanted = ["READY=1", "RELOADING=1", "READY=1", "RELOADING=1", "READY=1", "STOPPING=1"];
    assert.deepEqual(said(socket), wanted);
    for (const { lines, at } of await socket.having(/RELOADING=1/, 2)) {
      const [, microseconds = ""] = lines[1]?.split("MONOTONIC_USEC=") ?? [];
      const age = at - Number(microseconds);
      assert.ok(age >= 0 && age < 60e6, `${age} µs`);
    }
  });

  it("says by which config it runs when a bad one was refused", PATIENT, async () => {
    await using socket = await openNotifySocket();
    await using w = await makeWorld();
    const daemon = await serve(w, socket);
    await readyStatus(socket);
    await w.write("config.yaml", "nonsense");
    daemon.kill("SIGHUP");
    const status = "STATUS=runs with the previous config: the new one was refused (the config has errors)";
    assert.equal(await readyStatus(socket, 2), status);
  });

  it("gives signs of life, and stops to while another process holds the outbox locked", PATIENT, async () => {
    await using socket = await openNotifySocket();
    await using w = await makeWorld();
    const daemon = await serve(w, socket, HALF_A_SECOND);
    await socket.having(/WATCHDOG=1/, 3);
    const other = await openDatabase(w.path("fairlead.db"));
    other.exec("BEGIN IMMEDIATE");
    assert.match(await daemon.line(/daemon\.stuck/), /level=error .*what="?the store"? hint=/);
    const before = said(socket).length;
    // Time for eight of them.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    assert.equal(said(socket).length, before);
    other.exec("ROLLBACK");
    other.close();
    assert.match(await daemon.line(/daemon\.unstuck/), /level=info .*after=\d+s/);
    await socket.having(/WATCHDOG=1/, before + 3);
    daemon.kill("SIGTERM");
    assert.equal((await daemon.exit).code, 0);
    assert.equal(said(socket).filter((line) => line === "STOPPING=1").length, 1);
  });

  it("says nothing when it cannot start", PATIENT, async () => {
    await using taken = startReceiver();
    await using socket = await openNotifySocket();
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE, ingest: new URL(taken.url).host }));
    const daemon = w.run(["serve", "--config", "config.yaml"], { env: { NOTIFY_SOCKET: socket.name } });
    assert.equal((await daemon.exit).code, 1);
    assert.deepEqual(said(socket), []);
  });

  it("runs all the same when nobody listens at the socket, and says so once", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    const daemon = await w.serve({ env: { NOTIFY_SOCKET: w.path("nobody"), ...HALF_A_SECOND } });
    assert.match(await daemon.process.line(/notify_failed/), /level=warning .*reason="?cannot notify systemd/);
    assert.equal((await daemon.call("/v1/track", CALL)).status, 200);
    daemon.process.kill("SIGTERM");
    assert.equal((await daemon.process.exit).code, 0);
    assert.equal(daemon.process.err.filter((line) => line.includes("notify_failed")).length, 1);
  });
});

describe("a daemon that is passed sockets", () => {
  /** With LISTEN_PID as systemd sets it for the process that it starts, or for another one. */
  function startWithSockets(w: World, pid: string): Process {
    const script = `LISTEN_FDS=1 LISTEN_PID=${pid} exec "$0" serve --config config.yaml`;
    const env = { PATH: process.env.PATH, TMPDIR: w.folder };
    return start("sh", ["-c", script, findBinary()], { folder: w.folder, env });
  }

  it("refuses them, and ends as with a wrong config: starting again would not help", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    await using daemon = startWithSockets(w, "$$");
    assert.deepEqual(await daemon.exit, { code: 78, signal: null });
    assert.match(daemon.err.join("\n"), /^fairlead: systemd passes a socket to this service.*systemctl disable --now/);
  });

  it("starts when they are meant for another process", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    await using daemon = startWithSockets(w, "1");
    await daemon.line(/daemon\.started/);
  });
});
