/** One thing done wrong on purpose: functions of one module of src, in place of the real ones. */
export type Fault = {
  /** What the daemon does then. */
  readonly what: string;
  /** From src. */
  readonly module: string;
  readonly patch: (real: Record<string, unknown>) => Record<string, unknown>;
};

/** `M` is the type of the module, so that a change of what is patched does not go unseen. */
export function fault<M extends object>(what: string, module: string, patch: (real: M) => Partial<M>): Fault {
  return { what, module, patch: patch as unknown as Fault["patch"] };
}
