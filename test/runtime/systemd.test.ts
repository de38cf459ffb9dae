import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { describe, it } from "node:test";
import type { MigrationStep, Vitals } from "../../src/model/daemon.ts";
import { MB } from "../../src/model/units.ts";
import {
  createSupervisor,
  feedWatchdog,
  readSystemdEnvironment,
  refusePassedSockets,
  takeSystemdEnvironment,
  tellMigration,
  tellReloads,
} from "../../src/runtime/systemd.ts";
import { createFalseClock } from "../flow/clock.ts";

/** A supervisor that remembers what it was told, on a machine that has been up for a second. */
function makeSupervisor({ monotonic = 1_000_000n as bigint | null, fails = (): string | null => null } = {}) {
  const sent: string[] = [];
  const failures: string[] = [];
  const supervisor = createSupervisor({
    environment: { socket: "/run/notify", patience: 1_000 },
    failed: (why) => failures.push(why),
    connect: (socket) => ({
      async send(message) {
        const why = fails();
        if (why !== null) throw new Error(why);
        sent.push(`${socket}: ${message.replaceAll("\n", " | ")}`);
      },
      monotonic: () => monotonic,
    }),
  });
  return { supervisor, sent, failures };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("what systemd is told", () => {
  it("is that the daemon is ready, reads its config, stops, needs time, and is alive", () => {
    const { supervisor, sent } = makeSupervisor();
    supervisor.extend(1_500, "migrates");
    supervisor.ready("takes calls");
    supervisor.reloading();
    supervisor.alive();
    supervisor.stopping();
    assert.deepEqual(sent, [
      "/run/notify: EXTEND_TIMEOUT_USEC=1500000 | STATUS=migrates",
      "/run/notify: READY=1 | STATUS=takes calls",
      "/run/notify: RELOADING=1 | MONOTONIC_USEC=1000000 | STATUS=reads its config",
      "/run/notify: WATCHDOG=1",
      "/run/notify: STOPPING=1 | STATUS=accepts no more calls and finishes running attempts",
    ]);
  });

  it("is one line, whatever is in it", () => {
    const { supervisor, sent } = makeSupervisor();
    supervisor.ready("a\nWATCHDOG=trigger\r\nb");
    assert.deepEqual(sent, ["/run/notify: READY=1 | STATUS=a WATCHDOG=trigger b"]);
  });

  it("has no time in it where nobody can say that", () => {
    const { supervisor, sent } = makeSupervisor({ monotonic: null });
    supervisor.reloading();
    assert.deepEqual(sent, ["/run/notify: RELOADING=1 | STATUS=reads its config"]);
  });

  it("is nothing where nobody has said where to", () => {
    const connect = (): never => assert.fail("connected");
    const environment = { socket: null, patience: 1_000 };
    const supervisor = createSupervisor({ environment, failed: assert.fail, connect });
    supervisor.ready("takes calls");
    supervisor.stopping();
    assert.equal(supervisor.patience, null);
  });

  it("is missed once in the log when it cannot be sent, and again only after it could", async () => {
    let why: string | null = "gone";
    const { supervisor, failures } = makeSupervisor({ fails: () => why });
    const answers = ["gone", "gone", null, "gone again"];
    for (const answer of answers) {
      why = answer;
      supervisor.alive();
      await turn();
    }
    assert.deepEqual(failures, ["gone", "gone again"]);
  });
});

describe("a reload", () => {
  const taken = { kind: "reloaded", changes: [], needsRestart: [], problems: [] } as const;

  it("is told when it begins and when it is over", async () => {
    const { supervisor, sent } = makeSupervisor();
    const reload = tellReloads(async () => taken, supervisor);
    assert.equal(await reload(), taken);
    assert.equal(sent.length, 2);
    assert.match(sent[0] ?? "", /RELOADING=1/);
    assert.match(sent[1] ?? "", /READY=1 \| STATUS=runs with the newest config$/);
  });

  it("that is refused, or wants a restart, ends with a status that says so", async () => {
    const { supervisor, sent } = makeSupervisor();
    await tellReloads(async () => ({ kind: "refused", reason: "bad", problems: [] }), supervisor)();
    await tellReloads(async () => ({ ...taken, needsRestart: ["admin.listen", "outbox.path"] }), supervisor)();
    assert.match(sent[1] ?? "", /STATUS=runs with the previous config: the new one was refused \(bad\)$/);
    assert.match(
      sent[3] ?? "",
      /STATUS=runs with the newest config, but admin\.listen, outbox\.path only after a restart$/,
    );
  });

  it("that is asked for while another one runs makes one of both", async () => {
    const { supervisor, sent } = makeSupervisor();
    const reload = tellReloads(async () => taken, supervisor);
    await Promise.all([reload(), reload()]);
    assert.equal(sent.length, 2);
  });

  it("that breaks leaves systemd with a daemon that runs", async () => {
    const { supervisor, sent } = makeSupervisor();
    await assert.rejects(tellReloads(() => Promise.reject(new Error("a bug")), supervisor)(), /a bug/);
    assert.match(sent.at(-1) ?? "", /READY=1/);
  });
});

describe("a migration", () => {
  it("asks for two minutes a step, and more for an outbox that takes long to write", () => {
    const { sent } = tellAll({ step: 2, of: 4, bytes: 0 }, { step: 3, of: 4, bytes: 1_000 * MB });
    assert.deepEqual(sent, [
      "/run/notify: EXTEND_TIMEOUT_USEC=120000000 | STATUS=upgrading the outbox: step 2 of 4",
      "/run/notify: EXTEND_TIMEOUT_USEC=620000000 | STATUS=upgrading the outbox: step 3 of 4",
    ]);
  });

  it("says which copy it keeps; the log has a line for each", () => {
    const now = { step: 3, of: 4, bytes: 0 };
    const { sent, logged } = tellAll({ ...now, copy: "/var/x.db.schema-2" }, now);
    const status = sent.map((text) => text.split("STATUS=")[1]);
    assert.deepEqual(status, [
      "copying the outbox before the upgrade: /var/x.db.schema-2",
      "upgrading the outbox: step 3 of 4",
    ]);
    assert.deepEqual(logged, [
      ["copying_outbox", { to: "/var/x.db.schema-2" }],
      ["migrating", { step: 3, of: 4 }],
    ]);
  });
});

function tellAll(...steps: readonly MigrationStep[]) {
  const { supervisor, sent } = makeSupervisor();
  const logged: unknown[] = [];
  const migrating = tellMigration(supervisor, { daemon: (what, fields) => logged.push([what, fields]) });
  for (const step of steps) migrating(step);
  return { sent, logged };
}

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

/** A watchdog that waits for so long, and daemon of which a test says how it is. `fed`: when, in seconds since the start. */
function startWatchdog(patience: number | null = 60_000) {
  const clock = createFalseClock();
  const start = clock.now();
  const fed: number[] = [];
  const told: string[] = [];
  const state = { store: async () => true, stuckLoops: [] as string[] };
  const stopping = new AbortController();
  const ended = feedWatchdog(
    {
      clock,
      supervisor: { patience, alive: () => fed.push((clock.now() - start) / 1_000) },
      vitals: (): Vitals => ({ store: state.store(), stuckLoops: state.stuckLoops }),
      report: { daemon: (what, fields) => told.push(`${what} ${fields.what ?? JSON.stringify(fields.after)}`) },
    },
    stopping.signal,
  );
  return { clock, fed, told, state, ended, stop: () => stopping.abort() };
}

describe("the watchdog", () => {
  it("is fed at half of the time that it waits", async () => {
    const w = startWatchdog();
    await w.clock.advance("2m");
    assert.deepEqual(w.fed, [0, 30, 60, 90, 120]);
    assert.deepEqual(w.told, []);
  });

  it("is not fed while the store says no, and at once when it does not any more", async () => {
    const w = startWatchdog();
    await w.clock.advance("10s");
    w.state.store = async () => false;
    await w.clock.advance("1m");
    assert.deepEqual(w.fed, [0]);
    w.state.store = async () => true;
    await w.clock.advance("31s");
    assert.deepEqual(w.fed, [0, 71, 101]);
    assert.deepEqual(w.told, ["stuck the store", 'unstuck {"ms":41000}']);
  });

  it("is not fed while the store does not answer at all", async () => {
    const w = startWatchdog();
    await w.clock.advance("10s");
    w.state.store = () => new Promise(() => {});
    await w.clock.advance("1h");
    assert.deepEqual(w.fed, [0]);
    assert.deepEqual(w.told, ["stuck the store"]);
  });

  it("is not fed while a loop does not come round; all that is stuck is named", async () => {
    const w = startWatchdog();
    await w.clock.advance("10s");
    Object.assign(w.state, { stuckLoops: ["crm", "lake"], store: async () => false });
    await w.clock.advance("1h");
    assert.deepEqual(w.fed, [0]);
    assert.deepEqual(w.told, ["stuck the store, the loop of crm, the loop of lake"]);
  });

  it("is left alone when nobody wants to hear of it, and after the end", async () => {
    const without = startWatchdog(null);
    await without.ended;
    assert.deepEqual(without.fed, []);
    const w = startWatchdog();
    await w.clock.advance("30s");
    w.stop();
    await w.ended;
    await w.clock.advance("1h");
    assert.deepEqual(w.fed, [0, 30]);
  });

  it("looks more often when it does not wait long", async () => {
    const w = startWatchdog(1_000);
    w.state.store = async () => w.clock.now() % 2 === 0;
    await w.clock.advance("1s");
    assert.deepEqual(w.fed, [0, 0.5, 1]);
    w.state.store = async () => false;
    await w.clock.advance("1s");
    w.state.store = async () => true;
    await w.clock.advance("150ms");
    assert.deepEqual(w.fed.slice(3), [2.125]);
  });
});
