import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { MigrationStep } from "../../../src/model/supervisor.ts";
import { GB, MB } from "../../../src/model/units.ts";
import { beginFile } from "../../../src/runtime/new-file.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { type OutboxWorld, openOutbox } from "../../../src/store/sqlite/files.ts";
import { type Step, unfinishedStep } from "../../../src/store/sqlite/migrate.ts";
import { migrate, STEPS } from "../../../src/store/sqlite/migrations.ts";
import { SLOW } from "../../slow.ts";
import { AMPLE } from "../harness.ts";
import { ALL_ONCE, fillTried, largeStep, marksIn, NEXT, PAGES, ROWS } from "./large-step.ts";

const PRESENT = STEPS.length;

type Place = AsyncDisposable & {
  readonly path: string;
  /** Opens the outbox by the version after this one, or as it is told. */
  open(more?: Partial<OutboxWorld>): Promise<Database>;
  files(): Promise<readonly string[]>;
};

/** A folder with an outbox of the present schema, and rows in it. */
async function makePlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-migrate-"));
  const path = join(folder, "fairlead.db");
  const db = await openOutbox(path);
  fillTried(db);
  db.close();
  return {
    path,
    open: (more = {}) =>
      openOutbox(path, { disk: AMPLE.disk, freeDisk: 0, beginFile, steps: [...STEPS, largeStep()], ...more }),
    files: async () => (await readdir(folder)).sort(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** The step fails before this page, as a machine would that loses its power there. */
function failingAt(page: number): readonly Step[] {
  const step = largeStep((nth) => {
    if (nth === page) throw new Error(`no power at page ${nth}`);
  });
  return [...STEPS, step];
}

describe("a large step of a migration", () => {
  it("goes over all rows once, page by page, and leaves nothing behind", async () => {
    await using place = await makePlace();
    const db = await place.open();
    assert.deepEqual(marksIn(db), ALL_ONCE);
    db.close();
    assert.deepEqual(await place.files(), ["fairlead.db", `fairlead.db.schema-${PRESENT}`]);
  });

  for (let page = 1; page <= PAGES; page += 1) {
    it(`that ends before page ${page} goes on there, and touches no row twice`, async () => {
      await using place = await makePlace();
      await assert.rejects(place.open({ steps: failingAt(page) }), new RegExp(`no power at page ${page}`));
      const shell = await openDatabase(place.path);
      const { marks, over } = marksIn(shell);
      assert.equal(over, false);
      assert.equal(marks.filter((mark) => mark === 1).length, Math.min((page - 1) * 10, ROWS));
      shell.close();
      const db = await place.open();
      assert.deepEqual(marksIn(db), ALL_ONCE);
      db.close();
    });
  }

  it("that ends again and again is over at last", async () => {
    await using place = await makePlace();
    // Each start does one page more.
    for (let start = 1; start < PAGES; start += 1)
      await assert.rejects(place.open({ steps: failingAt(2) }), /no power/);
    const db = await place.open();
    assert.deepEqual(marksIn(db), ALL_ONCE);
    db.close();
  });

  it("that ends before its first transaction begins anew", async () => {
    await using place = await makePlace();
    const migrating = (): void => {
      throw new Error("no power");
    };
    await assert.rejects(place.open({ migrating, beginFile: undefined }), /no power/);
    const db = await place.open();
    assert.deepEqual(marksIn(db), ALL_ONCE);
    db.close();
  });

  it("is gone on with when its process was killed in the middle", SLOW, async () => {
    await using place = await makePlace();
    await killAt(place.path, 4);
    const shell = await openDatabase(place.path);
    assert.equal(unfinishedStep(shell)?.step, NEXT);
    assert.equal(marksIn(shell).marks.filter((mark) => mark === 1).length, 30);
    shell.close();
    const db = await place.open();
    assert.deepEqual(marksIn(db), ALL_ONCE);
    db.close();
  });

  it("that was begun is refused by a Fairlead that does not know it", async () => {
    await using place = await makePlace();
    await assert.rejects(place.open({ steps: failingAt(3), beginFile: undefined }), /no power/);
    await assert.rejects(place.open({ steps: STEPS }), {
      code: "schema_newer",
      message: new RegExp(`its schema is version ${NEXT}, and this Fairlead knows up to ${PRESENT}; `),
    });
  });

  it("is told before it begins and at each percent, so that nobody takes it for a start that hangs", async () => {
    await using place = await makePlace();
    const told: MigrationStep[] = [];
    const db = await place.open({ migrating: (now) => told.push(now) });
    db.close();
    const [copy, begin, ...shares] = told.map(({ bytes, ...now }) => ({ ...now, sized: bytes > 0 }));
    const step = { step: NEXT, of: NEXT, sized: true };
    assert.deepEqual(copy, { ...step, copy: `${place.path}.schema-${PRESENT}` });
    assert.deepEqual(begin, step);
    const percents = shares.map(({ share = -1 }) => Math.round(share * 100));
    assert.deepEqual(percents, [0, 10, 21, 31, 42, 52, 63, 73, 84, 94]);
  });
});

describe("the copy that is kept before a large step", () => {
  it("is the outbox as it was, whole, for its own user only", async () => {
    await using place = await makePlace();
    (await place.open()).close();
    const kept = `${place.path}.schema-${PRESENT}`;
    assert.equal(statSync(kept).mode & 0o777, 0o600);
    const copy = await openDatabase(kept);
    assert.equal(copy.pragma("user_version", { simple: true }), PRESENT);
    assert.deepEqual(copy.pragma("integrity_check"), [{ integrity_check: "ok" }]);
    assert.equal(copy.prepare("SELECT count(*) FROM tried WHERE state = 'waiting'").pluck().get(), ROWS);
    copy.close();
  });

  it("is not made for steps that rewrite nothing, nor for a new outbox", async () => {
    await using place = await makePlace();
    await rm(place.path);
    const old = await openDatabase(place.path);
    migrate(old, PRESENT - 1);
    old.close();
    (await place.open({ steps: STEPS })).close();
    assert.deepEqual(await place.files(), ["fairlead.db"]);
    await rm(place.path);
    (await place.open()).close();
    assert.deepEqual(await place.files(), ["fairlead.db"]);
  });

  it("is not made again of what is half done", async () => {
    await using place = await makePlace();
    await assert.rejects(place.open({ steps: failingAt(5) }), /no power/);
    const kept = `${place.path}.schema-${PRESENT}`;
    const before = statSync(kept, { bigint: true }).mtimeNs;
    (await place.open()).close();
    assert.equal(statSync(kept, { bigint: true }).mtimeNs, before);
  });

  it("needs room: without it nothing is touched, and the message says how to go on", async () => {
    await using place = await makePlace();
    const disk = { ...AMPLE.disk, space: async () => ({ free: 64 * MB, total: GB }) };
    await assert.rejects(place.open({ disk, freeDisk: 64 * MB }), (error: Error & { code: string }) => {
      assert.equal(error.code, "no_room_for_copy");
      const kept = `${place.path}.schema-${PRESENT}`;
      assert.ok(
        error.message.includes(`(schema ${PRESENT} to ${NEXT}), and the copy that is kept first, ${kept}, needs `),
      );
      assert.match(error.message, /64MB are free there, of which outbox\.freeDisk spares 64MB; make room, or copy it/);
      assert.match(error.message, /then start once with fairlead serve --no-copy$/);
      return true;
    });
    const shell = await openDatabase(place.path);
    assert.equal(shell.pragma("user_version", { simple: true }), PRESENT);
    shell.close();
    const db = await place.open({ disk, freeDisk: 64 * MB, beginFile: undefined });
    assert.deepEqual(marksIn(db), ALL_ONCE);
    db.close();
    assert.deepEqual(await place.files(), ["fairlead.db"]);
  });

  it("is named to whoever goes back to the version before", async () => {
    await using place = await makePlace();
    (await place.open()).close();
    const size = async (path: string): Promise<number> => (existsSync(path) ? statSync(path).size : 0);
    const kept = `${place.path}.schema-${PRESENT}`;
    await assert.rejects(place.open({ steps: STEPS, disk: { ...AMPLE.disk, size } }), {
      code: "schema_newer",
      message:
        `cannot open outbox ${place.path}: its schema is version ${NEXT}, and this Fairlead knows up to ${PRESENT}; ` +
        "use the newer Fairlead that wrote it, or a backup from before the upgrade: " +
        `${kept} is what was kept before it (fairlead restore --force ${kept})`,
    });
  });
});

/** Another process brings the outbox up to date, and is killed before this page. */
async function killAt(path: string, page: number): Promise<void> {
  const script = fileURLToPath(new URL("../../fixtures/migrate-slowly.ts", import.meta.url));
  const args = typeof Bun === "undefined" ? ["run", "-A", "--no-check", script] : [script];
  const child = spawn(process.execPath, [...args, path, String(page)], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === `page ${page}`) break;
  }
  child.kill("SIGKILL");
  await exited;
}
