import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { openLibc } from "./libc.ts";

/** Whether this program is a compiled binary, with all of its parts in one file. */
export function isCompiled(): boolean {
  return import.meta.url.includes("/$bunfs/");
}

/** A place for bytes that the system's loader can read, without a name that another user could write to. */
type Place = { readonly name: string; readonly load: (bytes: Uint8Array) => object };

/**
 * Loads a native part that is embedded in the binary. The loader needs a file. Bun would write one to the temporary folder,
 * and trust any file of that name and size at the next start. On Linux this one has no name: nobody can damage or replace it, and
 * it is gone with the process, however that ends. Throws with the reason of each place.
 */
export function loadNativePart(path: string, places: readonly Place[] = usualPlaces()): object {
  const bytes = readFileSync(path);
  const failures: string[] = [];
  for (const { name, load } of places) {
    try {
      return load(bytes);
    } catch (error) {
      const [why = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
      failures.push(`${name}: ${why.replace(/^\/proc\/self\/fd\/\d+: /, "")}`);
    }
  }
  throw new Error(failures.join("; "));
}

/** A file comes first: the system can free its pages when memory is short. */
function usualPlaces(): readonly Place[] {
  const folder = process.env.TMPDIR || "/tmp";
  return process.platform === "linux" ? [inFolder(folder), IN_MEMORY] : [inOwnFolder(folder)];
}

export function inFolder(folder: string): Place {
  return { name: folder, load: (bytes) => loadNameless(openNameless(folder), bytes) };
}

export const IN_MEMORY: Place = { name: "memory", load: (bytes) => loadNameless(openInMemory(), bytes) };

/** Where no path leads to an open file, as on macOS: in a new folder that only this user can enter, removed once it is loaded. */
export function inOwnFolder(folder: string): Place {
  return {
    name: folder,
    load(bytes) {
      const own = mkdtempSync(join(folder, ".fairlead-"));
      try {
        const file = join(own, "sqlite.node");
        writeFileSync(file, bytes, { mode: 0o600 });
        return loadByName(file);
      } finally {
        rmSync(own, { recursive: true });
      }
    },
  };
}

function loadNameless(file: number, bytes: Uint8Array): object {
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
    return loadByName(`/proc/self/fd/${file}`);
  } finally {
    // The loaded part stays mapped.
    closeSync(file);
  }
}

function loadByName(path: string): object {
  const loaded: { exports: object } = { exports: {} };
  process.dlopen(loaded, path);
  return loaded.exports;
}

/** From Linux's <fcntl.h>, which node has no name for. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;

function openNameless(folder: string): number {
  try {
    return openSync(folder, O_TMPFILE | constants.O_RDWR, 0o600);
  } catch {
    // The file system has no such files: create one, and remove its name before anything is written to it.
    const path = join(folder, `.fairlead-${randomUUID()}`);
    const file = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    return file;
  }
}

type Libc = { memfd_create(name: Uint8Array, flags: number): number };

// From Linux's <sys/memfd.h>. The second forbids running the file as a program, which some systems require.
const MFD_CLOEXEC = 1;
const MFD_NOEXEC_SEAL = 8;

function openInMemory(): number {
  const libc = openLibc<Libc>({ memfd_create: ["memory", "u32"] });
  if (libc === null) throw new Error("the C library cannot be called");
  const name = Buffer.from("fairlead\0");
  // Kernels before 6.3 do not know the second flag.
  for (const flags of [MFD_CLOEXEC | MFD_NOEXEC_SEAL, MFD_CLOEXEC]) {
    const file = libc.memfd_create(name, flags);
    if (file >= 0) return file;
  }
  throw new Error("the system gives no file in memory (memfd_create)");
}
