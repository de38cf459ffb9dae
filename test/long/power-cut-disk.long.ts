// The disk of `power-cut.long.ts`: that it keeps what it has to, and loses what it may.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PATIENCE } from "../binary/waiting.ts";
import { createChance } from "../simulate/random.ts";
import { compile, type Disk, MISSING, makeDisk } from "./power-cut/disk.ts";

const SEEDS = 40;
const NEEDING = { timeout: PATIENCE, skip: MISSING };

type Found = Readonly<Record<string, string>>;
type Cut = {
  /** What is durable before it. */
  readonly files: Found;
  /** What is done then, in the words of write.c. */
  readonly program: string;
  /** Cut in this write, if not after the program. */
  readonly at?: number;
  readonly lies?: string;
};

/** What is found in the folder after a power cut, by each of many seeds. */
function cutOften({ files, program, at, lies }: Cut): readonly Found[] {
  return Array.from({ length: SEEDS }, (_, seed) => {
    const within = mkdtempSync(join(tmpdir(), "fairlead-disk-"));
    try {
      const disk = makeDisk({ within, lies });
      for (const [name, text] of Object.entries(files)) writeFileSync(join(disk.folder, name), text);
      if (at !== undefined) disk.cutIn(at);
      run(disk, program, at !== undefined);
      disk.powerUp(createChance(seed));
      const names = readdirSync(disk.folder).sort();
      return Object.fromEntries(names.map((name) => [name, readFileSync(join(disk.folder, name), "latin1")]));
    } finally {
      rmSync(within, { recursive: true });
    }
  });
}

function run({ env, folder }: Disk, program: string, isCut: boolean): void {
  const writer = join(folder, "../write");
  writeFileSync(writer, compile("write.c"), { mode: 0o700 });
  const { status, signal, stderr } = spawnSync(writer, program.split(/[; ]+/), { cwd: folder, env });
  assert.deepEqual([status, signal], isCut ? [null, "SIGKILL"] : [0, null], stderr.toString());
}

/** The different ones, in the order of the alphabet. */
function kinds(found: readonly unknown[]): readonly unknown[] {
  return [...new Set(found.map((one) => JSON.stringify(one)))].sort().map((one) => JSON.parse(one));
}

const OLD = "o".repeat(2_048);
const NEW = "n".repeat(2_048);

describe("a disk that loses power", () => {
  it("keeps what was synced, and the names of a folder that was", NEEDING, () => {
    const program = "put a 0 n 2048; sync a; put b 0 b 3; sync b; remove c; sync .";
    assert.deepEqual(kinds(cutOften({ files: { a: OLD, c: OLD }, program })), [{ a: NEW, b: "bbb" }]);
  });

  it("loses what was not, keeps it, or tears it by sectors, whose order is not kept", NEEDING, () => {
    const found = cutOften({ files: { a: OLD }, program: "put a 0 n 2048" }).map(({ a = "" }) => {
      assert.match(a, /^(o{512}|n{512}){4}$/);
      return a.replace(/(.)\1{511}/g, "$1");
    });
    assert.ok(["oooo", "nnnn"].every((one) => found.includes(one)));
    assert.ok(found.some((one) => /o.*n/.test(one)) && found.some((one) => /n.*o/.test(one)));
  });

  it("gives each sector a text that it has had, and none from before the last sync", NEEDING, () => {
    const program = "put a 0 1 1; sync a; put a 0 2 1; put a 0 3 1";
    assert.deepEqual(kinds(cutOften({ files: { a: "0" }, program }).map(({ a }) => a)), ["1", "2", "3"]);
  });

  it("lets a file have any of the lengths it has had, with zeros where nothing was written", NEEDING, () => {
    const program = "put a 512 x 512; put a 1024 y 512; shorten a 100";
    const found = cutOften({ files: { a: "o".repeat(512) }, program }).map(({ a = "" }) => a);
    assert.deepEqual(kinds(found.map((a) => a.length)), [100, 1_024, 1_536, 512]);
    for (const a of found) assert.match(a, /^o+\0*(x{512}|\0{512})?(y{512}|\0{512})?$/);
    assert.ok(found.some((a) => a.includes("\0")));
  });

  it("undoes the last changes of names, in the order they were made", NEEDING, () => {
    const program = "put b 0 b 1; sync b; rename b a; remove c";
    assert.deepEqual(kinds(cutOften({ files: { a: "a", c: "c" }, program })), [
      { a: "a", b: "b", c: "c" },
      { a: "a", c: "c" },
      { a: "b", c: "c" },
      { a: "b" },
    ]);
  });

  it("goes in the middle of a write, which may then be there or not", NEEDING, () => {
    const program = "put a 0 1 1; sync a; put a 0 2 1; put a 0 3 1";
    assert.deepEqual(kinds(cutOften({ files: { a: "0" }, program, at: 3 }).map(({ a }) => a)), ["1", "2"]);
    assert.deepEqual(kinds(cutOften({ files: { a: "0" }, program, at: 2 }).map(({ a }) => a)), ["0", "1"]);
  });

  it("that lies has synced nothing", NEEDING, () => {
    const program = "put a 0 1 1; sync a";
    assert.deepEqual(kinds(cutOften({ files: { a: "0" }, program, lies: "*" }).map(({ a }) => a)), ["0", "1"]);
  });
});
