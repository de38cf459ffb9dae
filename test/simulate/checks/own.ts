import type { EventRow, Rows } from "../world/rows.ts";
import { type World, wrong } from "../world/world.ts";

/** What the daemon says itself, of a deletion or a membership, it says once. */
export function checkOwn(world: World, after: Rows): void {
  const seen = new Map<string, EventRow>();
  for (const event of after.events.values()) {
    if (!/^(audience|delete)-/.test(event.messageId)) continue;
    const other = seen.get(event.messageId);
    if (other) wrong(world, `${event.messageId} is event ${other.id}, and event ${event.id} as well`);
    seen.set(event.messageId, event);
  }
}
