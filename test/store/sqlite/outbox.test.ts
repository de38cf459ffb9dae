import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Database } from "../../../src/store/sqlite/driver.ts";
import { openOutbox } from "../../../src/store/sqlite/files.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { SCRATCH } from "../../scratch.ts";
import { AMPLE, createFalseReport } from "../harness.ts";

async function makePlace(): Promise<AsyncDisposable & { readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(SCRATCH, "fairlead-outbox-"));
  return { folder, path: join(folder, "fairlead.db"), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

function settings(db: Database): Readonly<Record<string, unknown>> {
  const names = ["auto_vacuum", "journal_mode", "synchronous", "busy_timeout", "journal_size_limit"];
  return Object.fromEntries(names.map((name) => [name, db.pragma(name, { simple: true })]));
}

const FULL = 2;
const INCREMENTAL = 2;

describe("the outbox's file", () => {
  it("is opened so that a commit is on the disk, and that what is pruned can be given back", async () => {
    await using place = await makePlace();
    for (const opening of ["new", "there already"]) {
      const db = await openOutbox(place.path);
      assert.deepEqual(
        settings(db),
        {
          ...{ auto_vacuum: INCREMENTAL, journal_mode: "wal", synchronous: FULL },
          // A daemon that stands still for longer answers nobody; and the log of a burst does not stay on the disk.
          ...{ busy_timeout: 200, journal_size_limit: 67_108_864 },
        },
        opening,
      );
      db.close();
    }
  });

  it("is refused when a newer Fairlead has written it, each time", async () => {
    await using place = await makePlace();
    const newer = await openOutbox(place.path);
    newer.pragma("user_version = 99");
    newer.close();
    await assert.rejects(open(place.path), {
      message:
        `cannot open outbox ${place.path}: its schema is version 99, and this Fairlead knows up to ${SCHEMA_VERSION}; ` +
        "use the newer Fairlead that wrote it, or a backup from before the upgrade",
    });
    // A second time: the first has let go of the lock, and of the file and its log.
    await assert.rejects(open(place.path), /its schema is version 99/);
    assert.deepEqual((await readdir(place.folder)).sort(), ["fairlead.db", "fairlead.db.lock"]);
  });

  it("is refused when it is something else", async () => {
    await using place = await makePlace();
    await writeFile(place.path, "outbox:\n  path: fairlead.db\n".repeat(100));
    await assert.rejects(open(place.path), {
      message:
        `cannot open outbox ${place.path}: file is not a database; it is something else, or its beginning is damaged: ` +
        "restore a backup, or set another outbox.path",
    });
  });

  it("is refused with its path and what to do when a page that is read at the start is damaged", async () => {
    await using place = await makePlace();
    const db = await openOutbox(place.path);
    const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'counts'").pluck().get());
    db.close();
    const file = await readFile(place.path);
    file.fill(0xff, (root - 1) * 4_096, root * 4_096);
    await writeFile(place.path, file);
    const refusal =
      /^Error: cannot open outbox .*fairlead\.db: database disk image is malformed; the file is damaged: stop/;
    await assert.rejects(open(place.path), refusal);
  });

  it("is refused when its folder is not there", async () => {
    await assert.rejects(open("/nowhere/at/all/fairlead.db"), /^Error: cannot open \/nowhere\/at\/all\/fairlead\.db/);
  });
});

function open(path: string): Promise<unknown> {
  const world = { clock: createFalseClock(), report: createFalseReport([]) };
  return openStore({ path, ...AMPLE, pid: 1, ...world });
}
