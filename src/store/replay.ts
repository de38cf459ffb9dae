import type { SettledState } from "../model/delivery.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { ListedDelivery, Lookup } from "../model/lookup.ts";
import type { Clock } from "../model/ports.ts";
import { type Replay, type ReplayPage, USER_DELETED, type Wish } from "../model/replay.ts";
import type { At } from "../model/units.ts";
import { SUPERSEDED, USER_DELETED as USER_WAS_DELETED } from "../model/waiting-deliveries.ts";
import { BAD_CURSOR } from "./listing.ts";
import type { Room } from "./room.ts";

/** Deliveries in one commit, which writes their bodies and has to stay short. */
const IN_COMMIT = 100;

/** A delivery that was settled when it was looked up. */
export type Settled = ListedDelivery & { readonly state: SettledState };

/** What an engine does for a replay. */
export type ReplaySteps = {
  /** Which of these are not sent again, and why. */
  outdated(found: readonly ListedDelivery[]): Promise<ReadonlyMap<ListedDelivery, "deleted" | "superseded">>;
  /**
   * One commit: makes those wait again that are still settled so, and are not outdated by then. Answers them. With `mayBeOld`
   * the operator has named them, and wants them although something newer has come.
   */
  sendAgain(settled: readonly Settled[], mayBeOld: boolean): Promise<readonly Settled[] | Fault>;
  /** Makes a delivery that waits due now. */
  hurry(place: Pick<ListedDelivery, "id" | "destination">): Promise<"hurried" | "due" | Fault>;
};

type ReplayParts = {
  readonly steps: ReplaySteps;
  readonly clock: Pick<Clock, "now" | "nextTurn">;
  readonly lookup: Pick<Lookup, "deliveries" | "delivery">;
  readonly room: Pick<Room, "refusal" | "refusalToReplay">;
  /** Called when deliveries wait again. */
  readonly moved: () => void;
};

export function createReplay(parts: ReplayParts): Replay {
  return {
    page: (wish) => replayPage(wish, parts),
    async one(place) {
      const found = await parts.lookup.delivery(place);
      if (found === null) return null;
      if ((await parts.steps.outdated([found])).get(found) === "deleted") return USER_DELETED;
      if (!isSettled(found)) {
        const hurried = await parts.steps.hurry(place);
        if (hurried === "hurried") await announce(parts);
        return hurried;
      }
      const done = await sendAgain([found], true, parts);
      if (isFault(done)) return done;
      return done.length > 0 ? "replayed" : "due";
    },
  };
}

function isSettled(one: ListedDelivery): one is Settled {
  return one.state !== "waiting";
}

/**
 * Step by step, each a commit: where one fails, what was done before it is answered, with a cursor that leads to it; the next
 * page answers the fault. So an answer always says what was done.
 */
async function replayPage(wish: Wish, parts: ReplayParts): Promise<ReplayPage | Fault> {
  const start = readCursor(wish, parts.clock.now());
  if (isFault(start)) return start;
  let cursor: Cursor | null = start;
  let page = NOTHING;
  for (let left = wish.page.limit; left > 0 && cursor !== null; ) {
    const step: StepResult = await replayStep(wish, { cursor, limit: Math.min(left, IN_COMMIT) }, parts);
    if (isFault(step)) return page.replayed.size > 0 ? { ...page, cursor: formatCursor(cursor) } : step;
    page = add(page, step);
    cursor = step.next;
    left -= step.found;
    // The lookup has read as many rows as one request may, and has found nothing.
    if (step.found === 0 && cursor?.list) break;
  }
  return { ...page, cursor: cursor && formatCursor(cursor) };
}

type Step = ReplayPage & { readonly found: number; readonly next: Cursor | null };
type StepResult = Step | Fault;
type StepOf = { readonly cursor: Cursor; readonly limit: number };

async function replayStep(
  { search, dryRun, isKnown }: Wish,
  { cursor, limit }: StepOf,
  parts: ReplayParts,
): Promise<StepResult> {
  const { state, until } = cursor;
  const list = await parts.lookup.deliveries({ ...search, state, until }, { limit, cursor: cursor.list });
  if (isFault(list)) return list;
  const found = list.deliveries.filter(isSettled);
  const outdated = await parts.steps.outdated(found);
  const {
    wanted = [],
    left = [],
    deleted = [],
    superseded = [],
  } = Object.groupBy(found, (one) => {
    const why = outdated.get(one);
    if (why === "deleted") return why;
    if (!isKnown(one.destination)) return "left";
    return why ?? (isEnded(one) ? "left" : "wanted");
  });
  const done = dryRun ? wanted : await sendAgain(wanted, false, parts);
  if (isFault(done)) return done;
  const next = afterwards(search, cursor, list.cursor);
  const counts = { left: left.length, deleted: deleted.length, superseded: superseded.length };
  return { ...describe(wanted, done), ...counts, cursor: null, found: found.length, next };
}

/** Failed and expired deliveries are in two lists, which are read one after the other. */
function afterwards({ state: asked }: Wish["search"], before: Cursor, list: string | null): Cursor | null {
  const cursor = { ...before, until: before.untilNext };
  if (list !== null) return { ...cursor, list };
  return asked === null && cursor.state === "failed" ? { ...cursor, state: "expired", list: null } : null;
}

/** Answers those that wait again; another request may have replayed the others. */
async function sendAgain(
  wanted: readonly Settled[],
  mayBeOld: boolean,
  parts: ReplayParts,
): Promise<readonly Settled[] | Fault> {
  if (wanted.length === 0) return [];
  const { room } = parts;
  const grows = wanted.some(({ state }) => state === "delivered");
  const refusal = room.refusal() ?? (grows ? room.refusalToReplay() : null);
  if (refusal) return refusal;
  const done = await parts.steps.sendAgain(wanted, mayBeOld);
  if (!isFault(done) && done.length > 0) await announce(parts);
  return done;
}

/**
 * Waits a turn first: the delivery loop must have processed what it has settled. It would otherwise skip a delivery as one
 * that it is still sending.
 */
async function announce({ clock, moved }: ReplayParts): Promise<void> {
  await clock.nextTurn();
  moved();
}

const NOTHING: ReplayPage = {
  replayed: new Map(),
  left: 0,
  deleted: 0,
  superseded: 0,
  oldest: null,
  newest: null,
  cursor: null,
};

function add(page: ReplayPage, step: Step): ReplayPage {
  const replayed = new Map(page.replayed);
  for (const [destination, count] of step.replayed) replayed.set(destination, (replayed.get(destination) ?? 0) + count);
  const times = [page.oldest, page.newest, step.oldest, step.newest].filter((at) => at !== null);
  const counts = {
    left: page.left + step.left,
    deleted: page.deleted + step.deleted,
    superseded: page.superseded + step.superseded,
  };
  return { replayed, ...counts, ...span(times), cursor: null };
}

function describe(
  wanted: readonly Settled[],
  done: readonly Settled[],
): Pick<ReplayPage, "replayed" | "oldest" | "newest"> {
  const byName = Map.groupBy(done, ({ destination }) => destination);
  const replayed = new Map([...byName].map(([name, those]) => [name, those.length]));
  return { replayed, ...span(wanted.map(({ acceptedAt }) => acceptedAt)) };
}

function span(times: readonly At[]): Pick<ReplayPage, "oldest" | "newest"> {
  if (times.length === 0) return { oldest: null, newest: null };
  return { oldest: Math.min(...times), newest: Math.max(...times) };
}

/** Where a replay continues. */
type Cursor = {
  /** The list that it goes through. */
  readonly state: SettledState;
  /** Deliveries that came into their state from then on are left. */
  readonly until: At;
  /** The same for the pages that follow: what settles after the replay began is not part of it. */
  readonly untilNext: At;
  /** Where in the list; null at its beginning. */
  readonly list: string | null;
};

/** Reads the cursor of a page, or makes that of the first one. It has to be of the same filter. */
function readCursor({ search, page }: Wish, now: At): Cursor | Fault {
  const states: readonly string[] = search.state === null ? ["failed", "expired"] : [search.state];
  if (page.cursor === null) {
    const until = search.until ?? now + 1;
    // Deliveries that settled in this millisecond are included on the first page only: later ones may settle in it still.
    return {
      state: search.state ?? "failed",
      until: Math.min(until, now + 1),
      untilNext: Math.min(until, now),
      list: null,
    };
  }
  const [, state = "", until = "", list = ""] = /^([a-z]+):(\d{1,15}):(.*)$/.exec(page.cursor) ?? [];
  if (!states.includes(state) || Number(until) > (search.until ?? Number(until))) return BAD_CURSOR;
  const at = Number(until);
  return { state: state as SettledState, until: at, untilNext: at, list: list === "" ? null : list };
}

function formatCursor({ state, until, list }: Cursor): string {
  return `${state}:${until}:${list ?? ""}`;
}

/** The reason of a delivery that `fairlead discard` has given up. */
export const DISCARDED = "discarded by operator";

/** The reason of a delivery that could not be moved, because the other destination already has its event. */
export function hasAlready(to: string): string {
  return `${to}${DOUBLED}`;
}

// Outboxes hold this text: a replay recognises it.
const DOUBLED = " has this event already";

const WITHDRAWN: readonly string[] = [SUPERSEDED, USER_WAS_DELETED];

/** Whether a delivery was ended by command or replaced, in place of being refused by its receiver. A replay leaves those. */
function isEnded({ state, reason }: Pick<ListedDelivery, "state" | "reason">): boolean {
  if (state !== "failed" || reason === null) return false;
  return reason === DISCARDED || WITHDRAWN.includes(reason) || reason.endsWith(DOUBLED);
}
