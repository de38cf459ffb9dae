import { type At, type Ms, SECOND } from "../../../src/model/units.ts";
import { isServed } from "../acts/config.ts";
import { isStopped } from "../world/clocks.ts";
import { nameOf, type Row, type Rows } from "../world/rows.ts";
import { type DestinationName, urlOf } from "../world/shape.ts";
import { countSince, noteTurn } from "../world/tracks.ts";
import { meet, type World, wrong } from "../world/world.ts";
import { isHeldBack } from "./rate.ts";
import type { Judged } from "./requests.ts";

/**
 * A receiver that answers is not dead, whatever it says: what is due for it has its turn. `SOON`: without anything in front of
 * it. `EACH`: for each that was asked meanwhile, as slowly as one that refuses everything may be asked.
 */
const SOON: Ms = 10 * SECOND;
const EACH: Ms = SECOND;

/** A first attempt waits for other first attempts only, however many retries there are. */
export function checkFirst({ asked: { track, before, at, isNewRound }, world }: Judged): string | null {
  const { turns } = world;
  const { destination } = track;
  // Where several daemons have lanes, one of them does not know how busy a receiver is with the others.
  if (!isNewRound || world.engine.isShared) return null;
  // It may wait for an earlier one of its user, for as long as that is retried.
  if (world.shape.isOrdered) return null;
  noteTurn(turns.rounds, destination, at);
  // One that could not leave the machine was tried all the same, and has its wait.
  if (before.asked > 0 || track.replayedIn !== null) return null;
  noteTurn(turns.firsts, destination, at);
  const acceptedAt = world.ledger.byBody(track.body)?.at;
  const since = answersSince(world, destination, "any");
  if (acceptedAt === undefined || since === null) return null;
  meet(world, "first attempts at receivers that answer");
  return judge(Math.max(since, acceptedAt), at, (from) => countSince(turns.firsts, destination, from));
}

/** And whatever is due waits only while others are asked. */
export function checkTurns(world: World, after: Rows): void {
  const { turns, life } = world;
  const now = life.clock.now();
  if (world.shape.isOrdered) return;
  for (const row of after.deliveries.values()) {
    const { state, destination, dueAt } = row;
    if (state !== "waiting" || (dueAt ?? 0) > now || after.paused.has(destination)) continue;
    const isFirst = row.attempts === 0 && row.replayedAt === null;
    // One that has refused it for good is not asked again: then the others count.
    const since = answersSince(world, destination, isFirst ? "any" : "all");
    if (since === null) continue;
    const counted = isFirst ? turns.firsts : turns.rounds;
    const found = judge(Math.max(since, dueAt ?? 0), now, (from) => countSince(counted, destination, from));
    if (found) wrong(world, `${nameOf(row)} ${describe(row)}, and ${found}`);
  }
}

function describe({ attempts }: Row): string {
  return attempts === 0 ? "was never sent" : `waits for attempt ${attempts + 1}`;
}

function judge(since: At, at: At, count: (from: At) => number): string | null {
  if (at - since <= SOON) return null;
  const most = SOON + EACH * count(since);
  return at - since <= most ? null : `its receiver answers, and it waits for ${at - since} ms of at most ${most}`;
}

/** Since when receivers of a destination answer, and nothing else is in the way; null if they do not. */
function answersSince(world: World, destination: string, which: "any" | "all"): At | null {
  const { shape, nextShape, turns, refusing, vanished, stops } = world;
  const name = destination as DestinationName;
  if (nextShape || !isServed(shape, name) || isStopped(world, destination) || world.paused.has(destination))
    return null;
  if ((refusing !== null && refusing.times > 0) || vanished === "truncated") return null;
  const { webhooks } = shape.destinations[name];
  const times = webhooks.flatMap((webhook) => turns.answering.get(urlOf(destination, webhook)) ?? []);
  if (times.length === 0 || (which === "all" && times.length < webhooks.length)) return null;
  const ends = stops
    .filter((one) => one.destination === destination)
    .map(({ until }) => until ?? Number.MAX_SAFE_INTEGER);
  return Math.max(turns.upsetAt, which === "any" ? Math.min(...times) : Math.max(...times), ...ends);
}

/** Where all was well all the time, nothing that is due waits: a wake-up that is lost is seen at once. */
export function checkPrompt(world: World, after: Rows): void {
  if (world.refusing !== null && world.refusing.times > 0) return;
  const now = world.life.clock.now();
  for (const row of after.deliveries.values()) {
    if (row.state !== "waiting" || (row.dueAt ?? 0) > now) continue;
    const { destination } = row;
    if (world.troubled.has(destination) || after.paused.has(destination)) continue;
    if (!isServed(world.shape, destination as never) || isHeldBack(world, destination, now)) continue;
    wrong(world, `${nameOf(row)} is due, its receiver is well, and nothing is sent`);
  }
}
