import type { SettledState } from "../../model/delivery.ts";
import { type Fault, isFault } from "../../model/fault.ts";
import type { ListedDelivery, Lookup, PageAsk, Search } from "../../model/lookup.ts";
import type { Clock } from "../../model/ports.ts";
import type { Replay, ReplayPage, Wish } from "../../model/replay.ts";
import type { At } from "../../model/units.ts";
import { OVERTAKEN } from "../../model/withdrawal.ts";
import type { Room } from "../room.ts";
import type { Commits } from "./commits.ts";
import type { Database } from "./driver.ts";
import { createReplayRows, type ReplayParts, type ReplayRows, type Settled } from "./replay-rows.ts";

/** Deliveries in one transaction: their bodies are written, and nobody should wait long behind it. */
const IN_COMMIT = 100;

export type ReplayWorld = ReplayParts & {
  readonly clock: Pick<Clock, "now" | "nextTurn">;
  readonly lookup: Pick<Lookup, "deliveries" | "delivery">;
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  /** Called when there is something to be read. */
  readonly moved: () => void;
  /** When the store cannot be written. */
  readonly failed: () => Fault;
};

export function createReplay(db: Database, world: ReplayWorld): Replay {
  const rows = createReplayRows(db, world);
  const { lookup, clock, commits, tried } = world;
  return {
    async page({ search, page, dryRun, isKnown }) {
      const found = await findSettled(search, page, lookup);
      if (found === "bad_cursor") return found;
      const wanted = found.deliveries.filter((one) => isKnown(one.destination) && !isOvertaken(one));
      const left = found.deliveries.length - wanted.length;
      if (dryRun) return { ...describe(wanted, wanted), left, cursor: found.cursor };
      const done = await sendAgain(wanted, { ...world, rows });
      return isFault(done) ? done : { ...describe(wanted, done), left, cursor: found.cursor };
    },
    async one(place) {
      const found = await lookup.delivery(place);
      if (found === null) return null;
      if (isSettled(found)) {
        const done = await sendAgain([found], { ...world, rows });
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

type Found = ListedDelivery & { readonly state: SettledState };

function isSettled(one: ListedDelivery): one is Found {
  return one.state !== "waiting";
}

function isOvertaken({ reason }: Found): boolean {
  return reason !== null && OVERTAKEN.has(reason);
}

/** What is given up has two lists, which are gone through one after the other: which one it is stands before the cursor. */
async function findSettled(
  search: Wish["search"],
  { limit, cursor }: PageAsk,
  lookup: ReplayWorld["lookup"],
): Promise<{ readonly deliveries: readonly Found[]; readonly cursor: string | null } | "bad_cursor"> {
  const [, state = search.state ?? "failed", rest = ""] = /^(failed|expired|delivered):(.*)$/.exec(cursor ?? "") ?? [];
  if (cursor !== null && !cursor.startsWith(`${state}:`)) return "bad_cursor";
  const wanted: Search = { ...search, state: state as SettledState };
  const page = await lookup.deliveries(wanted, { limit, cursor: rest === "" ? null : rest });
  if (page === "bad_cursor") return page;
  const isLast = search.state !== null || state === "expired";
  const next = page.cursor === null ? (isLast ? null : "expired:") : `${state}:${page.cursor}`;
  return { deliveries: page.deliveries.filter(isSettled), cursor: next };
}

type Rows = ReplayWorld & { readonly rows: ReplayRows };

/** Answers those that wait again. Somebody else may have been faster. */
async function sendAgain(wanted: readonly Found[], world: Rows): Promise<readonly Settled[] | Fault> {
  const { clock, commits, rows, room, failed } = world;
  const done: Settled[] = [];
  let fault: Fault | null = null;
  for (let from = 0; from < wanted.length && fault === null; from += IN_COMMIT) {
    const part = wanted.slice(from, from + IN_COMMIT);
    const run = (): readonly Settled[] => rows.run(part, clock.now());
    const job = { rows: part.length, run, failed };
    const result: readonly Settled[] | Fault = room.refusal() ?? (await commits.add<readonly Settled[] | Fault>(job));
    if (isFault(result)) fault = result;
    else done.push(...result);
  }
  if (done.length > 0) await announce(world);
  return fault ?? done;
}

/**
 * Not before all that was settled by then is known to be so by whoever had it in memory: it would be passed over, as one
 * that is being sent.
 */
async function announce({ clock, moved }: ReplayWorld): Promise<void> {
  await clock.nextTurn();
  moved();
}

function describe(wanted: readonly Found[], done: readonly Settled[]): Omit<ReplayPage, "left" | "cursor"> {
  const replayed = new Map<string, number>();
  for (const { destination } of done) replayed.set(destination, (replayed.get(destination) ?? 0) + 1);
  const times: readonly At[] = wanted.map(({ acceptedAt }) => acceptedAt);
  if (times.length === 0) return { replayed, oldest: null, newest: null };
  return { replayed, oldest: Math.min(...times), newest: Math.max(...times) };
}
