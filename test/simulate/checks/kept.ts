import { type Ms, SECOND } from "../../../src/model/units.ts";
import { stoodStillAtLeast } from "../world/clocks.ts";
import { keyOf, nameOf, type Row, type Rows } from "../world/rows.ts";
import { isTaken } from "../world/tracks.ts";
import { meet, type World, wrong } from "../world/world.ts";
import { isCramped, isPruned } from "./answers.ts";

/**
 * A delivery that was once in the outbox is there still, or there is a good reason why it is not: it was settled and kept long
 * enough, or its user was erased, or it was moved. And it changes only as it may.
 */
export function checkKept(world: World, before: Rows, after: Rows): void {
  for (const [key, was] of before.deliveries) {
    const is = after.deliveries.get(key);
    if (!is) checkGone(world, was, after);
    // Erased: of what it was, only its letter is left.
    else checkChange(world, was, is.messageId === "" ? { ...is, ...namesOf(was) } : is);
  }
  for (const [key, is] of after.deliveries) if (!before.deliveries.has(key)) checkBorn(world, is, before);
}

function namesOf({ messageId, source, userId }: Row): Pick<Row, "messageId" | "source" | "userId"> {
  return { messageId, source, userId };
}

function checkGone(world: World, was: Row, after: Rows): void {
  const { moving } = world;
  if (was.state === "waiting" && moving?.from === was.destination) {
    if (after.deliveries.has(keyOf(was.event, moving.to))) {
      noteMoved(world, was, moving.to);
      return;
    }
    // Moved, taken by its new receiver, and removed to make room: all in one step.
    if (isEnded(world, { ...was, destination: moving.to }) && isPruned(world)) {
      changeTaker(world, was, moving.to);
      return;
    }
  }
  if (world.erasable.has(`${was.userId} ${was.source}`) || was.messageId === "") return;
  const ended = was.state !== "waiting" || isEnded(world, was) || isWithdrawn(world, was);
  if (ended && (isPruned(world) || mayBePruned(world, was))) return;
  wrong(world, `${nameOf(was)} is gone; it was ${was.state}`);
}

/** A process that died right after it had removed something could not say so. */
function mayBePruned(world: World, { event, state }: Row): boolean {
  if (world.ended === 0) return false;
  const { keepDelivered, keepFailed } = world.shape;
  const age = world.life.clock.now() - (world.rows.events.get(event)?.acceptedAt ?? 0);
  return isCramped(world) || age >= (state === "delivered" ? keepDelivered : Math.min(keepDelivered, keepFailed));
}

function noteMoved(world: World, was: Row, to: string): void {
  // That one may have had it once: what was delivered long ago, and was removed since, nobody knows any more.
  world.tracks.replayed(was.messageId, to);
  changeTaker(world, was, to);
}

/** What it is owed to, is another one now. */
function changeTaker(world: World, was: Row, to: string): void {
  for (const entry of world.ledger.of(was.source, was.messageId)) {
    if (entry.event !== was.event) continue;
    entry.takers.delete(was.destination as never);
    entry.takers.add(to as never);
  }
}

/** It was ended without an attempt, and that was long ago by the clock of the next process. */
function isWithdrawn(world: World, was: Row): boolean {
  const removed = world.told.some(({ what, args }) => what === "pruned" && (args[0] as { failed: number }).failed > 0);
  const isDeleted = world.deleted.has(`${was.userId} ${was.source}`);
  return removed && (isDeleted || world.discarding === was.destination || was.messageId.startsWith("audience-"));
}

function isEnded({ told, tracks }: World, { event, messageId, destination }: Row): boolean {
  if (tracks.of(messageId, destination).some(isTaken)) return true;
  return told.some(({ what, args }) => {
    const [delivery, settlement] = args as [{ id: number; destination: string }, { state: string }];
    return (
      what === "settled" &&
      delivery.id === event &&
      delivery.destination === destination &&
      settlement.state !== "waiting"
    );
  });
}

function checkChange(world: World, was: Row, is: Row): void {
  // A second time in the same moment is seen by its state alone. The process that did it may be dead, and the clock further on.
  const changed = was.state !== is.state && was.state !== "waiting";
  const again = world.replaying && (is.replayedAt ?? 0) >= world.stepAt && changed;
  const found = again || is.replayedAt !== was.replayedAt ? checkReplayed(world, was, is) : checkProgress(was, is);
  if (found) wrong(world, `${nameOf(is)} ${found}`);
  else if (is.state !== "waiting" && (again || is.state !== was.state || is.replayedAt !== was.replayedAt))
    checkEnding(world, is);
}

function checkReplayed(world: World, was: Row, is: Row): string | null {
  if (!world.replaying) return "was replayed, and nobody wanted that";
  if (was.state === "waiting" && !isEnded(world, was)) return "waited, and was replayed";
  world.tracks.replayed(is.messageId, is.destination);
  return null;
}

function checkProgress(was: Row, is: Row): string | null {
  if (was.state !== "waiting") return was.state === is.state ? null : `was ${was.state}, and is ${is.state}`;
  return is.attempts < was.attempts ? `had ${was.attempts} attempts, and has ${is.attempts}` : null;
}

function checkBorn(world: World, is: Row, before: Rows): void {
  const { moving } = world;
  // Made, delivered and erased in one step: it has no name any more.
  if (is.messageId === "") return;
  if (before.events.has(is.event) && moving?.to !== is.destination)
    wrong(world, `${nameOf(is)} is new, and its event is not`);
  if (is.state !== "waiting") checkEnding(world, is);
}

/** Whatever ends has been given to a receiver, was refused, has had all of its time, or was ended by somebody, and says why. */
function checkEnding(world: World, row: Row): void {
  const checks: Record<string, typeof checkFailed> = {
    delivered: checkDelivered,
    failed: checkFailed,
    expired: checkExpired,
  };
  meet(world, `ended: ${row.state}`);
  const found = checks[row.state]?.(world, row);
  if (found) wrong(world, `${nameOf(row)} is ${row.state}: ${found}`);
}

function checkDelivered({ tracks }: World, { messageId, destination }: Row): string | null {
  return tracks.of(messageId, destination).some(isTaken) ? null : "no receiver has it";
}

function checkFailed(world: World, { reason, messageId, destination, source, userId }: Row): string | null {
  if (reason === null) return "there is no reason";
  if (reason.startsWith("refused: ")) {
    return world.tracks.of(messageId, destination).some((track) => track.refusals > 0) ? null : "nobody has refused it";
  }
  const reasons: Record<string, boolean> = {
    "discarded by operator": world.discarding === destination,
    superseded: messageId.startsWith("audience-"),
    "user deleted": world.deleted.has(`${userId} ${source}`),
  };
  if (reason.endsWith(" has this event already")) return world.moving?.from === destination ? null : "it was not moved";
  return reasons[reason] ? null : `the reason is ${reason}`;
}

/** An attempt that began before this may not know of all the times that ended while it ran. */
const WHILE_IT_RAN: Ms = 5 * SECOND;

/** Nothing expires untried, or before its time, in which its destination was not paused. That it has no more: once.ts. */
function checkExpired(world: World, { attempts, firstAttemptAt, settledAt, destination }: Row): string | null {
  if (attempts < 1 || firstAttemptAt === null || settledAt === null) return "it was never tried";
  const between = { from: firstAttemptAt + WHILE_IT_RAN, until: settledAt };
  const earliest = firstAttemptAt + world.shape.cutoff + stoodStillAtLeast(world, destination, between);
  return settledAt < earliest ? `${earliest - settledAt} ms too early` : null;
}
