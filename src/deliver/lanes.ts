import type { Destination, Webhook } from "../model/destination.ts";
import type { Spell } from "../model/pause.ts";
import type { Report } from "../model/report.ts";
import type { RetryPolicy } from "../model/settlement.ts";
import type { At, Ms } from "../model/units.ts";
import { createLane, FIRST_SLOTS, type Lane, type LaneResult } from "./lane.ts";
import { timeIn } from "./spells.ts";

/**
 * Attempts at once in the whole daemon. Bun's fetch runs 256 and lets the rest wait in a queue of its own, where their
 * five seconds would pass unused.
 */
export const MOST_ATTEMPTS = 200;
/**
 * Of them, what is kept for lanes that use little: the same few for each. So those that hang at once, each with all the
 * slots it had grown to, leave some to the others.
 */
const KEPT = 100;

/** The lanes of all webhooks, and the bound on all of them together. */
export type Lanes = {
  /** Whether any webhook of the destination has a slot now. */
  haveRoom(destination: Destination, ask: SlotAsk): boolean;
  /** Whether one of these webhooks has only to finish what it is asked already, and takes more then. */
  isBusy(destination: string, webhooks: readonly Webhook[], now: At): boolean;
  /** Takes a slot for each of these webhooks that has one. */
  take(destination: string, webhooks: readonly Webhook[], ask: SlotAsk): readonly Webhook[];
  /** Whether the webhook is only probed now. */
  isClosed(destination: string, webhook: Webhook): boolean;
  /** Gives a slot back, with what came of it. */
  done(destination: string, webhook: Webhook, result: LaneResult & LaneMoment): void;
  /** When the first of the destination's lanes that are shut now gives slots again, or null if none is shut. */
  nextOpenAt(destination: Destination, now: At): At | null;
  /** When a lane of the destination was last opened after it had been closed, or null. */
  reopenedAt(destination: Destination): At | null;
  /** For how long since `at` none of these webhooks could be reached: this machine was offline, or it was one of these spells. */
  lostSince(destination: string, webhooks: readonly Webhook[], since: LostSince): Ms;
};

export type SlotAsk = {
  readonly now: At;
  /** Most slots of one lane. */
  readonly concurrency: number;
  /** Whether the last attempt of the delivery is due (or, asking for any, of some delivery). */
  readonly urgent: boolean;
  /** Called when an attempt has ended, if there was no room because of the bound on all lanes together. */
  readonly starved: () => void;
};
export type LostSince = { readonly at: At; readonly now: At; readonly spells: readonly Spell[] };
export type LaneMoment = { readonly now: At; readonly random: number; readonly policy: RetryPolicy };

export function createLanes(report: Report): Lanes {
  const lanes = new Map<string, Lane>();
  const laneOf = createDirectory(lanes, report);
  const starving = new Set<() => void>();
  let busy = 0;

  return {
    haveRoom(destination, ask) {
      const open = all(destination).filter((lane) => lane.hasRoom(ask));
      if (open.some(isWithinBound)) return true;
      if (open.length > 0) starving.add(ask.starved);
      return false;
    },
    isBusy: (destination, webhooks, now) => webhooks.some((webhook) => isBusy(laneOf(destination, webhook), now)),
    take(destination, webhooks, ask) {
      return webhooks.filter((webhook) => {
        const lane = laneOf(destination, webhook);
        if (!lane.hasRoom(ask) || !isWithinBound(lane)) return false;
        lane.take();
        busy += 1;
        return true;
      });
    },
    isClosed: (destination, webhook) => laneOf(destination, webhook).isClosed(),
    done(destination, webhook, { now, random, policy, ...result }) {
      busy -= 1;
      laneOf(destination, webhook).done(result, { now, random, policy });
      for (const starved of starving) starved();
      starving.clear();
    },
    nextOpenAt(destination, now) {
      const held = all(destination).map((lane) => lane.shutUntil());
      return min(held.filter((until) => until > now));
    },
    reopenedAt(destination) {
      const opened = all(destination).map((lane) => lane.reopenedAt() ?? 0);
      return Math.max(0, ...opened) || null;
    },
    lostSince(destination, webhooks, { at, now, spells }) {
      const offline = webhooks.map((webhook) => laneOf(destination, webhook).offline(now));
      return min(offline.map((periods) => timeIn([...periods, ...spells], { at, now }))) ?? 0;
    },
  };

  function all({ name, webhooks }: Destination): Lane[] {
    return webhooks.map((webhook) => laneOf(name, webhook));
  }

  /** Whether one more leaves to every other lane what is kept for it. */
  function isWithinBound(lane: Lane): boolean {
    const free = MOST_ATTEMPTS - busy;
    const each = Math.min(FIRST_SLOTS, Math.floor(KEPT / lanes.size));
    if (free > each * lanes.size || lane.busy() < each) return free > 0;
    let kept = 0;
    for (const other of lanes.values()) kept += Math.max(0, each - other.busy());
    return free > kept;
  }
}

function isBusy(lane: Lane, now: At): boolean {
  return lane.busy() > 0 && !lane.isClosed() && lane.shutUntil() <= now;
}

/** Finds the lane of a webhook, which a reload does not change: it goes by destination and URL. */
function createDirectory(lanes: Map<string, Lane>, report: Report): (destination: string, webhook: Webhook) => Lane {
  // They are asked for several times with each attempt.
  const found = new WeakMap<Webhook, { readonly destination: string; readonly lane: Lane }>();

  return function laneOf(destination, webhook) {
    const known = found.get(webhook);
    if (known?.destination === destination) return known.lane;
    const { url } = webhook;
    const key = `${destination} ${url}`;
    const lane = lanes.get(key) ?? createLane({ destination, url }, report);
    lanes.set(key, lane);
    found.set(webhook, { destination, lane });
    return lane;
  };
}

function min(numbers: readonly number[]): number | null {
  return numbers.length === 0 ? null : Math.min(...numbers);
}
