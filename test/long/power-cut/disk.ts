import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Chance } from "../../simulate/random.ts";

/** The smallest part of a disk that is written whole, or not at all. */
const SECTOR = 512;
/** Of `struct power` and `struct note` in shim.c: numbers of eight bytes. */
const POWER = { bytes: 40, done: 0, fuse: 8, spares: 16, isOff: 24 };
const NOTE = { bytes: 32, ends: 8, size: 16, length: 24 };

const NO_COMPILER = "there is no gcc on this machine, or no headers (apt install gcc libc6-dev)";

/** Why there can be no such disk here; false if there can. */
export const MISSING: string | false =
  process.platform !== "linux" ? "it is made for Linux" : !compiles() && NO_COMPILER;

function compiles(): boolean {
  return spawnSync("gcc", ["-fsyntax-only", "-x", "c", "-"], { input: "#include <stdio.h>\n" }).status === 0;
}

/** A folder on a disk that loses power, by `shim.c`, whose head says what such a disk keeps. */
export type Disk = {
  readonly folder: string;
  /** For the programs whose disk it is. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * The power goes, and all programs with it, in the middle of this write, counted from 1 from now on. Truncations, syncs and
   * changes of names count too; of `database`, what is done to the write-ahead log does not.
   */
  cutIn(writes: number, of?: "all" | "database"): void;
  /** The power goes now. A program notices with its next write: the caller kills those that may not write. */
  cut(): void;
  /** How many writes there were since the disk was made, or since the power came back. */
  writes(): number;
  /** What was being done when it went; empty if nothing was. */
  moment(): string;
  /** Once all programs have ended: makes the folder look as after the cut, and answers what the chance has decided. */
  powerUp(chance: Chance): string;
};

/** How many writes there are until a cut: from one on, and small numbers more often. */
export function few(chance: Chance, most: number): number {
  return Math.floor(most ** chance.fraction());
}

export type DiskOptions = {
  /** Where the folder of the disk is made, and that of the notes about it. */
  readonly within: string;
  /** Ends of the names of files whose syncs do nothing; `*` for all. */
  readonly lies?: string | undefined;
};

export function makeDisk({ within, lies }: DiskOptions): Disk {
  const folder = join(within, "disk");
  const state = join(within, "notes");
  const shim = join(within, "power-cut.so");
  fs.mkdirSync(folder);
  fs.writeFileSync(shim, compile("shim.c", ["-shared", "-fPIC"]));
  begin();
  return {
    folder,
    env: {
      LD_PRELOAD: shim,
      POWER_CUT_FOLDER: folder,
      POWER_CUT_STATE: state,
      ...(lies === undefined ? {} : { POWER_CUT_LIES: lies }),
    },
    cutIn(writes, of = "all") {
      setNumber(POWER.spares, of === "database" ? 1 : 0);
      setNumber(POWER.fuse, writes);
    },
    cut: () => setNumber(POWER.isOff, 1),
    writes: () => Number(fs.readFileSync(join(state, "power")).readBigUInt64LE(POWER.done)),
    moment: () => readIfThere(join(state, "moment"))?.toString() ?? "",
    powerUp(chance) {
      const found = powerUp({ folder, state }, chance);
      fs.rmSync(state, { recursive: true });
      begin();
      return found;
    },
  };

  function begin(): void {
    fs.mkdirSync(state);
    fs.writeFileSync(join(state, "power"), Buffer.alloc(POWER.bytes));
  }

  function setNumber(at: number, value: number): void {
    const number = Buffer.alloc(8);
    number.writeBigUInt64LE(BigInt(value));
    const file = fs.openSync(join(state, "power"), "r+");
    fs.writeSync(file, number, 0, number.length, at);
    fs.closeSync(file);
  }
}

const compiled = new Map<string, Buffer>();

/** Compiles a source file of this folder, once in this process. */
export function compile(source: string, options: readonly string[] = []): Buffer {
  const made = compiled.get(source) ?? compileSource(source, options);
  compiled.set(source, made);
  return made;
}

function compileSource(source: string, options: readonly string[]): Buffer {
  const folder = fs.mkdtempSync(join(tmpdir(), "fairlead-power-cut-"));
  try {
    const made = join(folder, "made");
    const path = fileURLToPath(new URL(source, import.meta.url));
    const all = ["-O1", "-Wall", "-Wextra", "-Werror", ...options, "-o", made, path, "-ldl", "-lpthread"];
    const { status, stderr } = spawnSync("gcc", all);
    if (status !== 0) throw new Error(`cannot compile ${path}: ${stderr}`);
    return fs.readFileSync(made);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

type Places = { readonly folder: string; readonly state: string };

/** First what is in the files, also in removed ones, and then what they are called. */
function powerUp(places: Places, chance: Chance): string {
  const found: string[] = [];
  const paths = pathsOf(places);
  for (const name of fs.readdirSync(places.state).sort()) {
    const [, inode] = /^writes-(\d+)$/.exec(name) ?? [];
    const path = inode && paths.get(inode);
    if (!path) continue;
    const notes = readNotes(fs.readFileSync(join(places.state, name)));
    const fate = chooseFate(notes.length, chance);
    fs.writeFileSync(path, afterCut(fs.readFileSync(path), notes, fate));
    found.push(`${path.slice(path.lastIndexOf("/") + 1)}: ${fate.name} of ${notes.length} writes`);
  }
  found.push(...undoNames(places, chance), ...spoilMapped(places, chance));
  return found.join("; ");
}

function pathsOf({ folder, state }: Places): ReadonlyMap<string, string> {
  const removed = fs.readdirSync(state).filter((name) => name.startsWith("removed-"));
  const paths = [
    ...removed.map((name) => join(state, name)),
    ...fs.readdirSync(folder).map((one) => join(folder, one)),
  ];
  return new Map(paths.map((path) => [String(fs.statSync(path).ino), path]));
}

/** A write that is not durable: its sectors, and what was there before. */
type Note = { readonly begins: number; readonly ends: number; readonly size: number; readonly before: Buffer };

function readNotes(bytes: Buffer): readonly Note[] {
  const notes: Note[] = [];
  const number = (at: number): number => Number(bytes.readBigUInt64LE(at));
  // A note that is cut short is of a write that did not begin.
  for (let at = 0; at + NOTE.bytes <= bytes.length; ) {
    const end = at + NOTE.bytes + number(at + NOTE.length);
    const before = bytes.subarray(at + NOTE.bytes, end);
    if (end <= bytes.length)
      notes.push({ begins: number(at), ends: number(at + NOTE.ends), size: number(at + NOTE.size), before });
    at = end;
  }
  return notes;
}

/** Which writes have reached the disk. */
type Fate = {
  readonly name: string;
  /** By how many of the writes it was made what it is: of a sector the writes to it are given, of the length all are. */
  readonly point: (writes: readonly number[]) => number;
};

function chooseFate(count: number, chance: Chance): Fate {
  const first = chance.below(count + 1);
  const kept = Array.from({ length: count }, () => chance.happens(0.5));
  const fates: readonly (readonly [weight: number, fate: Fate])[] = [
    [2, { name: "none", point: () => 0 }],
    [1, { name: "all", point: () => count }],
    [2, { name: `the first ${first}`, point: () => first }],
    [3, { name: "some", point: (writes) => (writes.findLast((nth) => kept[nth]) ?? -1) + 1 }],
    [4, { name: "some sectors", point: (writes) => chance.pick([0, ...writes.map((nth) => nth + 1)]) }],
  ];
  return chance.pick(fates.flatMap(([weight, fate]) => Array<Fate>(weight).fill(fate)));
}

/** What is in a file of which these writes are not durable. */
function afterCut(now: Buffer, notes: readonly Note[], { point }: Fate): Buffer {
  const size = notes[point([...notes.keys()])]?.size ?? now.length;
  const after = Buffer.alloc(Math.max(size, now.length, ...notes.map(({ ends }) => ends)));
  now.copy(after);
  for (const [at, writes] of writesBySector(notes)) {
    const reached = point(writes);
    // What the next write to this sector has found there; after the last one it is what is there now.
    const next = notes[writes.find((nth) => nth >= reached) ?? notes.length];
    if (!next) continue;
    const before = next.before.subarray(at - next.begins, at - next.begins + SECTOR);
    after.fill(0, at, at + SECTOR);
    before.copy(after, at);
  }
  return after.subarray(0, size);
}

function writesBySector(notes: readonly Note[]): ReadonlyMap<number, readonly number[]> {
  const writes = new Map<number, number[]>();
  for (const [nth, { begins, ends }] of notes.entries()) {
    for (let at = begins; at < ends; at += SECTOR) {
      const there = writes.get(at);
      if (there) there.push(nth);
      else writes.set(at, [nth]);
    }
  }
  return writes;
}

/** Undoes the last changes of names that are not durable. */
function undoNames({ folder, state }: Places, chance: Chance): readonly string[] {
  const changes = (readIfThere(join(state, "names"))?.toString() ?? "").split("\n").slice(0, -1);
  const kept = chance.pick([0, changes.length, chance.below(changes.length + 1)]);
  for (const change of changes.slice(kept).reverse()) {
    const [what, name = "", second = "", third = ""] = change.split(" ");
    const path = join(folder, name);
    const bringBack = (number: string, to: string): void => fs.renameSync(join(state, `removed-${number}`), to);
    if (what === "created") fs.rmSync(path, { force: true });
    if (what === "removed") bringBack(second, path);
    if (what === "renamed") {
      fs.renameSync(join(folder, second), path);
      if (third !== "0") bringBack(third, join(folder, second));
    }
  }
  return changes.length === 0 ? [] : [`names: the first ${kept} of ${changes.length} changes`];
}

/** What was mapped into memory may be anything. */
function spoilMapped({ folder }: Places, chance: Chance): readonly string[] {
  const mapped = fs.readdirSync(folder).filter((name) => name.endsWith("-shm"));
  return mapped.map((name) => {
    const path = join(folder, name);
    const fate = chance.pick(["as it was", "gone", "empty", "noise"]);
    const { size } = fs.statSync(path);
    if (fate === "gone") fs.rmSync(path);
    if (fate === "empty") fs.truncateSync(path);
    if (fate === "noise") fs.writeFileSync(path, Buffer.from(Array.from({ length: size }, () => chance.below(256))));
    return `${name}: ${fate}`;
  });
}

function readIfThere(path: string): Buffer | null {
  return fs.existsSync(path) ? fs.readFileSync(path) : null;
}
