import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import process from "node:process";
import { describe, it } from "node:test";
import { createNotify, runProgram, toAddress } from "../../src/runtime/systemd-notify.ts";
import { openNotifySocket } from "../notify-socket.ts";
import { SLOW } from "../slow.ts";

const HAS_PROGRAM = spawnSync("systemd-notify", ["--version"]).status === 0;

describe("a message to systemd", () => {
  for (const abstract of [false, true]) {
    it(`arrives at ${abstract ? "an abstract name" : "a path"}, whole and from this process`, SLOW, async () => {
      await using socket = await openNotifySocket({ abstract });
      const { send } = createNotify(socket.name);
      await send("READY=1\nSTATUS=nimmt Aufrufe für „A“");
      await send("WATCHDOG=1");
      await socket.having(/WATCHDOG=1/);
      assert.deepEqual(
        socket.all().map(({ pid, lines }) => ({ pid, lines })),
        [
          { pid: process.pid, lines: ["READY=1", "STATUS=nimmt Aufrufe für „A“"] },
          { pid: process.pid, lines: ["WATCHDOG=1"] },
        ],
      );
    });
  }

  it("has the time of the machine's monotonic clock", SLOW, async () => {
    await using socket = await openNotifySocket();
    const { send, monotonic } = createNotify(socket.name);
    const before = Number(monotonic());
    await send("READY=1");
    const [ready] = await socket.having(/READY=1/);
    const arrived = ready?.at ?? 0;
    assert.ok(before > 0 && before <= arrived && arrived - before < 60e6, `${before} and ${arrived}`);
  });

  it("that nobody takes is an error, and no more", async () => {
    await assert.rejects(
      createNotify("/nowhere/notify").send("READY=1"),
      /the socket of NOTIFY_SOCKET accepts no message/,
    );
  });

  it("leaves no file descriptor behind", { skip: process.platform !== "linux" }, async () => {
    const count = (): number => readdirSync("/proc/self/fd").length;
    const { send } = createNotify("/nowhere/notify");
    const before = count();
    for (let left = 100; left > 0; left--) await assert.rejects(send("READY=1"));
    assert.ok(count() < before + 50);
  });

  it("cannot go to what is no Unix socket, or has too long a name", async () => {
    await assert.rejects(
      createNotify("vsock:2:1").send("READY=1"),
      /NOTIFY_SOCKET=vsock:2:1 is neither a path nor an @name/,
    );
    assert.equal(typeof toAddress(`/${"x".repeat(106)}`), "object");
    assert.match(String(toAddress(`/${"x".repeat(107)}`)), /is too long$/);
    assert.equal(typeof toAddress(`@${"x".repeat(107)}`), "object");
    assert.match(String(toAddress(`@${"x".repeat(108)}`)), /is too long$/);
  });

  const without = HAS_PROGRAM ? {} : { skip: "there is no systemd-notify" };
  it("goes by systemd's own program where the C library cannot be called", { ...SLOW, ...without }, async () => {
    await using socket = await openNotifySocket();
    await runProgram("READY=1\nSTATUS=runs by hand", socket.name);
    const [ready] = await socket.having(/READY=1/);
    assert.deepEqual(ready?.lines.slice(0, 2), ["READY=1", "STATUS=runs by hand"]);
  });

  it("that systemd's own program cannot send is an error as well", { ...SLOW, ...without }, async () => {
    await assert.rejects(runProgram("READY=1", "/nowhere/notify"), /systemd-notify ended with 1/);
  });
});
