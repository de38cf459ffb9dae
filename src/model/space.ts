/** The bounds of the store, what the machine says about its disk, and what follows from both. */
import type { Fault } from "./fault.ts";
import type { At, Ms } from "./units.ts";

/** What is left of a file system, in bytes. */
export type Space = {
  /** What this user may still write. */
  readonly free: number;
  readonly total: number;
};

/** Asks the machine. It may take its time: nobody waits for the answer. */
export type Disk = {
  /** Of the file system that the path is on. Rejects if nobody can say. */
  space(path: string): Promise<Space>;
  /** Bytes of a file; 0 if it is not there. Rejects if nobody can say. */
  size(path: string): Promise<number>;
  /** A file; empty if it is not there. Rejects if it cannot be read. */
  read(path: string): Promise<Uint8Array>;
  /** Which file is at a path, at once; null if there is none. Throws if nobody can say. */
  mark(path: string): FileMark | null;
  /** Whether the file at a path can be opened by another path as well; null if not, or if nothing is there. */
  alias(path: string): Alias | null;
};

/**
 * Another path to a file that a symbolic link does not explain. What belongs to an outbox is beside it, by its name: who opens
 * it by another one has another log and another lock, and neither knows of the other's.
 */
export type Alias =
  /** Hard links: so many names in all; and those of them that are in the same folder. */
  | { readonly kind: "linked"; readonly links: number; readonly names: readonly string[] }
  /** The file alone is a mount point, as of a bind mount. */
  | { readonly kind: "mounted" };

/** Why such a file cannot be an outbox, and what to do. */
export function describeAlias(alias: Alias): { readonly why: string; readonly remedy: string } {
  if (alias.kind === "mounted") {
    return {
      why: "it is a mount point by itself, so that its write-ahead log and its lock are not beside the file that is mounted there",
      remedy: "mount the folder that it is in instead",
    };
  }
  const known = alias.names.length > 0 ? `, another one is ${alias.names.join(", ")}` : "";
  return {
    why: `it has ${alias.links} names (hard links${known}), and a daemon that opens it by another one has another log and another lock`,
    remedy: "remove the other names, or put a copy in its place while no daemon runs: cp FILE COPY && mv COPY FILE",
  };
}

/** What tells a file from another one at the same path, and how long it is. */
export type FileMark = { readonly identity: string; readonly size: number };

/** The store's file is not at its path any more: what is written now would not be found by the next start. */
export type Gone = {
  /** `removed`: nothing is there. `replaced`: another file is. `truncated`: it has lost its end. */
  readonly what: "removed" | "replaced" | "truncated";
  /** The file it is about: the store's own, or one of those that belong to it. */
  readonly path: string;
  readonly since: At;
};

/**
 * What a config is checked against: the file system that the outbox at this path is on, or will be on, and the bytes that
 * the outbox has there already. Null if nobody can say.
 */
export type SpaceFor = (outbox: string) => (Space & { readonly used: number }) | null;

/** In bytes; `freeDisk` 0 is no bound. */
export type Bounds = { readonly maxSize: number; readonly freeDisk: number };

/** The key of `outbox` that says when no more is taken in. */
export type Bound = keyof Bounds;

/** Why nothing more is taken in. */
export type Fullness = {
  readonly bound: Bound;
  readonly since: At;
  readonly path: string;
  /** Bytes of used pages. */
  readonly used: number;
  /** Bytes that the engine's log has beyond what it should have: a program that reads for long keeps it from being used again. */
  readonly log: number;
  /** Bytes of the disk that are free; null if nobody can say. */
  readonly free: number | null;
  readonly bounds: Bounds;
};

/** The state of the store itself. */
export type StoreHealth = {
  /** Costs no more than a look at the file's path. */
  state(): Promise<StoreState>;
  /** Tries a small durable write. */
  probe(): Promise<boolean>;
  /**
   * Whether commits come to an end, if only because the disk is full: goes their way, and writes nothing. False when somebody
   * else holds the store locked; never resolves when they are stuck.
   */
  responds(): Promise<boolean>;
};

export type StoreState = {
  /** False after a failed commit, until one succeeds. */
  readonly writable: boolean;
  /** Why nothing more can be stored: the store is full, or its file is gone. Null if there is room. */
  readonly refusal: Fault | null;
  /** What became of the store's file; null while it is at its path. */
  readonly gone: Gone | null;
  /** The bound at which it is full; null if it is not. */
  readonly full: Bound | null;
  /** The bound that is so near that settled deliveries should go before their time; null if none is. */
  readonly crowding: Bound | null;
  /** Bytes of used pages, and the bound; bytes of the disk that are free, null if nobody can say. */
  readonly size: { readonly used: number; readonly max: number; readonly free: number | null };
};

/** What the operator hears of it. */
export type SpaceReport = {
  /** No more calls are taken. Once, until `storeOpen`. */
  storeFull(why: Fullness): void;
  storeOpen(bound: Bound, after: Ms): void;
  /** No more calls are taken, because what is stored would not be found again. Once, until `storeFound`. */
  storeGone(gone: Gone): void;
  storeFound(gone: Gone, after: Ms): void;
  /** The daemon stops while its file is gone; what it still had is kept here. */
  storeRescued(path: string): void;
  /** This file was removed or replaced, and made again. Of the log: what was in it is in the store's file. */
  fileRenewed(of: "log" | "lock", path: string): void;
  /** Nobody can say how much of the disk is free. Once, until somebody can. */
  diskUnknown(path: string, error: unknown): void;
};
