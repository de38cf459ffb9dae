// What becomes of acknowledged calls when somebody does something to the outbox's files while the daemon runs.
import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, rename, rm, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

type Harmed = AsyncDisposable & {
  readonly w: World;
  readonly outbox: string;
  /** The messageIds of calls that were answered 200. */
  readonly acknowledged: Set<string>;
  daemon: Daemon;
  /** Sends a call; answers its status, and the code of a refusal. */
  call(messageId: string): Promise<readonly [status: number, code: string | undefined, retryAfter: string | null]>;
  /** Kills the daemon if it runs, starts it again, and waits until all that was acknowledged is delivered. */
  deliverAll(): Promise<void>;
};

/** A daemon whose destination is paused, with acknowledged calls in an outbox to which something is then done. */
async function startHarmed(): Promise<Harmed> {
  const receiver = startReceiver();
  const w = await makeWorld();
  await mkdir(w.path("data"));
  const outbox = w.path("data/fairlead.db");
  await w.write(
    "config.yaml",
    JSON.stringify({ ...JSON.parse(makeConfig({ url: receiver.url })), outbox: { path: outbox } }),
  );
  const h: Harmed = {
    ...{ w, outbox, acknowledged: new Set<string>(), daemon: await w.serve() },
    async call(messageId) {
      const response = await h.daemon.call("/v1/track", { userId: "u1", event: "E", messageId });
      const { code } = (await response.json()) as { code?: string };
      if (response.status === 200) h.acknowledged.add(messageId);
      return [response.status, code, response.headers.get("retry-after")];
    },
    async deliverAll() {
      h.daemon.process.kill("SIGKILL");
      await h.daemon.process.exit;
      h.daemon = await w.serve();
      await steer(h.daemon, "resume");
      await receiver.all(h.acknowledged);
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
  await steer(h.daemon, "pause");
  for (let n = 0; n < 20; n += 1) assert.equal((await h.call(`before${n}`))[0], 200);
  return h;
}

async function steer({ admin }: Daemon, what: "pause" | "resume"): Promise<void> {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
  assert.equal((await fetch(`${admin}/api/destinations/crm/${what}`, init)).status, 200);
}

/** What `status --json` and `doctor --json` say that is looked at here. */
type Said = {
  readonly outbox: { readonly gone: { readonly what: string } };
  readonly findings: readonly { readonly check: string; readonly level: string; readonly code: string }[];
};

async function json(
  w: World,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly said: Said }> {
  const run = w.run([...args, "--json", "--config", "config.yaml"]);
  const { code } = await run.exit;
  return { code, said: JSON.parse(run.out.join("\n") || "null") };
}

/** Clients and load balancers are told, and the log says what to do. */
async function assertRefused({ daemon, call }: Harmed, what: string): Promise<void> {
  assert.deepEqual(await call("refused"), [503, "outbox_gone", "10"]);
  const ready = await fetch(`${daemon.admin}/readyz`);
  assert.deepEqual([ready.status, ((await ready.json()) as { code: string }).code], [503, "outbox_gone"]);
  assert.match(
    await daemon.process.line(/store\.gone/),
    new RegExp(`level=error .*what=${what} .*since=.*fairlead backup FILE`),
  );
}

/** So is whoever asks a command, or watches the metrics. */
async function assertShown({ w, daemon }: Harmed, what: string): Promise<void> {
  const [status, doctor] = await Promise.all([
    json(w, "status", "--admin", daemon.admin),
    json(w, "doctor", "--admin", daemon.admin),
  ]);
  assert.equal(status.said.outbox.gone.what, what);
  assert.equal(doctor.code, 1);
  const found = doctor.said.findings.find(({ check }) => check === "store");
  assert.deepEqual([found?.level, found?.code], ["error", "outbox_gone"]);
  assert.match(await (await fetch(`${daemon.admin}/metrics`)).text(), /^fairlead_store_gone 1$/m);
}

/** What the log and `doctor` tell an operator to do. */
async function assertRescued(h: Harmed): Promise<void> {
  const { w, daemon, outbox } = h;
  const backup = w.run(["backup", "rescued.db", "--config", "config.yaml", "--admin", daemon.admin]);
  assert.equal((await backup.exit).code, 0, backup.err.join("\n"));
  assert.match(backup.out.join("\n"), /Copied the data that the daemon still has .*run fairlead restore --force /s);
  daemon.process.kill("SIGTERM");
  assert.equal((await daemon.process.exit).code, 0);
  await mkdir(dirname(outbox), { recursive: true });
  const restore = w.run(["restore", "--force", "rescued.db", "--config", "config.yaml"]);
  assert.equal((await restore.exit).code, 0, restore.err.join("\n"));
  await h.deliverAll();
  assert.deepEqual(
    (await readdir(w.folder)).filter((name) => name.startsWith(".fairlead-copy")),
    [],
  );
}

const HARMS: Readonly<Record<string, readonly [what: string, harm: (outbox: string) => Promise<void>]>> = {
  "rm fairlead.db*": [
    "removed",
    async (outbox) => {
      for (const name of await readdir(dirname(outbox))) await rm(join(dirname(outbox), name));
    },
  ],
  "the removal of its folder": ["removed", (outbox) => rm(dirname(outbox), { recursive: true })],
  "truncate -s0": ["truncated", (outbox) => truncate(outbox, 0)],
  "a copy in its place": [
    "replaced",
    async (outbox) => {
      await copyFile(outbox, `${outbox}.copy`);
      await rename(`${outbox}.copy`, outbox);
    },
  ],
};

describe("an outbox under a running daemon", () => {
  for (const [name, [what, harm]] of Object.entries(HARMS)) {
    it(`takes nothing more after ${name}, and says how all that it took can be rescued`, PATIENT, async () => {
      await using h = await startHarmed();
      await harm(h.outbox);
      await assertRefused(h, what);
      await assertRescued(h);
    });
  }

  it("goes on by itself when its folder was renamed and is put back", PATIENT, async () => {
    await using h = await startHarmed();
    const folder = dirname(h.outbox);
    await rename(folder, `${folder}-away`);
    await assertRefused(h, "removed");
    await assertShown(h, "removed");
    await rename(`${folder}-away`, folder);
    assert.equal((await h.call("after"))[0], 200);
    await h.daemon.process.line(/store\.found/);
    assert.equal((await fetch(`${h.daemon.admin}/readyz`)).status, 200);
    await h.deliverAll();
  });

  it("loses nothing to a kill after its log alone was removed", PATIENT, async () => {
    await using h = await startHarmed();
    await rm(`${h.outbox}-wal`);
    assert.equal((await h.call("after"))[0], 200);
    await h.daemon.process.line(/level=error .*store\.log_renewed/);
    await h.deliverAll();
  });

  it("holds its lock again after that was removed: no other daemon starts", PATIENT, async () => {
    await using h = await startHarmed();
    await rm(`${h.outbox}.lock`);
    await h.daemon.process.line(/level=error .*store\.lock_renewed/);
    const second = h.w.run(["serve", "--config", "config.yaml"]);
    assert.equal((await second.exit).code, 1);
    assert.match(second.err.join("\n"), /another Fairlead \(pid \d+\) has it open/);
  });
});
