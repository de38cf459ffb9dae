import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { FileText, Resolve } from "../model/ports.ts";
import type { FileState } from "../model/reload.ts";
import { formatSize, MB } from "../model/units.ts";
import { reasonOf } from "./file-error.ts";

const CONFIG_PLACES = ["config.yaml", "/etc/fairlead/config.yaml"];

/**
 * Where the config file is: as said, else `$FAIRLEAD_CONFIG`, else the first place that has one, else one that this user
 * may not look at, else null.
 */
export function findConfigFile(said: string | undefined, places: readonly string[] = CONFIG_PLACES): string | null {
  const named = said ?? (process.env.FAIRLEAD_CONFIG || undefined);
  if (named !== undefined) return named;
  const found = places.map((path) => [path, lookAt(path)] as const);
  const [there] = found.filter(([, seen]) => seen === "there");
  // Of two folders that are closed, the working directory is the less likely one.
  return (there ?? found.findLast(([, seen]) => seen === "hidden"))?.[0] ?? null;
}

function lookAt(path: string): "there" | "hidden" | "missing" {
  try {
    statSync(path);
    return "there";
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES" ? "hidden" : "missing";
  }
}

/** All authorities that a machine trusts, in one file, are some 200 KB. */
const LARGEST = 1 * MB;

/** Reads the config file: up to 1 MB of UTF-8. */
export function readConfigFile(path: string): FileText {
  return readText(path);
}

/** The environment, files of up to 1 MB, and systemd's credentials. */
export function createResolve(): Resolve {
  return {
    env: (name) => process.env[name],
    file: (path) => readText(path),
    credential: readCredential,
  };
}

function readCredential(name: string): FileText {
  const folder = process.env.CREDENTIALS_DIRECTORY;
  if (name === "" || name === "." || name === ".." || name.includes("/")) {
    return { ok: false, why: "the name of a credential is that of a file, without a folder" };
  }
  if (!folder) return { ok: false, why: "systemd gave no credentials ($CREDENTIALS_DIRECTORY is not set)" };
  const read = readText(join(folder, name));
  // systemd guards the folder; the modes of the files in it say nothing.
  return read.ok ? { ...read, worldReadable: false } : read;
}

function readText(path: string): FileText {
  try {
    // Not blocking: to open a pipe that nobody writes to would wait for ever.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readOpen(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { ok: false, why: reasonOf(error, path) };
  }
}

function readOpen(file: number): FileText {
  const stats = fstatSync(file);
  return refusalOf(stats) ?? toText(readUpTo(file, LARGEST + 1), stats);
}

function refusalOf(stats: Stats): FileText | null {
  if (stats.isDirectory()) return { ok: false, why: "it is a folder" };
  return stats.isFile() ? null : { ok: false, why: "it is not a regular file" };
}

function toText(bytes: Uint8Array, stats: Stats): FileText {
  if (bytes.length > LARGEST) return { ok: false, why: `it is larger than ${formatSize(LARGEST)}` };
  const text = decode(bytes);
  if (text === null) return { ok: false, why: "it is not UTF-8 text" };
  return { ok: true, text, worldReadable: (stats.mode & 0o004) !== 0 };
}

/** Reads a file as the others here do, without holding anybody up: a file server may have gone away. Never rejects. */
export async function readFileLater(path: string): Promise<FileText> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      return refusalOf(stats) ?? toText(await readUpToLater(file, LARGEST + 1), stats);
    } finally {
      await file.close();
    }
  } catch (error) {
    return { ok: false, why: reasonOf(error, path) };
  }
}

async function readUpToLater(file: FileHandle, most: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(most);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, most - length, null);
    length += bytesRead;
    if (bytesRead === 0 || length === most) return bytes.subarray(0, length);
  }
}

/** Does not trust the size that the file system gives: files grow, and those of /proc have none. */
function readUpTo(file: number, most: number): Uint8Array {
  const bytes = new Uint8Array(most);
  let length = 0;
  for (;;) {
    const read = readSync(file, bytes, length, most - length, null);
    length += read;
    if (read === 0 || length === most) return bytes.subarray(0, length);
  }
}

/** Bad bytes are refused: replaced by others they would make a secret that looks right and signs wrong. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Looks at a file as `lookNow` does, without holding anybody up: a file server may have gone away. Never rejects. */
export async function look(path: string): Promise<FileState> {
  try {
    return stateOf(await stat(path, { bigint: true }));
  } catch (error) {
    return stateWithout(error);
  }
}

/** Looks at a file before it is read: a change that comes between the two is then seen as one later. */
export function lookNow(path: string): FileState {
  try {
    return stateOf(statSync(path, { bigint: true }));
  } catch (error) {
    return stateWithout(error);
  }
}

/**
 * The device is left out: overlay file systems give one file several. The mode is there for a file that could not be read,
 * and was mended: Deno has no `ctime` that would tell.
 */
function stateOf({ ino, size, mtimeNs, ctimeNs, mode }: BigIntStats): FileState {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`;
}

function stateWithout(error: unknown): FileState {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
