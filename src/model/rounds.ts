import type { Clock } from "./ports.ts";
import type { Ms } from "./units.ts";

/** What a worker does between two rounds. */
export type Rest =
  /** The event loop gets a turn. */
  | { readonly kind: "turn" }
  /** Nothing, for so long: a wake-up does not shorten it. */
  | { readonly kind: "pause"; readonly ms: Ms }
  /** Sleeps for so long or until it is woken; null: until it is woken. */
  | { readonly kind: "sleep"; readonly ms: Ms | null };

export type Rounds = {
  /** Works until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** Ends the sleep between two rounds, also one that has yet to begin. */
  wake(): void;
};

/** A worker that runs `round` again and again, and rests in between as the round says. `round` never rejects. */
export function createRounds(
  clock: Pick<Clock, "sleep" | "nextTurn">,
  round: (signal: AbortSignal) => Promise<Rest>,
): Rounds {
  let nap = new AbortController();
  return {
    async run(signal) {
      while (!signal.aborted) {
        nap = new AbortController();
        const rest = await round(signal);
        const woken = AbortSignal.any([signal, nap.signal]);
        if (rest.kind === "turn") await clock.nextTurn();
        else if (rest.kind === "pause") await clock.sleep(rest.ms, signal);
        else if (rest.ms !== null) await clock.sleep(rest.ms, woken);
        else await aborted(woken);
      }
    },
    wake: () => nap.abort(),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
