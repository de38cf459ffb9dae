import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { describe, it } from "node:test";
import { findBinary } from "../binary/binary.ts";
import { start } from "../binary/process.ts";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { acceptingCalls, type Daemon, makeConfig, makeWorld } from "../binary/world.ts";
import { eventually, settled, statusOf } from "./observe.ts";

const MOST = 64;

function descriptors({ process: { pid } }: Daemon): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Connections that send half a request each, more than the daemon may have files. */
function crowd({ ingest }: Daemon): AsyncDisposable {
  const { port, hostname } = new URL(ingest);
  const sockets: Socket[] = Array.from({ length: 2 * MOST }, () => {
    const socket = connect(Number(port), hostname);
    // Some are refused, some are cut.
    socket.on("error", () => {});
    socket.write("POST /v1/track HTTP/1.1\r\nHost: localhost\r\n");
    return socket;
  });
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe("a daemon that may not open another file", () => {
  it("goes on with the connections it has, loses nothing, says so, and recovers", PATIENT, async () => {
    // Every delivery needs a connection of its own, and there is none to be had.
    await using receiver = startReceiver(() => new Response("", { status: 200, headers: { connection: "close" } }));
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url, level: "debug" }));
    const limited = [`--nofile=${MOST}:${MOST}`, findBinary(), "serve", "--config", "config.yaml"];
    const env = { PATH: process.env.PATH, TMPDIR: w.folder };
    await using child = start("prlimit", limited, { folder: w.folder, env });
    const daemon = await acceptingCalls(child);
    const call = async (messageId: string): Promise<number> => {
      const response = await daemon.call("/v1/track", { userId: "u1", event: "E", messageId });
      await response.text();
      return response.status;
    };
    assert.equal(await call("m-before"), 200);
    await eventually("it is delivered", async () => ((await statusOf(daemon)).state === "working" ? true : null));

    {
      await using _ = crowd(daemon);
      await eventually("no file is left", () => (descriptors(daemon) === MOST ? true : null));
      // Over the connection that this process has kept.
      assert.equal(await call("m-during"), 200);
      const line = await child.line(/msg=attempt\.failed .*code=EMFILE/);
      assert.match(
        line,
        /outcome=offline .*reason="this process has too many open files; raise its limit \(LimitNOFILE=/,
      );
      await child.line(/msg=delivery\.retrying .*event=m-during .*attempt=0 /);
    }
    await eventually("the files are closed", () => (descriptors(daemon) < MOST / 2 ? true : null));
    assert.equal(await call("m-after"), 200);
    await eventually("all have come", () => (receiver.hooks.length >= 3 ? true : null));
    await settled(daemon);
    assert.deepEqual((await statusOf(daemon)).counts, { waiting: 0, delivered: 3, failed: 0, expired: 0 });
  });
});
