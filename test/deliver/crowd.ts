/** Many destinations, the real loops, and a false clock, network and store: whatever their receivers do, who could send does. */
import assert from "node:assert/strict";
import { createDeliver } from "../../src/deliver/deliver.ts";
import { createActivity } from "../../src/deliver/health.ts";
import { createLanes, type SlotAsk } from "../../src/deliver/lanes.ts";
import { MOST_ATTEMPTS } from "../../src/deliver/slots.ts";
import type { Destination, RateLimit } from "../../src/model/config.ts";
import type { Delivery } from "../../src/model/delivery.ts";
import type { Post, QueueAsk, QueuePage, Settle } from "../../src/model/ports.ts";
import { type At, SECOND } from "../../src/model/units.ts";
import { createFalseClock } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";
import { type Behaviour, createFalseNetwork, OFFLINE, REFUSED } from "../flow/network.ts";
import { type Chance, createChance } from "../simulate/random.ts";
import { makeDelivery, makeReport, makeStore } from "./make.ts";

type Plan = {
  readonly seed: number;
  readonly count: number;
  readonly webhooks: number;
  readonly steps: number;
  /** Of every other destination. */
  readonly rate?: RateLimit;
};

/**
 * Disturbs a crowd of so many, step by step. At each moment every destination that could send does, and everything arrives
 * once all receivers are well.
 */
export async function keepBusy({ seed, count, webhooks, steps, rate }: Plan): Promise<void> {
  const chance = createChance(seed);
  const crowd = startCrowd(
    chance,
    Array.from({ length: count }, (_, nth) => {
      const one = makeOne(nth, webhooks);
      return rate && nth % 2 === 0 ? { ...one, rate } : one;
    }),
  );
  for (let step = 0; step < steps; step += 1) {
    disturb(crowd, chance, webhooks);
    for (const wait of ["0s", `${chance.below(5_000)}ms`, `${chance.below(4)}s`]) {
      await crowd.clock.advance(wait);
      await crowd.clock.rest();
      assert.deepEqual(crowd.idle(), [], `seed ${seed}, step ${step}: there are slots for them`);
      assert.deepEqual(crowd.hasty(), [], `seed ${seed}, step ${step}: more than their rate`);
      assert.ok(crowd.most() <= MOST_ATTEMPTS, `seed ${seed}, step ${step}: ${crowd.most()} at once`);
    }
  }
  crowd.moods.clear();
  crowd.serve(crowd.destinations().map((one) => ({ ...one, enabled: true })));
  // Longer than the longest wait of a delivery or a lane, with its chance.
  await crowd.clock.advance("25m");
  assert.deepEqual(crowd.waiting(), [], `seed ${seed}`);
  const stopping = crowd.deliver.stop();
  await crowd.clock.advance("6s");
  await stopping;
}

const CONCURRENCY = 64;

const MOODS: readonly ((chance: Chance) => Behaviour)[] = [
  () => ({ status: 200, after: 10 }),
  () => "hang",
  () => "hang",
  () => ({ status: 200, after: 3 * SECOND }),
  () => REFUSED,
  () => OFFLINE,
  () => ({ status: 503, headers: { "Retry-After": "7" }, after: 20 }),
  () => ({ status: 500, after: 50 }),
  (chance) => chance.pick([{ status: 200, after: 10 }, { status: 400, after: 30 }, "hang", 500]),
];

/** What waits, by destination. Some of what is asked of it takes a turn, as with a busy disk. */
function createRows(chance: Chance, nextTurn: () => Promise<void>) {
  const all = new Map<string, Delivery[]>();
  const of = (name: string): Delivery[] => {
    const rows = all.get(name) ?? [];
    all.set(name, rows);
    return rows;
  };
  const settle: Settle = async (delivery, settlement) => {
    if (chance.happens(0.2)) await nextTurn();
    const rows = of(delivery.destination);
    const at = rows.findIndex(({ id }) => id === delivery.id);
    const is = rows[at];
    if (!is) return "gone";
    if (settlement.state === "waiting") {
      const { attempts, firstAttemptAt, attemptedAt, stoodStill, finals, dueAt } = settlement;
      rows[at] = { ...is, attempts, firstAttemptAt, attemptedAt, stoodStill, finals, dueAt };
    } else rows.splice(at, 1);
    return "written";
  };
  return {
    of,
    settle,
    async readQueue(ask: QueueAsk): Promise<QueuePage> {
      if (chance.happens(0.3)) await nextTurn();
      return makeStore(of(ask.destination)).readQueue(ask);
    },
    backlog: {
      counts: () => [],
      oldestWaitingAt: async () => null,
      nextRetryAt: async (name: string, after: QueueAsk["after"]) =>
        makeStore(of(name)).backlog.nextRetryAt(name, after),
    },
  };
}

/** What there is in the whole crowd: one to three webhooks for each, or one for all. */
function makeOne(nth: number, most: number): Destination {
  const urls = Array.from({ length: 1 + (nth % most) }, (_, n) => `https://d${nth}-${n}.example.com/`);
  return makeDestination({ name: `d${nth}`, urls, concurrency: CONCURRENCY });
}

type Crowd = ReturnType<typeof startCrowd>;

function startCrowd(chance: Chance, first: readonly Destination[]) {
  const clock = createFalseClock();
  const rows = createRows(chance, clock.nextTurn);
  const moods = new Map<string, (chance: Chance) => Behaviour>();
  const network = createFalseNetwork(clock, ({ url }) => (moods.get(url) ?? MOODS[0] ?? (() => 200))(chance));
  const lanes = createLanes(makeReport());
  const sent = new Set<string>();
  const hasty = new Set<string>();
  const noteRequest = watchRates(hasty);
  let [destinations, underWay, most, ids] = [first, 0, 0, 0];
  const post: Post = (request) => {
    sent.add(request.body);
    const name = request.body.split(" ")[0];
    noteRequest(
      destinations.find((one) => one.name === name),
      clock.now(),
    );
    underWay += 1;
    most = Math.max(most, underWay);
    return network.post(request).finally(() => (underWay -= 1));
  };
  const deliver = createDeliver({
    ...{ clock, post, lanes, observer: { ...createActivity(clock), givenUp() {} }, report: makeReport() },
    ...{ readQueue: rows.readQueue, backlog: rows.backlog, settle: rows.settle },
    random: { fraction: chance.fraction, hex: () => "" },
    clockStore: { save: async () => null },
    storedClocks: [],
    announce: null,
  });
  deliver.setDestinations(destinations, []);
  deliver.start();
  return {
    ...{ clock, deliver, moods },
    destinations: () => destinations,
    /** The most attempts at one moment so far. */
    most: () => most,
    /** Who has got more than its rate so far. */
    hasty: () => [...hasty],
    serve(next: readonly Destination[]) {
      destinations = next;
      deliver.setDestinations(next, []);
    },
    /** One event, for all of these. */
    commit(names: readonly string[]) {
      ids += 1;
      const now = clock.now();
      const made = names.map((destination) =>
        makeDelivery({ id: ids, destination, body: `${destination} ${ids}`, acceptedAt: now, dueAt: now }),
      );
      for (const one of made) rows.of(one.destination).push(one);
      deliver.enqueue(made);
    },
    /** Who has something that was never tried, and a slot for it, and does nothing. */
    idle() {
      const ask: SlotAsk = {
        ...{ now: clock.now(), daemons: 1, concurrency: CONCURRENCY, urgent: false, tried: false, untriedWaits: true },
        wake: lanes.wakeNext,
      };
      const isUntried = ({ attemptedAt, body }: Delivery): boolean => attemptedAt === null && !sent.has(body);
      const idle = destinations.filter((one) => one.enabled && rows.of(one.name).some(isUntried));
      return idle.filter((one) => lanes.haveRoom(one, ask)).map(({ name }) => name);
    },
    waiting: () => destinations.filter(({ name }) => rows.of(name).length > 0).map(({ name }) => name),
  };
}

/** Fills a vessel with each request, and lets it run out at the destination's rate: it never holds more than the burst. */
function watchRates(hasty: Set<string>) {
  const vessels = new Map<string, { readonly level: number; readonly at: At }>();
  return (destination: Destination | undefined, now: At): void => {
    if (!destination?.rate) return;
    const { requests, per, burst } = destination.rate;
    const { level, at } = vessels.get(destination.name) ?? { level: 0, at: now };
    const next = Math.max(0, level - ((now - at) * requests) / per) + 1;
    vessels.set(destination.name, { level: next, at: now });
    if (next > burst + 1e-6) hasty.add(destination.name);
  };
}

/** Something that happens to it, by chance. */
function disturb(crowd: Crowd, chance: Chance, mostWebhooks: number): void {
  const destinations = crowd.destinations();
  const names = destinations.map(({ name }) => name);
  const acts = [
    () => {
      for (let count = chance.below(20); count >= 0; count -= 1)
        crowd.commit(chance.happens(0.3) ? names : names.filter(() => chance.happens(0.1)));
    },
    () => {
      const mood = chance.pick(MOODS);
      const urls = destinations.flatMap(({ webhooks }) => webhooks.map(({ url }) => url));
      for (const url of urls) if (chance.happens(0.5)) crowd.moods.set(url, mood);
    },
    () => crowd.serve(destinations.map((one) => (chance.happens(0.2) ? { ...one, enabled: !one.enabled } : one))),
    () => {
      const more = Array.from({ length: chance.below(30) }, (_, n) => makeOne(names.length + n, mostWebhooks));
      if (names.length < 400) crowd.serve([...destinations, ...more]);
    },
    () => void crowd.deliver.checkLiveness(),
  ];
  chance.pick([acts[0], acts[0], acts[0], acts[0], acts[1], acts[1], acts[1], ...acts.slice(2)])?.();
}
