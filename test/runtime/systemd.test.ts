import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MigrationStep } from "../../src/model/supervisor.ts";
import { MB } from "../../src/model/units.ts";
import { createSupervisor, tellMigration, tellReloads } from "../../src/runtime/systemd.ts";

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
      "/run/notify: STOPPING=1 | STATUS=takes no more calls, and finishes what runs",
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
    assert.match(sent[1] ?? "", /READY=1 \| STATUS=runs by the newest config$/);
  });

  it("that is refused, or wants a restart, ends with a status that says so", async () => {
    const { supervisor, sent } = makeSupervisor();
    await tellReloads(async () => ({ kind: "refused", reason: "bad", problems: [] }), supervisor)();
    await tellReloads(async () => ({ ...taken, needsRestart: ["admin.listen", "outbox.path"] }), supervisor)();
    assert.match(sent[1] ?? "", /STATUS=runs by the config of before: the new one was refused \(bad\)$/);
    assert.match(
      sent[3] ?? "",
      /STATUS=runs by the newest config, but admin\.listen, outbox\.path only after a restart$/,
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
      "/run/notify: EXTEND_TIMEOUT_USEC=120000000 | STATUS=brings the outbox up to date: step 2 of 4",
      "/run/notify: EXTEND_TIMEOUT_USEC=620000000 | STATUS=brings the outbox up to date: step 3 of 4",
    ]);
  });

  it("says how far it is in a large step, and which copy it keeps; the log has a line for each but the percents", () => {
    const now = { step: 3, of: 4, bytes: 0 };
    const { sent, logged } = tellAll({ ...now, copy: "/var/x.db.schema-2" }, now, { ...now, share: 0.075 });
    const status = sent.map((text) => text.split("STATUS=")[1]);
    assert.deepEqual(status, [
      "keeps a copy of the outbox before it brings it up to date: /var/x.db.schema-2",
      "brings the outbox up to date: step 3 of 4",
      "brings the outbox up to date: step 3 of 4, 7%",
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
