import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "../../binary/world.ts";
import { noise } from "../../model/make.ts";
import { createChance } from "../../simulate/random.ts";
import { type Disk, makeDisk } from "./disk.ts";

const NOWHERE = "http://127.0.0.1:9/hooks";
const OUTBOX = "disk/fairlead.db";
const CONFIG = ["--config", "config.yaml"];

async function makePoweredWorld(): Promise<{ w: World; disk: Disk }> {
  const w = await makeWorld();
  await w.write(
    "config.yaml",
    JSON.stringify({ ...JSON.parse(makeConfig({ url: NOWHERE })), outbox: { path: OUTBOX } }),
  );
  return { w, disk: makeDisk({ within: w.folder }) };
}

/** What is in an outbox, which has to be whole. */
async function readStore(path: string) {
  const db = await openDatabase(path);
  try {
    assert.deepEqual(db.pragma("integrity_check"), [{ integrity_check: "ok" }], path);
    const list = (sql: string): readonly string[] => db.prepare<[], string>(sql).pluck().all();
    const isOutbox = list("SELECT name FROM sqlite_schema WHERE name = 'deliveries'").length > 0;
    const schema = Number(db.pragma("user_version", { simple: true }));
    const waiting = isOutbox
      ? list("SELECT event || '-' || destination FROM deliveries WHERE state = 'waiting' ORDER BY 1")
      : [];
    return { schema, waiting };
  } finally {
    db.close();
  }
}

/** Cuts the power while the first starts make the outbox. */
export async function cutCreation(seed: number): Promise<void> {
  const chance = createChance(seed);
  const { w, disk } = await makePoweredWorld();
  await using _ = w;
  for (let cuts = chance.pick([1, 2, 3]); cuts > 0; cuts -= 1) {
    disk.cutIn(1 + chance.below(60));
    const process = w.run(["serve", ...CONFIG], { env: disk.env });
    await process.line(/^ingest /).catch(() => null);
    disk.cut();
    process.kill("SIGKILL");
    assert.equal((await process.exit).signal, "SIGKILL", process.err.join("\n"));
    disk.powerUp(chance);
  }
  const daemon = await w.serve({ env: disk.env });
  daemon.process.kill("SIGTERM");
  assert.equal((await daemon.process.exit).code, 0);
  assert.deepEqual(await readStore(w.path(OUTBOX)), { schema: SCHEMA_VERSION, waiting: [] });
}

/** An outbox as a killed daemon leaves it, and a backup of another, to be restored over it. */
export type Stores = AsyncDisposable & {
  readonly folder: string;
  /** How many writes a restore takes. */
  readonly writes: number;
};

export async function makeStores(): Promise<Stores> {
  const w = await makeWorld();
  for (const [name, count] of [
    ["backup", 30],
    ["outbox", 50],
  ] as const) {
    mkdirSync(w.path("disk"), { recursive: true });
    const config = { ...JSON.parse(makeConfig({ url: NOWHERE })), outbox: { path: `${name}.db` } };
    await w.write("config.yaml", JSON.stringify(config));
    const daemon = await w.serve();
    await fill(daemon, { name, count });
    daemon.process.kill(name === "backup" ? "SIGTERM" : "SIGKILL");
    await daemon.process.exit;
  }
  const { disk, restore, ...other } = await makeRestore(w.folder);
  await using _ = other.w;
  assert.equal((await restore(disk.env)).code, 0);
  return { folder: w.folder, writes: disk.writes(), [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

async function fill(daemon: Daemon, { name, count }: { readonly name: string; readonly count: number }): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) {
    const call = { userId: name, event: "E", properties: { text: noise(3_000, nth) } };
    assert.equal((await daemon.call("/v1/track", call)).status, 200);
  }
}

async function makeRestore(folder: string) {
  const { w, disk } = await makePoweredWorld();
  for (const end of ["", "-wal", "-shm"]) copyFileSync(join(folder, `outbox.db${end}`), w.path(`${OUTBOX}${end}`));
  copyFileSync(join(folder, "backup.db"), w.path("backup.db"));
  const restore = async (env: Disk["env"]) => {
    const process = w.run(["restore", "--force", "backup.db", ...CONFIG], { env });
    return { ...(await process.exit), said: process.err.join("\n") };
  };
  return { w, disk, restore };
}

/** Cuts the power while a backup is restored: there is the one outbox or the other, and the old one is kept. */
export async function cutRestore(seed: number, { folder, writes }: Stores): Promise<void> {
  const chance = createChance(seed);
  const { w, disk, restore } = await makeRestore(folder);
  await using _ = w;
  // What changes names comes last, and is little. The power may also go just after all is said to be done.
  disk.cutIn(chance.happens(0.5) ? 1 + chance.below(writes) : writes + 1 - chance.below(12));
  const { code, signal, said } = await restore(disk.env);
  assert.ok(code === 0 || signal === "SIGKILL", `${code} ${said}`);
  const about = `seed ${seed}, ended by ${signal ?? code} ${disk.moment()}, found: ${disk.powerUp(chance)}`;
  const names = readdirSync(disk.folder);
  assert.ok(names.includes("fairlead.db"), `there is no outbox; ${about}`);
  const { waiting } = await readStore(w.path(OUTBOX));
  assert.ok(waiting.length === 30 || (waiting.length === 50 && code !== 0), `${waiting.length} wait; ${about}`);
  const [aside] = names.filter((name) => /\.before-restore-[^-]*$/.test(name));
  if (waiting.length === 30) {
    assert.ok(aside, `the old one is gone; ${about}`);
    assert.equal((await readStore(join(disk.folder, aside))).waiting.length, 50, about);
  }
  const again = await restore({});
  assert.equal(again.code, 0, again.said);
  assert.equal((await readStore(w.path(OUTBOX))).waiting.length, 30, about);
}
