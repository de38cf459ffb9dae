import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { MigrationStep } from "../../../src/model/daemon.ts";
import { GB, MB } from "../../../src/model/units.ts";
import { beginFile } from "../../../src/runtime/new-file.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { type OutboxWorld, openOutbox } from "../../../src/store/sqlite/files.ts";
import { FIRST_SCHEMA, SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { AMPLE } from "../harness.ts";

/** Two steps, as later versions may have them. */
const STEPS = ["ALTER TABLE tried ADD COLUMN marks INTEGER", "CREATE INDEX tried_marks ON tried (marks)"];
const NEWEST = FIRST_SCHEMA + STEPS.length;

type Place = AsyncDisposable & {
  readonly path: string;
  /** Opens the outbox by a later version, or as it is told. */
  open(more?: Partial<OutboxWorld>): Promise<Database>;
  files(): Promise<readonly string[]>;
};

/** A folder with an outbox of the first schema, and a delivery in it. */
async function makePlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-upgrade-"));
  const path = join(folder, "fairlead.db");
  const open: Place["open"] = (more = {}) =>
    openOutbox(path, { disk: AMPLE.disk, freeDisk: 0, beginFile, steps: STEPS, ...more });
  const db = await open({ steps: [] });
  db.exec(`INSERT INTO tried (event, destination, state, due_at, attempts, stood_still, accepted_at, about, body)
    VALUES (1, 'crm', 'waiting', 5, 1, 0, 1, '["website","track","m","u1"]', '{}')`);
  db.close();
  return {
    ...{ path, open },
    files: async () => (await readdir(folder)).sort(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

function versionOf(db: Database): unknown {
  return db.pragma("user_version", { simple: true });
}

function countRows(db: Database): unknown {
  return db.prepare("SELECT count(*) FROM tried WHERE state = 'waiting'").pluck().get();
}

describe("an outbox of an older schema", () => {
  it("is brought up to date, each step once, and each is reported before it is taken", async () => {
    await using place = await makePlace();
    const told: MigrationStep[] = [];
    const db = await place.open({ migrating: (now) => told.push(now) });
    assert.deepEqual([versionOf(db), countRows(db)], [NEWEST, 1]);
    db.close();
    (await place.open({ migrating: (now) => told.push(now) })).close();
    assert.deepEqual(
      told.map(({ bytes, ...now }) => ({ ...now, sized: bytes > 0 })),
      [
        { step: FIRST_SCHEMA + 1, of: NEWEST, sized: true, copy: `${place.path}.schema-${FIRST_SCHEMA}` },
        { step: FIRST_SCHEMA + 1, of: NEWEST, sized: true },
        { step: NEWEST, of: NEWEST, sized: true },
      ],
    );
  });

  it("stays as it was before a step that fails, and goes on there at the next start", async () => {
    await using place = await makePlace();
    const broken = [STEPS[0] ?? "", `${STEPS[1]}; INSERT INTO nowhere VALUES (1)`];
    await assert.rejects(place.open({ steps: broken }), /no such table: nowhere/);
    const shell = await openDatabase(place.path);
    const index = shell.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'tried_marks'").get();
    assert.deepEqual([versionOf(shell), index], [FIRST_SCHEMA + 1, undefined]);
    shell.close();
    const db = await place.open({ beginFile: undefined });
    assert.deepEqual([versionOf(db), countRows(db)], [NEWEST, 1]);
    db.close();
  });

  it("is refused where only development versions have written it", async () => {
    await using place = await makePlace();
    const db = await openDatabase(place.path);
    db.pragma("user_version = 7");
    db.close();
    await assert.rejects(place.open({ steps: [] }), {
      code: "schema_unsupported",
      message:
        `cannot open outbox ${place.path}: its schema is version 7, of a development version; ` +
        `this Fairlead knows ${FIRST_SCHEMA} and later; set another outbox.path, or move the file away`,
    });
  });
});

describe("the copy that is kept before an upgrade", () => {
  it("is the outbox as it was, whole, for its own user only", async () => {
    await using place = await makePlace();
    (await place.open()).close();
    const kept = `${place.path}.schema-${FIRST_SCHEMA}`;
    assert.equal(statSync(kept).mode & 0o777, 0o600);
    const copy = await openDatabase(kept);
    assert.deepEqual([versionOf(copy), countRows(copy)], [FIRST_SCHEMA, 1]);
    assert.deepEqual(copy.pragma("integrity_check"), [{ integrity_check: "ok" }]);
    copy.close();
  });

  it("is not made of a new outbox, nor of one that is up to date", async () => {
    await using place = await makePlace();
    (await place.open({ steps: [] })).close();
    assert.deepEqual(await place.files(), ["fairlead.db"]);
    await rm(place.path);
    (await place.open()).close();
    assert.deepEqual(await place.files(), ["fairlead.db"]);
  });

  it("needs room: without it nothing is touched, and the message says how to go on", async () => {
    await using place = await makePlace();
    const disk = { ...AMPLE.disk, space: async () => ({ free: 64 * MB, total: GB }) };
    await assert.rejects(place.open({ disk, freeDisk: 64 * MB }), (error: Error & { code: string }) => {
      assert.equal(error.code, "no_room_for_copy");
      const kept = `${place.path}.schema-${FIRST_SCHEMA}`;
      const wanted = `(schema ${FIRST_SCHEMA} to ${NEWEST}), and the copy that is made before that, ${kept}, needs `;
      assert.ok(error.message.includes(wanted), error.message);
      assert.match(
        error.message,
        /64MB are free there, of which outbox\.freeDisk reserves 64MB; make room\. Or copy it/,
      );
      assert.match(error.message, /then start once with fairlead serve --no-copy$/);
      return true;
    });
    const shell = await openDatabase(place.path);
    assert.equal(versionOf(shell), FIRST_SCHEMA);
    shell.close();
    (await place.open({ disk, freeDisk: 64 * MB, beginFile: undefined })).close();
    assert.deepEqual(await place.files(), ["fairlead.db"]);
  });

  it("is named when an older version is started again", async () => {
    await using place = await makePlace();
    (await place.open()).close();
    const size = async (path: string): Promise<number> => (existsSync(path) ? statSync(path).size : 0);
    const kept = `${place.path}.schema-${FIRST_SCHEMA}`;
    await assert.rejects(place.open({ steps: [], disk: { ...AMPLE.disk, size } }), {
      code: "schema_newer",
      message:
        `cannot open outbox ${place.path}: its schema is version ${NEWEST}, and this Fairlead knows up to ${SCHEMA_VERSION}; ` +
        "use the newer Fairlead that wrote it, or a backup from before the upgrade: " +
        `${kept} is the copy from before the upgrade (fairlead restore --force ${kept})`,
    });
  });
});
