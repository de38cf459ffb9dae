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
  /** False after a failed commit, until one succeeds. */
  writable(): boolean;
  /** Tries a small durable write. */
  probe(): Promise<boolean>;
  /**
   * Whether commits come to an end, if only because the disk is full: goes their way, and writes nothing. False when somebody
   * else holds the store locked; never resolves when they are stuck.
   */
  responds(): Promise<boolean>;
  /** What whoever wants to store more gets to hear while the store is full; null if it is not. */
  refusal(): Fault | null;
  /** The bound at which it is full; null if it is not. */
  full(): Bound | null;
  /** The bound that is so near that settled deliveries should go before their time; null if none is. */
  crowding(): Bound | null;
  /** Bytes of used pages, and the bound; bytes of the disk that are free, null if nobody can say. */
  size(): { readonly used: number; readonly max: number; readonly free: number | null };
};

/** What the operator hears of it. */
export type SpaceReport = {
  /** No more calls are taken. Once, until `storeOpen`. */
  storeFull(why: Fullness): void;
  storeOpen(bound: Bound, after: Ms): void;
  /** Nobody can say how much of the disk is free. Once, until somebody can. */
  diskUnknown(path: string, error: unknown): void;
};
