import type { Destination, Webhook } from "../model/destination.ts";
import type { Spell } from "../model/pause.ts";
import type { Report } from "../model/report.ts";
import type { RetryPolicy } from "../model/settlement.ts";
import type { At, Ms } from "../model/units.ts";
import { createLane, type Lane, type LaneName, type LaneResult } from "./lane.ts";
import { createSlots } from "./slots.ts";
import { timeIn } from "./spells.ts";

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
  /** Whoever was called because of `starved` has looked, and has perhaps left a slot for the next. */
  passOn(): void;
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
  /** Called when there may be room, if there was none because of the bound on all lanes together. */
  readonly starved: () => void;
};
export type LostSince = { readonly at: At; readonly now: At; readonly spells: readonly Spell[] };
export type LaneMoment = { readonly now: At; readonly random: number; readonly policy: RetryPolicy };

export function createLanes(report: Report): Lanes {
  const slots = createSlots();
  const { laneOf, lanesOf } = createDirectory(report, slots.add);

  return {
    haveRoom(destination, ask) {
      let found: Lane[] | null = null;
      for (const lane of lanesOf(destination)) {
        if (!lane.hasRoom(ask)) continue;
        if (slots.hasRoom(lane)) return true;
        found ??= [];
        found.push(lane);
      }
      if (found) slots.starve(found, ask.starved);
      return false;
    },
    isBusy: (destination, webhooks, now) => webhooks.some((webhook) => isBusy(laneOf(destination, webhook), now)),
    take(destination, webhooks, ask) {
      return webhooks.filter((webhook) => {
        const lane = laneOf(destination, webhook);
        if (!lane.hasRoom(ask) || !slots.hasRoom(lane)) return false;
        slots.take(lane);
        return true;
      });
    },
    isClosed: (destination, webhook) => laneOf(destination, webhook).isClosed(),
    done(destination, webhook, result) {
      const lane = laneOf(destination, webhook);
      lane.done(result, result);
      slots.free(lane);
    },
    passOn: slots.passOn,
    nextOpenAt(destination, now) {
      let next: At | null = null;
      for (const lane of lanesOf(destination)) {
        const until = lane.shutUntil();
        if (until > now && (next === null || until < next)) next = until;
      }
      return next;
    },
    reopenedAt(destination) {
      let last: At | null = null;
      for (const lane of lanesOf(destination)) {
        const at = lane.reopenedAt();
        if (at !== null && (last === null || at > last)) last = at;
      }
      return last;
    },
    lostSince(destination, webhooks, { at, now, spells }) {
      const offline = webhooks.map((webhook) => laneOf(destination, webhook).offline(now));
      return min(offline.map((periods) => timeIn([...periods, ...spells], { at, now }))) ?? 0;
    },
  };
}

function isBusy(lane: Lane, now: At): boolean {
  return lane.busy() > 0 && !lane.isClosed() && lane.shutUntil() <= now;
}

type Directory = {
  laneOf(destination: string, webhook: Webhook): Lane;
  lanesOf(destination: Destination): readonly Lane[];
};

/** Finds the lane of a webhook, which a reload does not change: it goes by destination and URL. */
function createDirectory(report: Report, added: (lane: Lane) => void): Directory {
  const lanes = new Map<string, Lane>();
  // They are asked for several times with each attempt.
  const byWebhook = new WeakMap<Webhook, { readonly destination: string; readonly lane: Lane }>();
  const byDestination = new WeakMap<Destination, readonly Lane[]>();
  return { laneOf, lanesOf };

  function lanesOf(destination: Destination): readonly Lane[] {
    const known = byDestination.get(destination);
    if (known) return known;
    const found = destination.webhooks.map((webhook) => laneOf(destination.name, webhook));
    byDestination.set(destination, found);
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

function min(numbers: readonly number[]): number | null {
  return numbers.length === 0 ? null : Math.min(...numbers);
}
