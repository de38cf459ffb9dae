import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { logOf } from "../../../src/store/sqlite/files.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { noise } from "../../model/make.ts";
import { SCRATCH } from "../../scratch.ts";
import { AMPLE, createFalseReport, makeAsk, type Told } from "../harness.ts";
import { makeEntry } from "../make.ts";
import { PID, pathIn, startOutbox } from "./start.ts";

const FRAME = 24 + 4_096;

type Found = { readonly waiting: number; readonly told: readonly string[] };

/** The last of twenty commits has one page, or several. */
const LONG = { body: noise(20_000) };

/** What is found after a kill -9 behind twenty commits, when this was done to the log before the next start. */
async function afterKill(harm: (log: string) => Promise<void>, last = {}): Promise<Found> {
  await using o = await startOutbox();
  for (let n = 0; n < 19; n += 1) await o.s.append(makeEntry({ messageId: `m${n}` }));
  await o.s.append(makeEntry({ messageId: "last", ...last }));
  const folder = await mkdtemp(join(SCRATCH, "fairlead-log-"));
  const path = pathIn(folder);
  await copyFile(o.path, path);
  await copyFile(logOf(o.path), logOf(path));
  await harm(logOf(path));
  const told: Told[] = [];
  const disk = { ...AMPLE.disk, read: (file: string) => readFile(file) };
  const world = { ...AMPLE, disk, path, pid: PID, clock: createFalseClock(), report: createFalseReport(told) };
  const store = await openStore(world);
  const { deliveries } = await store.readQueue(makeAsk());
  await store.close();
  await rm(folder, { recursive: true });
  const failures = told.filter(({ what }) => what === "storeFailed");
  return { waiting: deliveries.length, told: failures.map(({ args }) => `${args[0]}: ${(args[1] as Error).message}`) };
}

async function flip(log: string, place: (length: number) => number): Promise<void> {
  const bytes = await readFile(log);
  const at = place(bytes.length);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  await writeFile(log, bytes);
}

/** A place in a frame, which is that many before the end. */
function before(frames: number, within: number): (length: number) => number {
  return (length) => length - frames * FRAME + within;
}

describe("a write-ahead log after a crash", () => {
  it("is taken without a word as it was written", async () => {
    assert.deepEqual(await afterKill(async () => {}), { waiting: 20, told: [] });
  });

  it("is taken without a word up to where the crash has torn it", async () => {
    const { waiting, told } = await afterKill(async (log) => truncate(log, (await readFile(log)).length - 1_000));
    assert.deepEqual([waiting, told], [19, []]);
  });

  it("is taken without a word where a power cut has left the end of its last commit, and not its middle", async () => {
    const { waiting, told } = await afterKill((log) => flip(log, before(2, 2_000)), LONG);
    assert.deepEqual([waiting, told], [19, []]);
  });

  it("in which the last commit but one has changed is told to have lost the last one", async () => {
    const { waiting, told } = await afterKill((log) => flip(log, before(2, 2_000)));
    assert.equal(waiting, 18);
    assert.match(String(told), /: at least 1 commits after that place are lost, and their calls were acknowledged; /);
  });

  for (const [what, within] of [
    ["a page", 2_000],
    ["a salt", 9],
    ["a checksum", 17],
  ] as const) {
    it(`in which a byte of ${what} has changed is told to have lost what is behind it`, async () => {
      const { waiting, told } = await afterKill((log) => flip(log, before(10, within)));
      assert.ok(waiting > 0 && waiting < 19, `${waiting} are left`);
      assert.equal(told.length, 1);
      assert.match(
        told[0] ?? "",
        /^recover the write-ahead log: .*-wal is damaged: at least \d+ commits after that place/,
      );
    });
  }
});
