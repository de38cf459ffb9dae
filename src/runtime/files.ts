import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import type { FileText, Resolve } from "../model/ports.ts";
import { formatSize, MB } from "../model/units.ts";

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

/** Why a file cannot be read, without its path. */
export function reasonOf(error: unknown, path: string): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  if (code === "EACCES" || code === "EPERM") return `permission denied${guardOf(path)}`;
  return REASONS[code] ?? code;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "a part of the path is not a folder",
  ELOOP: "its symbolic links go in a circle",
  ENAMETOOLONG: "the path is too long",
  ENXIO: "it is not a regular file",
  EISDIR: "it is a folder",
  EMFILE: "too many open files",
};

/** What a person can do who may not read a file; null where that is not what is wrong with it. */
export function howToRead(path: string): string | null {
  if (!isDenied(path)) return null;
  const group = nameOf(groupThatMayRead(path));
  return group === null
    ? "use sudo"
    : `use sudo, or join the group ${group} (sudo usermod -aG ${group} NAME, ${AGAIN})`;
}

const AGAIN = "then log in again";

function isDenied(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}

/** The group of the file, or of the folder that hides it; null if their groups may not read them. */
function groupThatMayRead(path: string): number | null {
  const above = dirname(path);
  try {
    const stats = statSync(path);
    const needed = stats.isDirectory() ? 0o010 : 0o040;
    return (stats.mode & needed) === 0 ? null : stats.gid;
  } catch {
    return above === path ? null : groupThatMayRead(above);
  }
}

/** Null for the group of root, which nobody else should be in, and where there is no list of groups. */
function nameOf(gid: number | null): string | null {
  const groups = gid === null || gid === 0 ? null : readText("/etc/group");
  if (!groups?.ok) return null;
  const found = groups.text.split("\n").map((line) => line.split(":"));
  return found.find(([, , id]) => id === String(gid))?.[0] ?? null;
}

/** Who may read it. If not even that can be seen, a folder above is closed. */
function guardOf(path: string): string {
  try {
    const stats = statSync(path);
    return ` (mode ${octal(stats)}, owner ${ownerOf(stats)})`;
  } catch {
    return " (a folder above it cannot be entered)";
  }
}

function octal({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

function ownerOf({ uid }: Stats): string {
  return uid === 0 ? "root" : `uid ${uid}`;
}
