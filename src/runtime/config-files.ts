/** The config file and the files that it names: where it is, what they hold, and whether they have changed. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { FileState } from "../model/daemon.ts";
import type { FileText, FolderNames, Resolve } from "../model/ports.ts";
import { formatSize, MB } from "../model/units.ts";
import { errorCode, reasonOf } from "./file-error.ts";
import { collect } from "./input.ts";

const CONFIG_PLACES = ["config.yaml", "/etc/fairlead/config.yaml"];

/**
 * Finds the config file: the given one, else `$FAIRLEAD_CONFIG`, else the first place that has one, else one that this user
 * has no permission to look at, else null.
 */
export function findConfigFile(given: string | undefined, places: readonly string[] = CONFIG_PLACES): string | null {
  const named = given ?? (process.env.FAIRLEAD_CONFIG || undefined);
  if (named !== undefined) return named;
  const hidden: string[] = [];
  for (const path of places) {
    try {
      statSync(path);
      return path;
    } catch (error) {
      if (errorCode(error) === "EACCES") hidden.push(path);
    }
  }
  // Of two closed folders, the working directory is the less likely one.
  return hidden.at(-1) ?? null;
}

/** All authorities that a machine trusts, in one file, are about 200 KB. */
const MOST_BYTES = 1 * MB;

/** Not blocking: opening a pipe that nothing writes to would wait without end. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK;

/** Reads the config file: up to 1 MB of UTF-8. */
export function readConfigFile(path: string): FileText {
  return readText(path);
}

/** The environment, files of up to 1 MB, and systemd's credentials. */
export function createResolve(): Resolve {
  return { env: (name) => process.env[name], file: readText, folder: listFolder, credential: readCredential };
}

function readCredential(name: string): FileText {
  const folder = process.env.CREDENTIALS_DIRECTORY;
  if (name === "" || name === "." || name === ".." || name.includes("/")) {
    return { ok: false, why: "a credential is named by a file name without a folder" };
  }
  if (!folder) return { ok: false, why: "systemd gave no credentials ($CREDENTIALS_DIRECTORY is not set)" };
  const read = readText(join(folder, name));
  // systemd guards the folder; the modes of the files in it do not matter.
  return read.ok ? { ...read, worldReadable: false } : read;
}

function readText(path: string): FileText {
  try {
    const file = openSync(path, READING);
    try {
      const stats = fstatSync(file);
      return refuseKind(stats) ?? toText(readUpTo(file, MOST_BYTES), stats);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { ok: false, why: reasonOf(error, path) };
  }
}

/** Reads a file without blocking the event loop: a file server may have stopped responding. Never rejects. */
export async function readFileLater(path: string): Promise<FileText> {
  try {
    const file = await open(path, READING);
    try {
      const stats = await file.stat();
      return refuseKind(stats) ?? toText(await collect(file.createReadStream({ autoClose: false }), MOST_BYTES), stats);
    } finally {
      await file.close();
    }
  } catch (error) {
    return { ok: false, why: reasonOf(error, path) };
  }
}

function refuseKind(stats: Stats): FileText | null {
  if (stats.isDirectory()) return { ok: false, why: "it is a folder" };
  return stats.isFile() ? null : { ok: false, why: "it is not a regular file" };
}

/**
 * All bytes; null if there are more than `most`. Does not trust the size from the file system: files grow, and files of
 * /proc have none.
 */
function readUpTo(file: number, most: number): Uint8Array | null {
  const bytes = new Uint8Array(most + 1);
  for (let length = 0; length <= most; ) {
    const read = readSync(file, bytes, length, bytes.length - length, null);
    if (read === 0) return bytes.subarray(0, length);
    length += read;
  }
  return null;
}

function toText(bytes: Uint8Array | null, { mode }: Stats): FileText {
  if (bytes === null) return { ok: false, why: `it is larger than ${formatSize(MOST_BYTES)}` };
  try {
    // Replacing bad bytes would make a secret that looks right and signs wrong.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { ok: true, text, worldReadable: (mode & 0o004) !== 0 };
  } catch {
    return { ok: false, why: "it is not UTF-8 text" };
  }
}

/** The names in a folder, in their order, without hidden files and the copies that editors leave behind. */
function listFolder(path: string): FolderNames {
  try {
    return toNames(readdirSync(path || "."));
  } catch (error) {
    return { ok: false, why: whyUnlisted(error, path) };
  }
}

/** The same without blocking the event loop. Never rejects. */
export async function listFolderLater(path: string): Promise<FolderNames> {
  try {
    return toNames(await readdir(path || "."));
  } catch (error) {
    return { ok: false, why: whyUnlisted(error, path) };
  }
}

function whyUnlisted(error: unknown, path: string): string {
  const code = errorCode(error);
  if (code === "ENOENT") return "no such folder";
  return code === "ENOTDIR" ? "it is not a folder" : reasonOf(error, path);
}

const MOST_NAMES = 10_000;

function toNames(all: readonly string[]): FolderNames {
  if (all.length > MOST_NAMES) return { ok: false, why: `it has more than ${MOST_NAMES} files` };
  return { ok: true, names: all.filter((name) => !name.startsWith(".") && !name.endsWith("~")).sort() };
}

/**
 * The state of a file, which differs after every change; of a folder, whose path ends with a slash, it is the names in it.
 * Does not block the event loop. Never rejects.
 */
export async function fileState(path: string): Promise<FileState> {
  if (path.endsWith("/")) return toFolderState(await listFolderLater(path));
  try {
    return toState(await stat(path, { bigint: true }));
  } catch (error) {
    return errorCode(error) ?? "unknown";
  }
}

/** The same, synchronously. Taken before a file is read, it reveals a change that happens in between. */
export function fileStateNow(path: string): FileState {
  if (path.endsWith("/")) return toFolderState(listFolder(path));
  try {
    return toState(statSync(path, { bigint: true }));
  } catch (error) {
    return errorCode(error) ?? "unknown";
  }
}

function toFolderState(found: FolderNames): FileState {
  return found.ok ? found.names.join("/") : found.why;
}

/**
 * Excludes the device: overlay file systems give a file several. Includes the mode: it shows a new permission to read on
 * Deno, which has no `ctime`.
 */
function toState({ ino, size, mtimeNs, ctimeNs, mode }: BigIntStats): FileState {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`;
}
