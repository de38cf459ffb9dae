import type { RetryPolicy } from "../model/settlement.ts";
import { MINUTE, type Ms, SECOND } from "../model/units.ts";

/** How Fairlead waits: one second, doubling to ten minutes, a fifth more or less by chance. */
export const WAITS = { firstWait: SECOND, longestWait: 10 * MINUTE, jitter: 0.2 } as const;

/** While the machine itself has no network, an attempt costs nobody anything: the wait stays short. */
export const OFFLINE_WAITS = { firstWait: 10 * SECOND, longestWait: MINUTE } as const;

/** The wait after so many attempts. `chance` is from 0 to 1: it spreads retries, so that they do not come in waves. */
export function backoff(attempts: number, policy: Omit<RetryPolicy, "cutoff">, chance: number): Ms {
  // Beyond 2^40 the product is far above any longest wait; the bound keeps it finite.
  const doubled = policy.firstWait * 2 ** Math.min(attempts - 1, 40);
  const wait = Math.min(doubled, policy.longestWait);
  return Math.round(wait * (1 + policy.jitter * (2 * chance - 1)));
}
