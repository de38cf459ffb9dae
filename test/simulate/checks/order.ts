import { userOf } from "../../../src/deliver/order.ts";
import type { Asked, Track } from "../world/tracks.ts";
import { type Life, meet } from "../world/world.ts";
import type { Judged } from "./requests.ts";

/** By destination and user, the delivery that a daemon has asked for last. */
const ofLives = new WeakMap<Life, Map<string, Asked["track"]>>();

/** With an order, a daemon has one delivery of a user under way to a destination at a time, and goes on once it is settled. */
export function checkOrder({ asked: { track, isNewRound }, life, world }: Judged): string | null {
  const user = world.shape.isOrdered && isNewRound ? userOf(track.body) : null;
  if (user === null) return null;
  const last = ofLives.get(life) ?? new Map<string, Track>();
  ofLives.set(life, last);
  const key = `${track.destination} ${user}`;
  const before = last.get(key);
  last.set(key, track);
  meet(world, "requests in order");
  // One of its webhooks is enough: the others may still be at work on it.
  if (before === undefined || before === track || before.open === 0 || before.succeededAt !== null) return null;
  return `${before.id} of the same user is still being sent`;
}
