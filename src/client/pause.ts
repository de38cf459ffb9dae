import type { World } from "./world.ts";

/** The time between two attempts. */
export type Pause = {
  /** Resolves after so many milliseconds, or once one of the signals is aborted. */
  wait(ms: number, bounds: Bounds): Promise<void>;
  /** Ends the wait that is under way, unless it is fixed. */
  end(): void;
};

type Bounds = { readonly signals: readonly AbortSignal[]; readonly fixed: boolean };

export function createPause(after: World["after"]): Pause {
  let wake = (): void => {};

  return { wait, end: () => wake() };

  function wait(ms: number, { signals, fixed }: Bounds): Promise<void> {
    return new Promise((resolve) => {
      // One that was aborted before tells nobody any more.
      if (signals.some(({ aborted }) => aborted)) return resolve();
      const cancel = after(ms, end);
      for (const signal of signals) signal.addEventListener("abort", end);
      if (!fixed) wake = end;

      function end(): void {
        cancel();
        for (const signal of signals) signal.removeEventListener("abort", end);
        wake = () => {};
        resolve();
      }
    });
  }
}
