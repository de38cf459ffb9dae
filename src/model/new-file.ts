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
