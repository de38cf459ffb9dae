import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

type Listening = AsyncDisposable & {
  readonly child: ChildProcess;
  /** Sends a signal, and answers the line that the process prints about it. */
  send(signal: NodeJS.Signals): Promise<string>;
};

/** A process of its own, because the test runners listen to signals too. */
async function startListening(): Promise<Listening> {
  const script = fileURLToPath(new URL("../fixtures/print-signals.ts", import.meta.url));
  const args = typeof Bun === "undefined" ? ["run", "-A", "--no-check", script] : [script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const nextLine = async (): Promise<string> => String(await once(lines, "line"));
  assert.equal(await nextLine(), "ready");
  return {
    child,
    send(signal) {
      const line = nextLine();
      kill(child, signal);
      return line;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      kill(child, "SIGKILL");
      await once(child, "exit");
    },
  };
}

/** Not `child.kill`, which on Deno works only once. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  assert.ok(pid);
  process.kill(pid, signal);
}

describe("signals", () => {
  it("stop the daemon on SIGTERM and SIGINT, each time", async () => {
    await using listening = await startListening();
    assert.equal(await listening.send("SIGTERM"), "stop SIGTERM");
    assert.equal(await listening.send("SIGINT"), "stop SIGINT");
    assert.equal(await listening.send("SIGINT"), "stop SIGINT");
  });

  it("make it read its config again on SIGHUP", async () => {
    await using listening = await startListening();
    assert.equal(await listening.send("SIGHUP"), "reload");
  });

  it("end the process again when the handlers were taken away", async () => {
    await using listening = await startListening();
    assert.equal(await listening.send("SIGHUP"), "reload");
    const exit = once(listening.child, "exit");
    kill(listening.child, "SIGTERM");
    const [, signal] = await exit;
    assert.equal(signal, "SIGTERM");
  });
});
