/** A file that is being written: it gets its name when it is whole, and not before. */
export type NewFile = {
  /** Where it is until then, beside the place that it is for. */
  readonly path: string;
  /** Adds bytes to its end. */
  write(bytes: Uint8Array): void;
  /** Waits until what was written so far is on the disk. */
  flush(): void;
  /** Gives it its name, in place of what had that before, so that a power cut does not take it back. */
  keep(): void;
  /** Removes it, unless it was kept. */
  drop(): void;
};

/** Begins a file, empty and for its own user only. Throws in words when it cannot. */
export type BeginFile = (target: string) => NewFile;

/** A file that is there for a while only, so that somebody can be given what is in it. */
export type Scratch = {
  readonly path: string;
  /** Its bytes. It has no name any more, and is gone when they were read, or nobody reads on. Throws in words. */
  handOver(): Promise<{ readonly size: number; readonly bytes: ReadableStream<Uint8Array> }>;
  /** Removes it. */
  drop(): void;
};

/** Begins one with room for so many bytes, beside this path, or where temporary files go. Throws in words when it cannot. */
export type BeginScratch = (near: string, bytes: number) => Scratch;
