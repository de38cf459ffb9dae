import { DAY, GB, HOUR } from "../../../src/model/units.ts";
import { type Entry, isStoredAt } from "../world/calls.ts";
import { type EventRow, keyOf, type Rows } from "../world/rows.ts";
import { isTaken } from "../world/tracks.ts";
import { type World, wrong } from "../world/world.ts";

/** What was acknowledged is in the outbox: as it is, or as what it is a repeat of. */
export function checkAnswers(world: World, before: Rows, after: Rows): void {
  for (const answer of world.answers) for (const entry of answer.entries) checkOne(world, entry);
  if (world.ended === 0 && !isCleared(world) && !isUnanswered(world)) checkCounts(world, before, after);
  world.answers.length = 0;
}

/** Where several daemons share the outbox, what is stored may be answered in a later step, or never. */
function isUnanswered({ engine, ledger, disturbedAt, stepAt }: World): boolean {
  return engine.isShared && (disturbedAt >= stepAt || ledger.all().some(({ open }) => open > 0));
}

function checkOne(world: World, entry: Entry): void {
  const { source, messageId } = entry;
  entry.acked = true;
  if (entry.event !== null) return;
  const others = world.ledger
    .of(source, messageId)
    .filter((other) => other !== entry && (other.event !== null || other.gone));
  if (others.some((other) => entry.at - other.at <= DAY)) return;
  // It came and went in this step: every receiver has it.
  const has = (destination: string): boolean => world.tracks.of(messageId, destination).some(isTaken);
  if (isCleared(world) && [...entry.takers].every(has)) {
    entry.gone = true;
    return;
  }
  const what =
    others.length > 0 ? "it was taken for a repeat of one from more than a day ago" : "it is not in the outbox";
  wrong(world, `${messageId} of ${source} was acknowledged, and ${what}`);
}

function checkCounts({ answers, told, ...world }: World, before: Rows, after: Rows): void {
  const accepted = sum(answers, ({ accepted }) => accepted);
  const stored = [...after.events.values()].filter(
    ({ id, messageId }) => !before.events.has(id) && /^m\d+$/.test(messageId),
  );
  if (stored.length !== accepted)
    wrong(world as World, `${accepted} calls were acknowledged as new, ${stored.length} are`);
  const reports = told.filter(({ what, args }) => what === "callsAccepted" && isOfPrograms(args[1]));
  const counted = sum(reports, ({ args }) => (args[1] as unknown[]).length - Number(args[2]));
  if (counted < accepted) wrong(world as World, `${accepted} calls were acknowledged as new, ${counted} were counted`);
}

/** Those of this server's own are told likewise. */
function isOfPrograms(types: unknown): boolean {
  return Array.isArray(types) && types.some((type) => type !== "delete");
}

function sum<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((all, one) => all + of(one), 0);
}

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
  const all = ledger.of(source, messageId).filter((entry) => entry.event === null && isStoredAt(entry, acceptedAt));
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
