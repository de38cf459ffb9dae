import type { Delivery, Settlement } from "../model/delivery.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Settle } from "../model/ports.ts";
import { SECOND } from "../model/units.ts";
import type { LoopWorld } from "./loop.ts";

/** How often a stopping daemon tries to write a settlement, once a second. */
const TRIES_WHEN_STOPPING = 5;

type WriteWorld = Pick<LoopWorld, "settle" | "clock" | "observer" | "report" | "stopping" | "limits">;

type Written = Exclude<Awaited<ReturnType<Settle>>, Fault>;

/**
 * Tries until the store has written the settlement, because sending the delivery again would be worse than waiting. A
 * stopping daemon gives up after a few tries, or at once when its attempts are released. Answers null if it gave up: the
 * delivery is sent again after the next start.
 */
export async function writeSettlement(
  delivery: Delivery,
  settlement: Settlement,
  world: WriteWorld,
): Promise<Written | null> {
  const { clock, observer, report, stopping, limits } = world;
  let triesLeft = TRIES_WHEN_STOPPING;
  while (triesLeft > 0 && !limits.released()) {
    const written = await world.settle(delivery, settlement);
    if (written === "written") {
      report.settled(delivery, settlement);
      if (settlement.state === "failed" || settlement.state === "expired") observer.givenUp(delivery, settlement);
    }
    if (!isFault(written)) return written;
    if (stopping.aborted) triesLeft -= 1;
    await clock.sleep(SECOND, limits.signal);
  }
  return null;
}
