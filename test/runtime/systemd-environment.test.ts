import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { describe, it } from "node:test";
import { readSystemdEnvironment, refusePassedSockets, takeSystemdEnvironment } from "../../src/runtime/systemd.ts";

const NONE = { socket: null, patience: null, sockets: 0 };

describe("what systemd says by the environment", () => {
  it("is nothing where there is no systemd", () => {
    assert.deepEqual(readSystemdEnvironment({}, 42), NONE);
    assert.deepEqual(readSystemdEnvironment({ NOTIFY_SOCKET: "", WATCHDOG_USEC: "0", LISTEN_FDS: "0" }, 42), NONE);
  });

  it("is where to tell it, and how long it waits for a sign of life", () => {
    const found = readSystemdEnvironment({ NOTIFY_SOCKET: "/run/systemd/notify", WATCHDOG_USEC: "1500000" }, 42);
    assert.deepEqual(found, { socket: "/run/systemd/notify", patience: 1_500, sockets: 0 });
  });

  it("asks only the process that it names for a sign of life", () => {
    const patienceOf = (pid: string) =>
      readSystemdEnvironment({ WATCHDOG_USEC: "1000000", WATCHDOG_PID: pid }, 42).patience;
    assert.deepEqual([patienceOf("42"), patienceOf("43")], [1_000, null]);
  });

  it("asks for no sign of life when the time is no number", () => {
    for (const WATCHDOG_USEC of ["soon", "-1", "1e6", " 1"]) {
      assert.equal(readSystemdEnvironment({ WATCHDOG_USEC }, 42).patience, null);
    }
  });

  it("passes sockets only to the process that it names", () => {
    const socketsOf = (LISTEN_PID: string) => readSystemdEnvironment({ LISTEN_FDS: "2", LISTEN_PID }, 42).sockets;
    assert.deepEqual([socketsOf("42"), socketsOf("43")], [2, 0]);
  });

  it("is taken away once it is read: programs that are started do not inherit it", () => {
    process.env.NOTIFY_SOCKET = "/run/systemd/notify";
    process.env.WATCHDOG_USEC = "1000000";
    process.env.WATCHDOG_PID = String(process.pid);
    assert.deepEqual(takeSystemdEnvironment(), { socket: "/run/systemd/notify", patience: 1_000, sockets: 0 });
    assert.doesNotMatch(spawnSync("env", { encoding: "utf8" }).stdout, /^(NOTIFY|WATCHDOG|LISTEN)_/m);
    assert.deepEqual(takeSystemdEnvironment(), NONE);
  });
});

describe("sockets that systemd passes", () => {
  it("are refused, with what to do", () => {
    assert.equal(refusePassedSockets({ sockets: 0 }), null);
    assert.match(
      refusePassedSockets({ sockets: 1 }) ?? "",
      /^systemd passes a socket to this service \(LISTEN_FDS=1\)/,
    );
    assert.match(refusePassedSockets({ sockets: 2 }) ?? "", /2 sockets.*ingest\.listen.*systemctl disable --now/);
  });
});
