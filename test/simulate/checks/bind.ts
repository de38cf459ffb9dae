import { DAY, GB, HOUR } from "../../../src/model/units.ts";
import type { Entry } from "../world/ledger.ts";
import { type EventRow, keyOf, type Rows } from "../world/rows.ts";
import { type World, wrong } from "../world/world.ts";

/** Every event of a program is one that was sent and not refused, stored once in 24 hours, and owed to whom it is for. */
export function checkEvents(world: World, before: Rows, after: Rows): void {
  for (const event of after.events.values()) {
    if (before.events.has(event.id) || !/^m\d+$/.test(event.messageId)) continue;
    const entry = find(world, event);
    if (!entry) wrong(world, `event ${event.id} (${event.messageId} of ${event.source}) was never sent`);
    else checkNew(world, entry, { event, after });
  }
}

function find({ ledger }: World, { source, messageId, acceptedAt }: EventRow): Entry | undefined {
  // A clock that was set back can come to the same time twice.
  const all = ledger.of(source, messageId).filter((entry) => entry.event === null && entry.at === acceptedAt);
  return all.findLast(({ refused }) => !refused) ?? all.at(-1);
}

type Found = { readonly event: EventRow; readonly after: Rows };

function checkNew(world: World, entry: Entry, { event, after }: Found): void {
  const name = `event ${event.id} (${event.messageId} of ${event.source})`;
  const within = world.forgetful ? HOUR : DAY;
  const twin = world.ledger
    .of(event.source, event.messageId)

    .find((other) => (other.event !== null || other.gone) && Math.abs(other.at - entry.at) <= within);
  if (twin) wrong(world, `${name} is a repeat of event ${twin.event}, and was stored all the same`);
  entry.event = event.id;
  if (entry.refused) wrong(world, `${name} was refused, and is stored`);
  if (isCleared(world)) return;
  const owed = [...entry.takers].filter((destination) => !after.deliveries.has(keyOf(event.id, destination)));
  if (owed.length > 0) wrong(world, `${name} is owed to ${owed.join(", ")}, and does not wait for it`);
}

/** Something was removed in this step, or has changed its place: what came and went in it was never seen. */
export function isCleared(world: World): boolean {
  return world.moving !== null || isPruned(world) || (world.ended > 0 && isCramped(world));
}

export function isPruned({ told }: World): boolean {
  return told.some(({ what }) => what === "pruned");
}

/** There are bounds that may be near: delivered ones go before their time. */
export function isCramped({ shape }: World): boolean {
  return shape.maxSize < GB || shape.freeDisk > 0;
}
