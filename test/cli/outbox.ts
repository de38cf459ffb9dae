import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Database, openDatabase } from "../../src/store/sqlite/driver.ts";
import { logOf } from "../../src/store/sqlite/files.ts";
import { SCRATCH } from "../scratch.ts";
import { startStore, type TestStore } from "../store/harness.ts";
import { delivered, failed, makeEntries, makeEntry, retried } from "../store/make.ts";
import { damagedLog } from "../store/sqlite/damaged-log.ts";
import { openSqlite, pathIn } from "../store/sqlite/start.ts";
import { beginCommand, type Ended } from "./run.ts";

/** A config and an outbox, for the commands that work on its file. */
export type Place = AsyncDisposable & {
  readonly folder: string;
  readonly outbox: string;
  path(name: string): string;
  /** Its store, which holds the outbox as a daemon does until it is closed. */
  readonly s: TestStore;
  run(...args: readonly string[]): Promise<Ended>;
  files(): Promise<readonly string[]>;
};

/** So many of each, in the outbox of such a place. */
export const HAS = { waiting: 2, delivered: 1, failed: 1, expired: 0 };

/** `outboxPart`: more lines below `outbox:` in the config. */
export async function makePlace(outboxPart = ""): Promise<Place> {
  const s = await startStore(openSqlite);
  const folder = await mkdtemp(join(SCRATCH, "fairlead-place-"));
  const outbox = pathIn(s.folder);
  // The secret is out of reach: whoever copies an outbox need not read it.
  const secret = `"\${file:/nowhere}"`;
  await writeFile(
    join(folder, "config.yaml"),
    `sources: { website: { writeKey: ${secret} } }\noutbox:\n  path: ${outbox}\n${outboxPart}`,
  );
  await s.append(...makeEntries(4, { type: "track" }));
  const [first, second, third] = await s.read();
  if (!first || !second || !third) throw new Error("nothing was stored");
  await s.store().settle(first, delivered(first, s.clock.now()));
  await s.store().settle(second, failed(second, s.clock.now()));
  await s.store().settle(third, retried(third, s.clock.now()));
  return {
    ...{ folder, outbox, s },
    path: (name) => join(folder, name),
    run: (...args) => beginCommand([...args, "--config", join(folder, "config.yaml")]).ended,
    files: async () => (await readdir(folder)).sort(),
    async [Symbol.asyncDispose]() {
      await s[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function query<T>(path: string, run: (db: Database) => T): Promise<T> {
  const db = await openDatabase(path);
  try {
    return run(db);
  } finally {
    db.close();
  }
}

/** As `m1 crm waiting`. */
export function deliveriesIn(path: string): Promise<readonly string[]> {
  const sql = "SELECT message_id || ' ' || destination || ' ' || state FROM deliveries ORDER BY event, destination";
  return query(path, (db) => db.prepare<[], string>(sql).pluck().all());
}

export function schemaOf(path: string, set?: number): Promise<unknown> {
  return query(path, (db) => db.pragma(set === undefined ? "user_version" : `user_version = ${set}`, { simple: true }));
}

/** A backup, and one call more in the outbox since then. No daemon runs. */
export async function makeBackup(): Promise<Place & { readonly backup: string; readonly before: readonly string[] }> {
  const p = await makePlace();
  const backup = p.path("backup.db");
  assert.equal((await p.run("backup", backup)).code, 0);
  await p.s.append(makeEntry({ messageId: "later" }));
  await p.s.store().close();
  return { ...p, backup, before: await deliveriesIn(p.outbox), [Symbol.asyncDispose]: p[Symbol.asyncDispose] };
}

/** As a killed daemon leaves it, on a disk that has changed a byte of its log. Answers that log. */
export async function leaveDamagedLog({ outbox, s }: Place): Promise<Buffer> {
  for (let n = 0; n < 20; n += 1) await s.append(makeEntry({ messageId: `late${n}` }));
  const [file, log] = [await readFile(outbox), damagedLog(await readFile(logOf(outbox)))];
  await s.store().close();
  await writeFile(outbox, file);
  await writeFile(logOf(outbox), log);
  return log;
}

/** The files beside the outbox, as `.lock`, with the time taken out of their names. */
export async function filesOf({ outbox }: Place): Promise<readonly string[]> {
  const names = await readdir(dirname(outbox));
  return names.map((name) => name.replace("fairlead.db", "").replace(/\d{8}T\d{6}Z/, "TIME")).sort();
}

export function keptName(err: string): string {
  return /kept as (\S+)\.$/m.exec(err)?.[1] ?? "";
}
