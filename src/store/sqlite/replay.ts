import type { IsForgotten } from "../../model/deletion.ts";
import type { SettledState } from "../../model/delivery.ts";
import { type Fault, isFault } from "../../model/fault.ts";
import type { ListedDelivery, Lookup } from "../../model/lookup.ts";
import type { Clock } from "../../model/ports.ts";
import type { Replay, ReplayPage, Wish } from "../../model/replay.ts";
import type { At } from "../../model/units.ts";
import { isEnded } from "../ended.ts";
import type { Room } from "../room.ts";
import type { Commits } from "./commits.ts";
import { createReplayRows, type ReplayParts, type ReplayRows, type Settled } from "./replay-rows.ts";
import type { Superseding } from "./superseded.ts";

/** Deliveries in one transaction: their bodies are written, and nobody should wait long behind it. */
const IN_COMMIT = 100;

type ReplayWorld = ReplayParts & {
  readonly clock: Pick<Clock, "now" | "nextTurn">;
  readonly lookup: Pick<Lookup, "deliveries" | "delivery">;
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal" | "refusalToReplay">;
  readonly isForgotten: IsForgotten;
  readonly superseding: Superseding;
  /** Called when there is something to be read. */
  readonly moved: () => void;
  /** When the store cannot be written. */
  readonly failed: (error: unknown) => Fault;
};

export function createReplay(world: ReplayWorld): Replay {
  const rows = createReplayRows(world);
  const { lookup, clock, commits, tried, isForgotten } = world;
  return {
    page: (wish) => replayPage(wish, { ...world, rows }),
    async one(place) {
      const found = await lookup.delivery(place);
      if (found === null) return null;
      if (isForgotten(found)) return "deleted";
      if (isSettled(found)) {
        const done = await sendAgain([found], { mayBeOld: true }, { ...world, rows });
        if (isFault(done)) return done;
        return done.length > 0 ? "replayed" : "due";
      }
      const run = (): Hurried => (tried.hurry(place, clock.now()) ? "hurried" : "due");
      const hurried = await commits.add<Hurried | Fault>({ rows: 1, run, failed: world.failed });
      if (hurried === "hurried") await announce(world);
      return hurried;
    },
  };
}

type Hurried = "hurried" | "due";
type Rows = ReplayWorld & { readonly rows: ReplayRows };
type Found = ListedDelivery & { readonly state: SettledState };

function isSettled(one: ListedDelivery): one is Found {
  return one.state !== "waiting";
}

/**
 * Step by step, each a commit: where one fails, what was done before it is answered, with a cursor that leads to it; the next
 * page answers the fault. So an answer always says what was done.
 */
async function replayPage(wish: Wish, world: Rows): Promise<ReplayPage | "bad_cursor" | Fault> {
  const start = readCursor(wish, world.clock.now());
  if (start === "bad_cursor") return start;
  let cursor: Cursor | null = start;
  let page = NOTHING;
  for (let left = wish.page.limit; left > 0 && cursor !== null; ) {
    const step: StepResult = await replayStep(wish, { cursor, limit: Math.min(left, IN_COMMIT) }, world);
    if (step === "bad_cursor") return step;
    if (isFault(step)) return page.replayed.size > 0 ? { ...page, cursor: formatCursor(cursor) } : step;
    page = add(page, step);
    cursor = step.next;
    left -= step.found;
    // It has looked at as many as one request may, and has found none.
    if (step.found === 0 && cursor?.list) break;
  }
  return { ...page, cursor: cursor && formatCursor(cursor) };
}

type Step = ReplayPage & { readonly found: number; readonly next: Cursor | null };
type StepResult = Step | "bad_cursor" | Fault;
type StepOf = { readonly cursor: Cursor; readonly limit: number };

async function replayStep(
  { search, dryRun, isKnown }: Wish,
  { cursor, limit }: StepOf,
  world: Rows,
): Promise<StepResult> {
  const { state, until } = cursor;
  const list = await world.lookup.deliveries({ ...search, state, until }, { limit, cursor: cursor.list });
  if (list === "bad_cursor") return list;
  const found = list.deliveries.filter(isSettled);
  const { wanted = [], left = [], deleted = [], superseded = [] } = Object.groupBy(found, whatOf);
  const done = dryRun ? wanted : await sendAgain(wanted, { mayBeOld: false }, world);
  if (isFault(done)) return done;
  const next = afterwards(search, cursor, list.cursor);
  const counts = { left: left.length, deleted: deleted.length, superseded: superseded.length };
  return { ...describe(wanted, done), ...counts, cursor: null, found: found.length, next };

  function whatOf(one: Found): "wanted" | "left" | "deleted" | "superseded" {
    if (world.isForgotten(one)) return "deleted";
    if (!isKnown(one.destination)) return "left";
    if (world.superseding.isSuperseded(one)) return "superseded";
    return isEnded(one) ? "left" : "wanted";
  }
}

/** What failed is in one list, and what expired in another: they are gone through one after the other. */
function afterwards({ state: asked }: Wish["search"], before: Cursor, list: string | null): Cursor | null {
  const cursor = { ...before, until: before.untilNext };
  if (list !== null) return { ...cursor, list };
  return asked === null && cursor.state === "failed" ? { ...cursor, state: "expired", list: null } : null;
}

/** `mayBeOld`: the operator has named it, and wants it whatever has come since. */
type Wanting = { readonly mayBeOld: boolean };

/** Answers those that wait again. Somebody else may have been faster. */
async function sendAgain(
  wanted: readonly Found[],
  { mayBeOld }: Wanting,
  world: Rows,
): Promise<readonly Settled[] | Fault> {
  if (wanted.length === 0) return [];
  const { clock, commits, rows, room, failed, isForgotten, superseding } = world;
  const grows = wanted.some(({ state }) => state === "delivered");
  const refusal = room.refusal() ?? (grows ? room.refusalToReplay() : null);
  if (refusal) return refusal;
  const isOld = (one: Found): boolean => !mayBeOld && superseding.isSuperseded(one);
  const run = (): readonly Settled[] => {
    const now = clock.now();
    // Asked again: somebody may have been deleted since they were found, or something newer have come.
    const allowed = newestFirst(wanted).filter((one) => {
      if (isForgotten(one) || isOld(one)) return false;
      superseding.keep(one, now);
      return true;
    });
    return rows.run(allowed, now);
  };
  const done = await commits.add<readonly Settled[] | Fault>({ rows: wanted.length, run, failed });
  if (!isFault(done) && done.length > 0) await announce(world);
  return done;
}

/** Of several calls about a user who has left, the last one counts. */
function newestFirst(wanted: readonly Found[]): readonly Found[] {
  return wanted.toSorted((one, other) => other.id - one.id);
}

/**
 * Not before all that was settled by then is known to be so by whoever had it in memory: it would be passed over, as one
 * that is being sent.
 */
async function announce({ clock, moved }: ReplayWorld): Promise<void> {
  await clock.nextTurn();
  moved();
}

const NOTHING: ReplayPage = {
  ...{ replayed: new Map(), left: 0, deleted: 0, superseded: 0 },
  ...{ oldest: null, newest: null, cursor: null },
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
  wanted: readonly Found[],
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

/** Where a replay goes on. */
type Cursor = {
  /** The list that it goes through. */
  readonly state: SettledState;
  /** What came into its state from then on is left. */
  readonly until: At;
  /** The same for all that follows: what is settled after the replay began was not there to be wanted. */
  readonly untilNext: At;
  /** Where in the list; null at its beginning. */
  readonly list: string | null;
};

/** Reads the cursor of a page, or makes that of the first one. It has to be of the same filter. */
function readCursor({ search, page }: Wish, now: At): Cursor | "bad_cursor" {
  const states: readonly string[] = search.state === null ? ["failed", "expired"] : [search.state];
  if (page.cursor === null) {
    const until = search.until ?? now + 1;
    // What has settled in this very millisecond is wanted too, but only as it is found now: what is delivered later in it is not.
    return {
      ...{ state: search.state ?? "failed", list: null },
      ...{ until: Math.min(until, now + 1), untilNext: Math.min(until, now) },
    };
  }
  const [, state = "", until = "", list = ""] = /^([a-z]+):(\d{1,15}):(.*)$/.exec(page.cursor) ?? [];
  if (!states.includes(state) || Number(until) > (search.until ?? Number(until))) return "bad_cursor";
  const at = Number(until);
  return { state: state as SettledState, until: at, untilNext: at, list: list === "" ? null : list };
}

function formatCursor({ state, until, list }: Cursor): string {
  return `${state}:${until}:${list ?? ""}`;
}
