import { suggest } from "../config/suggest.ts";
import type { Destination } from "../model/destination.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";
import type { Pauses } from "../model/pause.ts";
import type { Backlog } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { SECOND } from "../model/units.ts";
import type { Discarded, Moved, Redirect, Unserved, WhileIdle } from "../model/unserved.ts";

/** Where a destination may be known: in the config in force, or in the outbox. */
export type KnownWorld = {
  readonly destinations: () => readonly Destination[];
  readonly backlog: Pick<Backlog, "counts">;
};

export type UnservedWorld = KnownWorld & {
  readonly pauses: Pick<Pauses, "since">;
  readonly unserved: Unserved;
  readonly whileIdle: WhileIdle;
  readonly report: Pick<Report, "discarded" | "moved">;
};

/**
 * How many deliveries wait for a destination that is removed, disabled or paused. Faults: `unknown_destination`, and
 * `destination_in_use` for one that is served.
 */
export async function countWaiting(name: string, world: UnservedWorld): Promise<number | Fault> {
  const isEnabled = world.destinations().some((one) => one.name === name && one.enabled);
  if (isEnabled && world.pauses.since(name) === null) return inUse(name);
  return (await refuseUnknown(name, world)) ?? waitingFor(name, world);
}

/** The fault `unknown_destination`, for one that is neither in the config nor in the outbox; else null. */
export async function refuseUnknown(name: string, { destinations, backlog }: KnownWorld): Promise<Fault | null> {
  const stored = (await backlog.counts()).filter(({ count }) => count > 0);
  const known = [...destinations().map((one) => one.name), ...stored.map(({ destination }) => destination)];
  return known.includes(name) ? null : unknownName("unknown_destination", name, known);
}

/** The fault `unknown_destination`, for one that is not in the config (any more); else null. */
export function refuseRemoved(name: string, { destinations }: Pick<KnownWorld, "destinations">): Fault | null {
  const names = destinations().map((one) => one.name);
  return names.includes(name) ? null : unknownName("unknown_destination", name, names);
}

/** How many deliveries wait for a destination, whatever it is. */
export async function waitingFor(name: string, { backlog }: Pick<KnownWorld, "backlog">): Promise<number> {
  const counts = (await backlog.counts()).filter(({ destination }) => destination === name);
  return counts.find(({ state }) => state === "waiting")?.count ?? 0;
}

/** The same, of those that are to be moved. Faults: also `invalid_request`, and `unknown_destination` for the new one. */
export async function countMovable({ from, to }: Redirect, world: UnservedWorld): Promise<number | Fault> {
  const waiting = await countWaiting(from, world);
  if (isFault(waiting)) return waiting;
  if (from === to) return fault("invalid_request", `to: must be another destination than ${from}`);
  return refuseRemoved(to, world) ?? waiting;
}

/** Faults: those of `countWaiting`, `destination_busy` and `store_failed`. */
export async function discardPage(name: string, limit: number, world: UnservedWorld): Promise<Discarded | Fault> {
  const waiting = await countWaiting(name, world);
  if (isFault(waiting)) return waiting;
  const page = await world.whileIdle(name, () => world.unserved.discard(name, limit));
  if (typeof page === "string") return notIdle(name, page);
  if (!isFault(page) && page.discarded > 0) world.report.discarded(name, page.discarded);
  return page;
}

/** Faults: those of `countMovable`, `destination_busy` and `store_failed`. */
export async function movePage(by: Redirect, limit: number, world: UnservedWorld): Promise<Moved | Fault> {
  const waiting = await countMovable(by, world);
  if (isFault(waiting)) return waiting;
  const page = await world.whileIdle(by.from, () => world.unserved.move(by, limit));
  if (typeof page === "string") return notIdle(by.from, page);
  if (!isFault(page) && page.moved + page.doubled > 0) world.report.moved(by, page);
  return page;
}

function notIdle(name: string, why: "served" | "busy"): Fault {
  if (why === "served") return inUse(name);
  // What is under way could still be delivered here, and then a second time elsewhere.
  return fault("destination_busy", `attempts for ${name} that were begun before still run; try again`, SECOND);
}

function inUse(name: string): Fault {
  const remedy = "pause it, disable it, or remove it from the config, before you move or discard what waits for it";
  return fault("destination_in_use", `${name} is served now; ${remedy}`);
}

const NOUNS = { unknown_destination: "destination", unknown_source: "source" } as const;
/** Of so many names, all are listed where none is near. */
const MOST_NAMED = 10;

/** The fault of a name that nothing has: with the one that was probably meant, else with those that there are. */
export function unknownName(code: FaultCode & keyof typeof NOUNS, name: string, names: readonly string[]): Fault {
  const known = [...new Set(names)];
  const meant = suggest(name, known);
  const all = known.length === 0 ? "; there are none" : `; known are ${known.join(", ")}`;
  const list = known.length > MOST_NAMED ? "" : all;
  const hint = meant === null ? list : `; did you mean ${meant}?`;
  return fault(code, `there is no ${NOUNS[code]} ${JSON.stringify(name.slice(0, 100))}${hint}`);
}
