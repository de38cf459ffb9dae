import type { Destination, Webhook } from "../model/config.ts";
import type { Report } from "../model/report.ts";
import type { LaneStatus } from "../model/status.ts";
import type { At } from "../model/units.ts";
import { createBuckets } from "./bucket.ts";
import {
  createLane,
  type Lane,
  type LaneAsk,
  type LaneCircumstances,
  type LaneName,
  type LaneResult,
  type Outage,
} from "./lane.ts";
import { createSlots, type Slots } from "./slots.ts";

/** The lanes of all webhooks, the bound on all of them together, and the rates of destinations. */
export type Lanes = {
  /** Whether any webhook of the destination has a slot now, and the destination is not held back by its rate. */
  haveRoom(destination: Destination, ask: SlotAsk): boolean;
  /** Whether one of these webhooks gives slots now or in a moment. */
  isAlive(destination: string, webhooks: readonly Webhook[], now: At): boolean;
  /**
   * Takes a slot for each of these webhooks that has one. A closed one is probed together with an open one, and alone only
   * if all are closed.
   */
  takeSlots(destination: Destination, webhooks: readonly Webhook[], ask: SlotAsk): readonly Webhook[];
  /** Whether the lane of the webhook is closed, so that it is only probed. */
  isClosed(destination: string, webhook: Webhook): boolean;
  /** Gives a slot back, with the result of the attempt. */
  done(destination: string, webhook: Webhook, result: LaneResult & LaneCircumstances): void;
  /** The loop that was woken by its `wake` has taken what it needs: wakes the next one, if a slot is left. */
  wakeNext(): void;
  /**
   * When the first of the destination's lanes that are shut now gives slots again, or its rate lets it go on. Null if neither is
   * in the way.
   */
  nextOpenAt(destination: Destination, now: At): At | null;
  /** Whether the last few attempts at each of its webhooks have failed. */
  isSuspect(destination: Destination): boolean;
  /** The outage of one of its webhooks that ended last, or null. */
  outage(destination: Destination): Outage | null;
  /** Ends the wait for the next probe of its closed lanes; with `all`, also the silence that receivers have asked for. */
  tryNow(destination: Destination, all: boolean): void;
  /** The receiver at this URL of the destination has asked another daemon for silence until then. */
  hold(destination: Destination, url: string, until: At): void;
  /** Since when it is held back by its rate, or null. */
  heldSince(destination: Destination, now: At): At | null;
  /** How many requests to it are under way, if they leave no room for another one; else null. */
  runningIfFull(destination: Destination, ask: Pick<LaneAsk, "now" | "concurrency">): number | null;
  /** How its webhooks are, in the order of the config. */
  status(destination: Destination): readonly LaneStatus[];
};

export type SlotAsk = LaneAsk & {
  /** How many daemons share the destination's rate. */
  readonly daemons: number;
  /** Called when there may be room, if there was none because of the bound on all lanes together. */
  readonly wake: () => void;
};

export function createLanes(report: Report): Lanes {
  const slots = createSlots();
  const buckets = createBuckets();
  const { laneOf, lanesOf, allOf } = createDirectory(report, slots.add);

  return {
    haveRoom(destination, ask) {
      const lanes = allOf(destination);
      if (haveRoom(lanes, ask, slots)) return buckets.hasRound(destination, ask);
      waitForSlot(lanes, ask, slots);
      return false;
    },
    isAlive: (destination, webhooks, now) => isAnyAlive(lanesOf(destination, webhooks), now),
    takeSlots(destination, webhooks, ask) {
      const taken: Webhook[] = [];
      if (!haveRoom(lanesOf(destination.name, webhooks), ask, slots)) return taken;
      for (const webhook of webhooks) {
        const lane = laneOf(destination.name, webhook);
        if (!lane.hasRoom(ask) || !slots.hasRoom(lane)) continue;
        slots.takeSlot(lane, ask);
        taken.push(webhook);
      }
      buckets.take(destination, taken.length, ask.now);
      return taken;
    },
    isClosed: (destination, webhook) => laneOf(destination, webhook).isClosed(),
    done(destination, webhook, result) {
      const lane = laneOf(destination, webhook);
      lane.done(result, result);
      slots.freeSlot(lane);
    },
    wakeNext: slots.wakeNext,
    nextOpenAt: (destination, now) => nextOpenAt(allOf(destination), { now, tokenAt: buckets.nextAt(destination) }),
    isSuspect: (destination) => allOf(destination).every(isSuspect),
    outage(destination) {
      let last: Outage | null = null;
      for (const lane of allOf(destination)) {
        const outage = lane.outage();
        if (outage !== null && (last === null || outage.until > last.until)) last = outage;
      }
      return last;
    },
    tryNow(destination, all) {
      for (const lane of allOf(destination)) lane.tryNow(all);
    },
    hold(destination, url, until) {
      for (const webhook of destination.webhooks)
        if (webhook.url === url) laneOf(destination.name, webhook).hold(until);
    },
    heldSince: buckets.heldSince,
    runningIfFull: (destination, ask) => runningIfFull(allOf(destination), ask, slots),
    status: (destination) => allOf(destination).map((lane) => lane.status()),
  };
}

function haveRoom(lanes: readonly Lane[], ask: SlotAsk, slots: Slots): boolean {
  let mayProbe = false;
  for (const lane of lanes) {
    if (!lane.hasRoom(ask) || !slots.hasRoom(lane)) continue;
    if (!lane.isClosed()) return true;
    mayProbe = true;
  }
  return mayProbe && (ask.urgent || !isAnyAlive(lanes, ask.now));
}

function nextOpenAt(lanes: readonly Lane[], { now, tokenAt }: { now: At; tokenAt: At | null }): At | null {
  let next = tokenAt !== null && tokenAt > now ? tokenAt : null;
  for (const lane of lanes) {
    const until = lane.shutUntil();
    if (until > now && (next === null || until < next)) next = until;
  }
  return next;
}

/** Lanes that are shut for another reason do not count: they have one of their own. */
function runningIfFull(
  lanes: readonly Lane[],
  { now, concurrency }: Pick<LaneAsk, "now" | "concurrency">,
  slots: Slots,
): number | null {
  const ask = { now, concurrency, urgent: false, tried: false, untriedWaits: true };
  const open = lanes.filter((lane) => lane.isAlive(now) && lane.shutUntil() <= now);
  const isFull = open.length > 0 && open.every((lane) => !lane.hasRoom(ask) || !slots.hasRoom(lane));
  return isFull ? open.reduce((sum, lane) => sum + lane.busy(), 0) : null;
}

function isAnyAlive(lanes: readonly Lane[], now: At): boolean {
  return lanes.some((lane) => lane.isAlive(now));
}

function isSuspect(lane: Lane): boolean {
  return lane.isSuspect();
}

/** Only a lane that has room itself waits for a slot of all. */
function waitForSlot(lanes: readonly Lane[], ask: SlotAsk, slots: Slots): void {
  const waiting = lanes.filter((lane) => lane.hasRoom(ask) && !slots.hasRoom(lane));
  if (waiting.length > 0) slots.waitForSlot(waiting, ask.wake);
}

type Directory = {
  laneOf(destination: string, webhook: Webhook): Lane;
  lanesOf(destination: string, webhooks: readonly Webhook[]): readonly Lane[];
  allOf(destination: Destination): readonly Lane[];
};

/** Finds the lane of a webhook by destination and URL, so that a reload does not change it. */
function createDirectory(report: Report, added: (lane: Lane) => void): Directory {
  const lanes = new Map<string, Lane>();
  // Each attempt asks for them several times.
  const byWebhook = new WeakMap<Webhook, { readonly destination: string; readonly lane: Lane }>();
  const byWebhooks = new WeakMap<readonly Webhook[], readonly Lane[]>();
  return { laneOf, lanesOf, allOf };

  function lanesOf(destination: string, webhooks: readonly Webhook[]): readonly Lane[] {
    const known = byWebhooks.get(webhooks);
    if (known) return known;
    return webhooks.map((webhook) => laneOf(destination, webhook));
  }

  function allOf({ name, webhooks }: Destination): readonly Lane[] {
    const known = byWebhooks.get(webhooks);
    if (known) return known;
    const found = lanesOf(name, webhooks);
    byWebhooks.set(webhooks, found);
    return found;
  }

  function laneOf(destination: string, webhook: Webhook): Lane {
    const known = byWebhook.get(webhook);
    if (known?.destination === destination) return known.lane;
    const { url } = webhook;
    const lane = find(`${destination} ${url}`, { destination, url });
    byWebhook.set(webhook, { destination, lane });
    return lane;
  }

  function find(key: string, name: LaneName): Lane {
    const known = lanes.get(key);
    if (known) return known;
    const lane = createLane(name, report);
    lanes.set(key, lane);
    added(lane);
    return lane;
  }
}
