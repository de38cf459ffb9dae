import type { ListedDelivery } from "../model/lookup.ts";
import { formatRate } from "../model/units.ts";
import type { heldBack } from "../wire/deliveries.ts";
import type { Answer } from "../wire/fields.ts";
import type { AdminWorld } from "./world.ts";

type Held = Answer<typeof heldBack>;

/** What holds back those of these deliveries that are due, by delivery. */
export function heldBackOf(
  deliveries: readonly ListedDelivery[],
  world: Pick<AdminWorld, "destinations" | "heldBack" | "pauses" | "clock">,
): ReadonlyMap<ListedDelivery, Held> {
  const { destinations, heldBack, pauses, clock } = world;
  const now = clock.now();
  const due = deliveries.filter(({ state, dueAt }) => state === "waiting" && dueAt !== null && dueAt <= now);
  const held = new Map<ListedDelivery, Held>();
  for (const [name, those] of Map.groupBy(due, ({ destination }) => destination)) {
    const destination = destinations().find((one) => one.name === name);
    if (!destination?.enabled || pauses.since(name) !== null) continue;
    const { by, running, inLineOf } = heldBack.of(destination);
    const inLine = inLineOf(new Set(those.map(({ id }) => id)));
    const { rate } = destination;
    for (const one of those) {
      if (inLine.has(one.id)) held.set(one, { by: "user", why: "an earlier delivery of the same user" });
      else if (by === "rate" && rate)
        held.set(one, { by, why: `its turn: ${name} takes ${formatRate(rate.requests, rate.per)}` });
      else if (by === "concurrency") held.set(one, { by, why: `its turn: ${runningWords(running)} to ${name}` });
    }
  }
  return held;
}

function runningWords(count: number): string {
  return count === 1 ? "a request is under way" : `${count} requests are under way`;
}
