/** What is in the outbox, read through the ports of its store: the real ones, whatever fault the daemon has. */
import type { StoredClock } from "../../../src/model/destination-clock.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { ListedDelivery } from "../../../src/model/lookup.ts";
import type { QueuePosition, Store } from "../../../src/model/ports.ts";
import type { At, Ms } from "../../../src/model/units.ts";
import { isStoredAt, PEOPLE } from "./calls.ts";
import type { Reason } from "./clocks.ts";
import { SOURCES } from "./shape.ts";
import type { World } from "./world.ts";

export type Row = {
  readonly event: number;
  readonly destination: string;
  readonly state: string;
  readonly dueAt: At | null;
  readonly attempts: number;
  /** Read of those that wait or have expired. */
  readonly firstAttemptAt: At | null;
  /** Read of those that wait. */
  readonly stoodStill: Ms;
  readonly settledAt: At | null;
  readonly reason: string | null;
  readonly replayedAt: At | null;
  readonly source: string;
  readonly messageId: string;
  readonly userId: string | null;
};

export type EventRow = {
  readonly id: number;
  readonly source: string;
  readonly type: string;
  readonly messageId: string;
  readonly userId: string | null;
  readonly acceptedAt: At;
};

/** `upTo`: the newest event when the deletion was asked for. */
export type NoticeRow = {
  readonly source: string;
  readonly userId: string | null;
  readonly event: number;
  readonly upTo: number;
};

export type ClockRow = {
  readonly destination: string;
  readonly reasons: readonly Reason[];
  readonly stoppedAt: At | null;
  readonly stoodStill: Ms;
};

export type Rows = {
  /** All that were ever seen. */
  readonly events: ReadonlyMap<number, EventRow>;
  /** By `keyOf`. */
  readonly deliveries: ReadonlyMap<string, Row>;
  readonly notices: readonly NoticeRow[];
  readonly paused: ReadonlySet<string>;
  /** Of the destinations whose clock has ever stood still. */
  readonly clocks: ReadonlyMap<string, ClockRow>;
  /** Of audiences, as `source name`. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** Deletions and syncs that are not done. */
  readonly unfinished: readonly string[];
};

export const NO_ROWS: Rows = {
  events: new Map(),
  deliveries: new Map(),
  notices: [],
  paused: new Set(),
  clocks: new Map(),
  members: new Map(),
  unfinished: [],
};

export function keyOf(event: number, destination: string): string {
  return `${event} ${destination}`;
}

/** As an operator would say it, with the message. */
export function nameOf({ event, messageId, destination }: Row): string {
  return `${event}-${destination} (${messageId})`;
}

/** Reads the store of the process that runs. Time stands still meanwhile, and the process does not die. */
export async function readRows(world: World): Promise<Rows> {
  const { store } = world.life;
  if (store === null) throw new Error("there is no store to be read");
  world.reading = true;
  try {
    const listed = await readDeliveries(store);
    const events = new Map(world.rows.events);
    for (const one of listed) events.set(one.id, toEvent(one));
    await addWithoutDeliveries(world, store, events);
    const clocks = (await store.clocks.all()).map(toClock);
    return {
      events,
      deliveries: await toRows(world, store, listed),
      paused: new Set(clocks.filter(({ reasons }) => reasons.includes("paused")).map(({ destination }) => destination)),
      clocks: new Map(clocks.map((clock) => [clock.destination, clock])),
      members: await readMembers(store),
      ...(await readDeletions(store, events)),
    };
  } finally {
    world.reading = false;
  }
}

const EVERYTHING = {
  state: null,
  destination: null,
  source: null,
  type: null,
  user: null,
  since: null,
  until: null,
};
const PAGE = 1_000;

async function readDeliveries({ lookup }: Store): Promise<readonly ListedDelivery[]> {
  const all: ListedDelivery[] = [];
  let cursor: string | null = null;
  do {
    const page = await lookup.deliveries(EVERYTHING, { limit: PAGE, cursor });
    if (isFault(page)) throw new Error(page.message);
    all.push(...page.deliveries);
    cursor = page.cursor;
  } while (cursor !== null);
  // As they came.
  return all.reverse();
}

/** Events that are for nobody are found by their messageId only: those of calls of which it is not known whether they are stored. */
async function addWithoutDeliveries(world: World, { lookup }: Store, events: Map<number, EventRow>): Promise<void> {
  const { ledger, answers, step } = world;
  const answered = new Set(answers.flatMap(({ entries }) => entries));
  const found = Map.groupBy(events.values(), ({ source, messageId }) => `${source} ${messageId}`);
  const wanted = ledger.all().filter((entry) => {
    const known = found.get(`${entry.source} ${entry.messageId}`) ?? [];
    if (entry.event !== null || known.some(({ acceptedAt }) => isStoredAt(entry, acceptedAt))) return false;
    return entry.step === step || entry.open > 0 || answered.has(entry);
  });
  for (const messageId of new Set(wanted.map((entry) => entry.messageId))) {
    const trail = await lookup.event(messageId, SOURCES);
    for (const { skipped, deliveries, forgotten, whole, ...event } of trail.events) events.set(event.id, event);
  }
}

async function toRows(world: World, store: Store, listed: readonly ListedDelivery[]): Promise<Rows["deliveries"]> {
  const begun = await readBegun(world, store, listed);
  const rows = new Map<string, Row>();
  for (const one of listed) {
    const { id: event, destination, state } = one;
    const key = keyOf(event, destination);
    const { firstAttemptAt = null, stoodStill = 0 } = begun.get(key) ?? {};
    const { attempts, dueAt, settledAt, reason, replayedAt, source, messageId, userId } = one;
    const of = { event, destination, state, source, messageId, userId };
    rows.set(key, { ...of, attempts, dueAt, settledAt, reason, replayedAt, firstAttemptAt, stoodStill });
  }
  return rows;
}

type Begun = { readonly firstAttemptAt: At | null; readonly stoodStill?: Ms };

/** When the first attempts began. Of what waits, each daemon knows its share. */
async function readBegun(
  { lives }: World,
  { lookup }: Store,
  listed: readonly ListedDelivery[],
): Promise<ReadonlyMap<string, Begun>> {
  const begun = new Map<string, Begun>();
  const waiting = listed.filter(({ state, attempts }) => state === "waiting" && attempts > 0);
  const destinations = new Set(waiting.map((one) => one.destination));
  for (const { store, dead, frozen, cutOff } of lives)
    if (store && !dead && !frozen && !cutOff) await readRetries(store, destinations, begun);
  for (const place of listed.filter(({ state }) => state === "expired")) {
    const detail = await lookup.delivery(place);
    if (detail) begun.set(keyOf(place.id, place.destination), { firstAttemptAt: detail.firstAttemptAt });
  }
  return begun;
}

async function readRetries(
  { readQueue }: Store,
  destinations: ReadonlySet<string>,
  begun: Map<string, Begun>,
): Promise<void> {
  for (const destination of destinations) {
    let after: QueuePosition | null = null;
    for (let more = true; more; ) {
      const ask = { destination, queue: "retry", after, dueBy: Number.MAX_SAFE_INTEGER, limit: PAGE } as const;
      const page = await readQueue(ask);
      for (const one of page.deliveries) begun.set(keyOf(one.id, destination), one);
      after = page.upTo ?? page.deliveries.at(-1) ?? after;
      more = page.more;
    }
  }
}

async function readMembers({ members }: Store): Promise<Rows["members"]> {
  const all = await members.all();
  const entries = all.map(async ({ source, name, number }) => {
    return [`${source} ${name}`, new Set((await members.values(number, PEOPLE)).keys())] as const;
  });
  return new Map(await Promise.all(entries));
}

/** A notification is known by its messageId, which begins as the id of its deletion does. */
async function readDeletions(
  { deletions: stored, members }: Store,
  events: ReadonlyMap<number, EventRow>,
): Promise<Pick<Rows, "notices" | "unfinished">> {
  const { deletions } = await stored.page({ limit: PAGE, cursor: null, user: null });
  const running = deletions.filter(({ status }) => status === "running");
  const notices = [...events.values()].flatMap(({ id: event, type, source, userId, messageId }) => {
    if (type !== "delete") return [];
    const deletion = deletions.find(({ id }) => messageId.startsWith(id.replace(/^del-/, "delete-")));
    return deletion ? [{ source, userId, event, upTo: deletion.upTo }] : [];
  });
  const syncs = await members.open();
  return { notices, unfinished: [...running.map(({ id }) => id), ...syncs.map(({ sync }) => sync.id)] };
}

function toClock({ destination, pausedAt, unservedAt, offlineAt, stoppedAt, stoodStill }: StoredClock): ClockRow {
  const since = { paused: pausedAt, unserved: unservedAt, offline: offlineAt };
  const reasons = (["paused", "unserved", "offline"] as const).filter((why) => since[why] !== null);
  return { destination, reasons, stoppedAt, stoodStill };
}

function toEvent({ id, source, type, messageId, userId, acceptedAt }: ListedDelivery): EventRow {
  return { id, source, type, messageId, userId, acceptedAt };
}
