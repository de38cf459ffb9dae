import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { lookAtStore } from "../../src/cli/outbox-file.ts";
import { logOf } from "../../src/store/sqlite/files.ts";
import { SCRATCH } from "../scratch.ts";
import { makeEntry } from "../store/make.ts";
import { damagedLog } from "../store/sqlite/damaged-log.ts";
import { startOutbox } from "../store/sqlite/start.ts";
import { makePlace, query } from "./outbox.ts";

describe("the outbox of a killed daemon, looked at by fairlead doctor", () => {
  it("is damaged where its log is, and whole where that is as it was written", async () => {
    await using o = await startOutbox();
    for (let n = 0; n < 20; n += 1) await o.s.append(makeEntry({ messageId: `m${n}` }));
    const folder = await mkdtemp(join(SCRATCH, "fairlead-look-"));
    const path = join(folder, "fairlead.db");
    await copyFile(o.path, path);
    const log = await readFile(logOf(o.path));
    await writeFile(logOf(path), log);
    const damage = async () => {
      const { facts } = await lookAtStore(path, "usual");
      return facts.kind === "read" ? facts.damage : facts;
    };
    assert.deepEqual(await damage(), []);
    await writeFile(logOf(path), damagedLog(log));
    assert.match(String(await damage()), /fairlead\.db-wal is damaged: at least \d+ commits after that place are lost/);
    await rm(folder, { recursive: true });
  });
});

describe("a damaged outbox, looked at by fairlead doctor", () => {
  it("has pages that nothing refers to", async () => {
    await using p = await makePlace();
    await p.s.store().close();
    await query(p.outbox, (db) => {
      db.unsafeMode();
      db.pragma("writable_schema = ON");
      db.exec("DELETE FROM sqlite_schema WHERE name = 'tried_failed'");
    });
    for (const depth of ["usual", "full"] as const) {
      const { facts } = await lookAtStore(p.outbox, depth);
      assert.match(facts.kind === "read" ? String(facts.damage) : facts.kind, /Page \d+: never used/);
    }
    await rm(p.outbox);
    await p.s.reopen();
  });
});
