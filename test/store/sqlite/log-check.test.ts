import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { logOf } from "../../../src/store/sqlite/files.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { SCRATCH } from "../../scratch.ts";
import { AMPLE, createFalseReport, makeAsk, type Told } from "../harness.ts";
import { makeEntry } from "../make.ts";
import { PID, pathIn, startOutbox } from "./start.ts";

const FRAME = 24 + 4_096;

type Found = { readonly waiting: number; readonly told: readonly string[] };

/** What is found after a kill -9 behind twenty commits, when this was done to the log before the next start. */
async function afterKill(harm: (log: string) => Promise<void>): Promise<Found> {
  await using o = await startOutbox();
  for (let n = 0; n < 20; n += 1) await o.s.append(makeEntry({ messageId: `m${n}` }));
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

/** A frame in the middle of the log, and a place in it. */
function middle(within: number): (length: number) => number {
  return (length) => 32 + Math.floor((length - 32) / FRAME / 2) * FRAME + within;
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
    const { waiting, told } = await afterKill((log) => flip(log, (length) => length - 2 * FRAME + 2_000));
    assert.deepEqual([waiting, told], [19, []]);
  });

  for (const [what, within] of [
    ["a page", 2_000],
    ["a salt", 9],
    ["a checksum", 17],
  ] as const) {
    it(`in which a byte of ${what} has changed is told to have lost what is behind it`, async () => {
      const { waiting, told } = await afterKill((log) => flip(log, middle(within)));
      assert.ok(waiting > 0 && waiting < 19, `${waiting} are left`);
      assert.equal(told.length, 1);
      assert.match(
        told[0] ?? "",
        /^recover the write-ahead log: .*-wal is damaged: at least \d+ commits behind that place/,
      );
    });
  }
});
