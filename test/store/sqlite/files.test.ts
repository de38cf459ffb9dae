// How much of the disk the outbox takes: the sizes of its real files.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { describe, it } from "node:test";
import type { Entry } from "../../../src/model/ports.ts";
import type { Disk } from "../../../src/model/space.ts";
import { GB, KB, MB } from "../../../src/model/units.ts";
import { LARGEST_LOG, logOf } from "../../../src/store/sqlite/files.ts";
import { SLOW } from "../../slow.ts";
import { AMPLE } from "../harness.ts";
import { delivered, expired, makeLargeEntries } from "../make.ts";
import { openSqlite, startOutbox, type TestOutbox } from "./start.ts";

const BODY = 48 * KB;
/** What a step may write before the log begins anew: 1,000 pages, and the last commit. */
const USUAL_LOG = 12 * MB;

async function size(path: string): Promise<number> {
  return (await stat(path)).size;
}

/** So many, in commits of 20. */
async function append(o: TestOutbox, count: number, from = 0): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (let n = 0; n < count; n += 20) {
    const entries: readonly Entry[] = makeLargeEntries(20, BODY, { ownId: true });
    kinds.push(...(await o.s.append(...entries.map((one) => ({ ...one, source: `s${from + n}` })))));
  }
  return kinds;
}

async function settleAll(o: TestOutbox, end = delivered): Promise<void> {
  for (let waiting = await o.s.read(); waiting.length > 0; waiting = await o.s.read()) {
    await Promise.all(waiting.map((one) => o.s.store().settle(one, end(one, o.s.clock.now()))));
  }
}

describe("the write-ahead log", () => {
  it("does not grow with the backlog", SLOW, async () => {
    await using o = await startOutbox();
    await append(o, 700);
    assert.ok((await size(o.path)) > 20 * MB);
    assert.ok((await size(logOf(o.path))) < USUAL_LOG, `${await size(logOf(o.path))} bytes`);
    await settleAll(o);
    for (let more = true; more; ) {
      const all = o.s.clock.now() + 1;
      more = (await o.s.store().prune({ delivered: all, failed: all, seen: all }, 500)) !== null;
    }
    assert.ok((await size(logOf(o.path))) < LARGEST_LOG, `${await size(logOf(o.path))} bytes`);
    assert.ok((await size(o.path)) < 2 * MB, `${await size(o.path)} bytes`);
  });

  it("grows while another program reads, no further than maxSize, and is short again afterwards", SLOW, async () => {
    const disk: Disk = {
      space: async () => ({ free: 100 * GB, total: 100 * GB }),
      // At once: the false clock does not wait for the machine.
      size: async (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0,
      read: async () => new Uint8Array(),
      mark: AMPLE.disk.mark,
      alias: AMPLE.disk.alias,
    };
    await using o = await startOutbox((place) => openSqlite({ ...place, disk }));
    const { s } = o;
    s.setMaxSize(150 * MB);
    o.shell.exec("BEGIN; SELECT count(*) FROM segments");
    let kinds: readonly string[] = [];
    for (let n = 0; n < 40 && !kinds.includes("store_full"); n += 1) {
      kinds = await append(o, 100, n);
      await s.clock.advance("5s");
    }
    assert.ok(kinds.includes("store_full"), "it was full at last");
    const [log, file] = [await size(logOf(o.path)), await size(o.path)];
    assert.ok(log > LARGEST_LOG && log + file < 170 * MB, `${log} and ${file} bytes`);
    assert.equal((await s.store().health.state()).full, "maxSize");

    o.shell.exec("COMMIT");
    // One commit has all of it written to the file, and the next begins it anew.
    for (let n = 0; n < 2; n += 1) {
      await s.clock.advance("1s");
      await s.store().health.probe();
    }
    await s.clock.advance("5s");
    assert.ok((await size(logOf(o.path))) <= LARGEST_LOG);
    assert.equal((await s.store().health.state()).full, null);
    assert.deepEqual(new Set(await append(o, 20)), new Set(["accepted"]));
    assert.deepEqual(
      s.told.map(({ what }) => what).filter((what) => /^store(Full|Open)$/.test(what)),
      ["storeFull", "storeOpen"],
    );
  });
});

describe("the outbox's file", () => {
  it("gets short again in small steps, however much each of them removes", SLOW, async () => {
    await using o = await startOutbox();
    await append(o, 500);
    await settleAll(o, expired);
    const before = await size(o.path);
    assert.ok(before > 20 * MB);
    const all = o.s.clock.now() + 1;
    let steps = 0;
    for (; (await o.s.store().prune({ delivered: all, failed: all, seen: 0 }, 500)) !== null; steps += 1) {}
    // Two megabytes a step, and not all of it in the one that removed the last row.
    assert.ok(steps > before / (3 * MB), `${steps} steps`);
    const after = await size(o.path);
    assert.ok(after < 2 * MB, `${after} of ${before} bytes are left`);
  });

  it("keeps a little room, as what comes next would only make it grow again", async () => {
    await using o = await startOutbox();
    await append(o, 20);
    await settleAll(o);
    const all = o.s.clock.now() + 1;
    for (let more = true; more; )
      more = (await o.s.store().prune({ delivered: all, failed: 0, seen: 0 }, 500)) !== null;
    const free = Number(o.shell.pragma("freelist_count", { simple: true }));
    assert.ok(free > 100 && free <= 256, `${free} pages`);
  });
});
