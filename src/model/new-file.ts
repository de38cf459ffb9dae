/** A file that is being written: it gets its name when it is whole, and not before. */
export type NewFile = {
  /** Where it is until then, beside the place that it is for. */
  readonly path: string;
  /** Waits until what was written so far is on the disk. */
  flush(): void;
  /** Gives it its name, in place of what had that before, so that a power cut does not take it back. */
  keep(): void;
  /** Removes it, unless it was kept. */
  drop(): void;
};

/** Begins a file, empty and for its own user only. Throws in words when it cannot. */
export type BeginFile = (target: string) => NewFile;
