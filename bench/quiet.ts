/** Other programs on the machine: noticing them, and trying again when they are done. */
import type { Measured } from "./watch.ts";

/** In cores: what a quiet machine and the kernel's own threads take. */
const QUIET = 0.15;
/** In ms. */
const REST = 2_000;

/** How many of the runs other programs have disturbed. */
export function countDisturbed(runs: readonly Pick<Measured, "shares">[]): number {
  return runs.filter(isDisturbed).length;
}

function isDisturbed({ shares }: Pick<Measured, "shares">): boolean {
  return shares.others > QUIET;
}

/** Repeats a run that was disturbed. */
export type Undisturbed = (run: () => Promise<Measured>) => Promise<Measured>;

/** `patience`: how many seconds all repetitions together may take. After that, whatever a run gives is taken. */
export function createUndisturbed(patience: number): Undisturbed {
  let left = patience * 1_000;
  return async function undisturbed(run) {
    for (;;) {
      const startedAt = performance.now();
      const measured = await run();
      if (!isDisturbed(measured) || left <= 0) return measured;
      console.error(`other programs took ${measured.shares.others.toFixed(2)} cores: once more`);
      await Bun.sleep(REST);
      left -= performance.now() - startedAt;
    }
  };
}
