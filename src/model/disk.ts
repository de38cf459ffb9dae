import type { Fault } from "./fault.ts";
import type { At, Ms } from "./units.ts";

/** The limits of the store, the space on its disk, and their consequences. */

/** Space on a file system, in bytes. */
export type Space = {
  /** What this user can still write. */
  readonly free: number;
  readonly total: number;
};

/** Access to the disk. It may be slow: no request waits for it. */
export type Disk = {
  /** Of the path's file system. Rejects if unknown. */
  space(path: string): Promise<Space>;
  /** Bytes of a file; 0 if it is missing. Rejects if unknown. */
  size(path: string): Promise<number>;
  /** The content of a file; empty if it is missing. Rejects if it cannot be read. */
  read(path: string): Promise<Uint8Array>;
  /** Identifies the file at a path, synchronously; null if there is none. Throws if unknown. */
  mark(path: string): FileMark | null;
  /** Whether the file has another path as well; null if not, or if it is missing. */
  alias(path: string): Alias | null;
};

/**
 * Another path to a file that is not a symbolic link. An outbox's log and lock are beside it, by name: a program that opens
 * it by another path has another log and another lock, and the two do not see each other.
 */
export type Alias =
  /** Hard links: the number of names, and those in the same folder. */
  | { readonly kind: "linked"; readonly links: number; readonly names: readonly string[] }
  /** The file itself is a mount point, as with a bind mount. */
  | { readonly kind: "mounted" };

/** Why such a file cannot be an outbox, and what to do. */
export function describeAlias(alias: Alias): { readonly why: string; readonly remedy: string } {
  if (alias.kind === "mounted") {
    return {
      why: "the file itself is a mount point, so its write-ahead log and its lock would not lie beside the mounted file",
      remedy: "mount its folder instead",
    };
  }
  const known = alias.names.length > 0 ? `, another one is ${alias.names.join(", ")}` : "";
  return {
    why: `it has ${alias.links} names (hard links${known}), and a daemon that opens it by another name uses another log and another lock`,
    remedy: "remove the other names, or replace it by a copy while no daemon runs: cp FILE COPY && mv COPY FILE",
  };
}

/** Distinguishes a file from another one at the same path, and its length. */
export type FileMark = { readonly identity: string; readonly size: number };

/** The store's file is no longer at its path: the next start would not find what is written now. */
export type Gone = {
  /** `removed`: there is no file. `replaced`: there is another file. `truncated`: its end is missing. */
  readonly what: "removed" | "replaced" | "truncated";
  /** The file concerned: the store's own, or its log or lock. */
  readonly path: string;
  readonly since: At;
};

/** The file system that the outbox is on, or will be on, and the bytes it already uses there. Null if unknown. */
export type SpaceFor = (outbox: string) => (Space & { readonly used: number }) | null;

/** In bytes; `freeDisk` 0 is no bound. */
export type Bounds = { readonly maxSize: number; readonly freeDisk: number };

/** The key of `outbox` that limits it. */
export type Bound = keyof Bounds;

/** Why no calls are accepted. */
export type Fullness = {
  readonly bound: Bound;
  readonly since: At;
  readonly path: string;
  /** Bytes of used pages. */
  readonly used: number;
  /** Bytes of the engine's log beyond its usual size: a long-running reader prevents its reuse. */
  readonly log: number;
  /** Free bytes of the disk; null if unknown. */
  readonly free: number | null;
  readonly bounds: Bounds;
};

export type StoreHealth = {
  /** Cheap: it only looks at the file's path. */
  state(): Promise<StoreState>;
  /** Tries a small durable write. */
  probe(): Promise<boolean>;
  /**
   * Whether commits complete, even if only because the disk is full. It takes their path, but writes nothing. False if
   * another process holds the store locked; never resolves if commits are stuck.
   */
  responds(): Promise<boolean>;
};

export type StoreState = {
  /** False after a failed commit, until one succeeds. */
  readonly writable: boolean;
  /** Why nothing more can be stored: the store is full, or its file is gone. Null if there is room. */
  readonly refusal: Fault | null;
  /** What happened to the store's file; null while it is at its path. */
  readonly gone: Gone | null;
  /** The limit that was reached; null if there is room. */
  readonly full: Bound | null;
  /** The limit that is so near that settled deliveries should be pruned early; null if none is. */
  readonly crowding: Bound | null;
  /** Bytes of used pages and their limit; free bytes of the disk, null if unknown. */
  readonly size: { readonly used: number; readonly max: number; readonly free: number | null };
};

/** Log lines and metrics. */
export type SpaceReport = {
  /** No more calls are accepted. Logged once, until `storeOpen`. */
  storeFull(why: Fullness): void;
  storeOpen(bound: Bound, after: Ms): void;
  /** No more calls are accepted, because they would not be found again. Logged once, until `storeFound`. */
  storeGone(gone: Gone): void;
  storeFound(gone: Gone, after: Ms): void;
  /** The daemon stops while its file is gone; this file keeps its data. */
  storeRescued(path: string): void;
  /** This file was removed or replaced, and created again. The log's content is in the store's file. */
  fileRenewed(of: "log" | "lock", path: string): void;
  /** The free space of the disk is unknown. Logged once, until it is known again. */
  diskUnknown(path: string, error: unknown): void;
};

/** A file that is being written. It gets its final name only when it is complete. */
export type NewFile = {
  /** Its temporary path, in the same folder. */
  readonly path: string;
  /** Adds bytes to its end. */
  write(bytes: Uint8Array): void;
  /** Waits until everything written so far is on the disk. */
  flush(): void;
  /** Gives it its final name, replacing any file there, and makes that durable. */
  keep(): void;
  /** Removes it, unless it was kept. */
  drop(): void;
};

/** Creates an empty file that only its user may read. Throws with a message for the operator. */
export type BeginFile = (target: string) => NewFile;

/** A temporary file whose content is handed to a reader. */
export type Scratch = {
  readonly path: string;
  /**
   * Its content. The file loses its name at once and is gone when the reader ends. Throws with a message for the operator.
   */
  handOver(): Promise<{ readonly size: number; readonly bytes: ReadableStream<Uint8Array> }>;
  /** Removes it. */
  drop(): void;
};

/**
 * Creates one with room for this many bytes, beside this path or in the temporary folder. Throws with a message for the
 * operator.
 */
export type BeginScratch = (near: string, bytes: number) => Scratch;
