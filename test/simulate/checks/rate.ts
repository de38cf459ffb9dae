import { type At, SECOND } from "../../../src/model/units.ts";
import { type DestinationName, ownerOf } from "../world/shape.ts";
import { type Life, meet, type World } from "../world/world.ts";
import type { Judged } from "./requests.ts";

/**
 * What a destination has got of a life, in vessels that run out at its rate and never hold more than the burst. A daemon begins
 * with a token for each webhook, and counts from when it first looks at the destination: with the start at the earliest, with the
 * first request at the latest.
 */
type Vessels = { readonly earliest: number; readonly latest: number; readonly at: At };

const ofLives = new WeakMap<Life, Map<DestinationName, Vessels>>();

/** No time of any length has more requests than the burst and what the rate allows in it, and a start adds no burst. */
export function checkRate({ asked: { url }, life, world }: Judged): string | null {
  const { rate } = world.shape;
  if (rate === 0) return null;
  const name = ownerOf(url);
  const at = life.clock.now();
  const { earliest, latest } = vesselsOf(world, { life, name, at });
  const ofLife = ofLives.get(life) ?? new Map<DestinationName, Vessels>();
  ofLives.set(life, ofLife.set(name, { earliest: earliest + 1, latest: latest + 1, at }));
  meet(world, "requests at a rate");
  return earliest + 1 <= rate + 1e-6 ? null : `${earliest + 1 - rate} requests more than its rate allows`;
}

/** Whether a destination may have too few tokens for a round now. */
export function isHeldBack(world: World, destination: string, at: At): boolean {
  const { rate, destinations } = world.shape;
  const name = destination as DestinationName;
  if (rate === 0) return false;
  return vesselsOf(world, { life: world.life, name, at }).latest + destinations[name].webhooks.length > rate + 1e-6;
}

type Moment = { readonly life: Life; readonly name: DestinationName; readonly at: At };

function vesselsOf({ shape }: World, { life, name, at }: Moment): Vessels {
  const { rate, destinations } = shape;
  const first = rate - destinations[name].webhooks.length;
  const known = ofLives.get(life)?.get(name);
  // Until the store is open, a life's clock may be ahead of where it goes on.
  const runOut = (level: number, since: At): number => Math.max(0, level - (Math.max(0, at - since) * rate) / SECOND);
  if (!known) return { earliest: runOut(first, life.startedAt), latest: first, at };
  return { earliest: runOut(known.earliest, known.at), latest: runOut(known.latest, known.at), at };
}
