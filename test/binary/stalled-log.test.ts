import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { describe, it } from "node:test";
import { setTimeout as pass } from "node:timers/promises";
import { startReceiver } from "./receiver.ts";
import { PATIENCE, PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

/** More than a pipe and the daemon's memory hold, at debug. */
const BATCHES = 14;
const CALLS = 100;

type Pipe = Disposable & {
  /** For the daemon's end. */
  readonly writer: number;
  /** What lies in the pipe now, taken out of it. */
  read(): string;
  /** Nobody reads any more. */
  close(): void;
};

/** A pipe that is read only when the test says so. */
function makePipe(w: World, flags: number): Pipe {
  const path = w.path("log");
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | flags);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(reader);
    isOpen = false;
  };
  return { writer, read: () => readAll(reader), close, [Symbol.dispose]: close };
}

function readAll(reader: number): string {
  const chunk = Buffer.alloc(65_536);
  let text = "";
  for (;;) {
    try {
      const size = readSync(reader, chunk);
      if (size === 0) return text;
      text += chunk.toString("utf8", 0, size);
    } catch {
      return text;
    }
  }
}

async function serveInto(w: World, pipe: Pipe): Promise<Daemon> {
  const daemon = await w.serve({ stderr: pipe.writer });
  closeSync(pipe.writer);
  return daemon;
}

async function sendAll(daemon: Daemon): Promise<void> {
  for (let n = 0; n < BATCHES; n += 1) {
    const batch = Array.from({ length: CALLS }, (_, at) => ({
      ...{ type: "track", userId: "u1", event: "E", messageId: `m-${n}-${at}` },
    }));
    assert.equal((await daemon.call("/v1/batch", { batch })).status, 200);
  }
}

async function countDropped(daemon: Daemon): Promise<number> {
  const text = await (await fetch(`${daemon.admin}/metrics`)).text();
  return Number(/^fairlead_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
}

/** In ticks, of which there are a hundred a second. */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** A daemon that spins takes all of the time that passes. */
async function assertIdle({ process: { pid } }: Daemon): Promise<void> {
  const before = processorTime(pid);
  await pass(300);
  const spent = processorTime(pid) - before;
  assert.ok(spent < 15, `${spent} of 30 ticks while there was nothing to do`);
}

/** Reads until this is there; a reader that comes back. */
async function readUntil(pipe: Pipe, pattern: RegExp): Promise<string> {
  const end = Date.now() + PATIENCE;
  for (let text = ""; Date.now() < end; await pass(10)) {
    text += pipe.read();
    if (pattern.test(text)) return text;
  }
  throw new Error(`there was no ${pattern}`);
}

describe("a log that nobody reads", () => {
  const KINDS = [
    ["a pipe on which writes wait", 0],
    ["a pipe on which writes fail when it is full", constants.O_NONBLOCK],
  ] as const;
  for (const [kind, flags] of KINDS) {
    it(`keeps nothing else from going on: ${kind}`, PATIENT, async () => {
      await using receiver = startReceiver();
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: receiver.url, level: "debug" }));
      using pipe = makePipe(w, flags);
      const daemon = await serveInto(w, pipe);
      await sendAll(daemon);
      await receiver.count(BATCHES * CALLS);
      await assertIdle(daemon);
      // The first scrape has the last successes written and logged, if they still wait for another commit.
      await countDropped(daemon);
      const dropped = await countDropped(daemon);
      assert.ok(dropped > 0, `${dropped} lines were dropped`);

      const text = await readUntil(pipe, /msg=log\.dropped .*\n/);
      assert.ok(text.includes("msg=daemon.started "), "what was written first is there");
      assert.equal(/level=error msg=log\.dropped count=(\d+) /.exec(text)?.[1], String(dropped));
      daemon.process.kill("SIGTERM");
      await readUntil(pipe, /msg=daemon\.stopped\n/);
      assert.equal((await daemon.process.exit).code, 0);
    });
  }

  it(
    "does not end the daemon, nor make it spin, when its reader is gone; nor keep it from stopping",
    PATIENT,
    async () => {
      await using receiver = startReceiver();
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: receiver.url, level: "debug" }));
      using pipe = makePipe(w, 0);
      const daemon = await serveInto(w, pipe);
      pipe.close();
      await sendAll(daemon);
      await receiver.count(BATCHES * CALLS);
      assert.ok((await countDropped(daemon)) >= BATCHES * CALLS);
      const before = processorTime(daemon.process.pid);
      await pass(1_000);
      assert.ok(processorTime(daemon.process.pid) - before < 50);
      daemon.process.kill("SIGTERM");
      assert.equal((await daemon.process.exit).code, 0);
    },
  );
});
