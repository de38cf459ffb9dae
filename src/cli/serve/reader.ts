import type { Read } from "../../config/reloader.ts";
import type { Seen } from "../../config/watch.ts";
import type { Resolve } from "../../model/ports.ts";
import type { FileState } from "../../model/reload.ts";
import { createResolve } from "../../runtime/files.ts";
import { findConfigFile } from "../../runtime/find-file.ts";
import { lookNow } from "../../runtime/look.ts";
import { readConfig } from "../config-file.ts";

/** Reads the config again and again, and knows as what each file of it was read last. */
export type Reader = {
  /** For the first time that it is read. */
  readonly resolve: Resolve;
  /** Reads the same file again, wherever it was found. */
  read(file: string): Read;
  seen(): Seen;
};

/** `said`: the config file that the operator has named, if any. */
export function createReader(said: string | undefined): Reader {
  let seen = new Map<string, FileState>();
  const machine = createResolve();
  const resolve = {
    ...machine,
    file(path: string) {
      see(path);
      return machine.file(path);
    },
  };
  const first = findConfigFile(said);
  if (first !== null) see(first);

  return {
    resolve,
    read(file) {
      seen = new Map();
      see(file);
      const read = readConfig(file, resolve);
      if (read.kind === "unreadable") return { unreadable: read.message };
      const { config, problems } = read.loaded;
      return { config, problems };
    },
    seen: () => seen,
  };

  /** Before it is read: what changes in between is seen as a change. */
  function see(path: string): void {
    seen.set(path, lookNow(path));
  }
}
