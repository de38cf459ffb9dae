import type { Delivery } from "../model/delivery.ts";
import type { Destination } from "../model/destination.ts";
import type { At, Ms } from "../model/units.ts";
import { isPastCutoff } from "../settle/backoff.ts";
import type { Halts } from "./halts.ts";
import type { Lanes } from "./lanes.ts";

export type Loss = {
  readonly destination: Destination;
  readonly now: At;
  readonly world: { readonly lanes: Pick<Lanes, "lostSince">; readonly halts: Pick<Halts, "spells"> };
};

/**
 * How much of the time since its last round a delivery could not be sent: this machine was offline, or its destination was
 * paused, disabled or not in the config. Such time does not count towards the cutoff.
 */
export function lostTime({ attemptedAt: at }: Delivery, { destination, now, world }: Loss): Ms {
  if (at === null) return 0;
  const { name, webhooks } = destination;
  return world.lanes.lostSince(name, webhooks, { at, now, spells: world.halts.spells(name, now) });
}

/** Whether the next attempt is the last one. */
export function isLastAttempt(delivery: Delivery, loss: Loss & { readonly cutoff: Ms }): boolean {
  // Few are, even if nothing was lost.
  if (!isPastCutoff(delivery, loss)) return false;
  return isPastCutoff({ ...delivery, held: delivery.held + lostTime(delivery, loss) }, loss);
}
