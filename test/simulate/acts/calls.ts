import type { Act } from "../acts.ts";
import type { Chance } from "../random.ts";
import { send } from "../world/ask.ts";
import { callOf, type Entry } from "../world/calls.ts";
import { SOURCES, type SourceName } from "../world/shape.ts";
import { type Answer, isDoubtful, type Life, meet, type World, wrong } from "../world/world.ts";

type Numbers = { readonly source: SourceName; readonly numbers: readonly number[] };

/** Numbers of calls: mostly new ones, and now and then one that was sent in one of the last steps. */
function chooseNumber(chance: Chance, nth: number, within = 0): number {
  const step = chance.happens(0.12) ? Math.max(0, nth - chance.below(8)) : nth;
  return step * 50 + (step === nth ? within : chance.below(3));
}

/** Sends these calls in one request, each with what is owed for it, and takes the answer at its word. */
function sendCalls(world: World, { source, numbers }: Numbers, as: "call" | "batch", bad = 0): void {
  const { life, engine } = world;
  const { clock } = life;
  const [at, wall] = [clock.now(), clock.wall()];
  const moment = { at, wall, step: world.step, shape: world.shape, storesAtOnce: !engine.isShared };
  const calls = numbers.map((n) => callOf(source, n, moment));
  const entries = calls.map((call) => world.ledger.note(call, source, moment));
  const [first] = calls;
  if (as === "call" && first) {
    const { type, ...body } = first;
    send(world, { path: `/v1/${type}`, source, body }, (answer) => hear(world, { entries, life }, answer));
    return;
  }
  const wrongs = Array.from({ length: bad }, () => ({ type: "track", event: "" }));
  const body = { batch: [...calls, ...wrongs] };
  send(world, { path: "/v1/batch", source, body }, (answer) => hear(world, { entries, life }, answer, bad));
}

/** `life`: of the daemon that was asked. */
type Sent = { readonly entries: readonly Entry[]; readonly life: Life };

function hear(world: World, { entries, life }: Sent, { status, json }: Answer, bad = 0): void {
  for (const entry of entries) entry.open -= 1;
  if (status !== 200) {
    hearRefusal(world, entries, { status, json });
    return;
  }
  for (const entry of entries) entry.answeredAt ??= life.clock.now();
  hearReceipts(world, { entries, life }, { json, bad });
}

type Receipts = { readonly json: Answer["json"]; readonly bad: number };

function hearReceipts(world: World, { entries, life }: Sent, { json, bad }: Receipts): void {
  const { accepted, duplicate, rejected = [] } = json as { accepted: number; duplicate: number; rejected?: Rejected[] };
  meet(world, "acknowledged", accepted);
  meet(world, "repeats", duplicate);
  const out = new Set(rejected.map(({ index }) => index));
  const judged = entries.filter((_, index) => !out.has(index));
  if (accepted + duplicate !== judged.length || rejected.length - (entries.length - judged.length) !== bad) {
    wrong(world, `${entries.length} calls and ${bad} bad ones were answered ${JSON.stringify(json)}`);
  }
  entries.forEach((entry, index) => {
    if (out.has(index)) refuse(world, entry);
    const place = `${entry.userId} ${entry.source}`;
    if (world.suppressed.has(place) && !out.has(index) && !isDoubtful(life))
      wrong(world, `${entry.messageId}: ${place} is suppressed, and it was taken`);
    if (out.has(index) && !world.maybeSuppressed.has(place))
      wrong(world, `${entry.messageId}: refused, ${place} is not suppressed`);
  });
  world.answers.push({ entries: judged, accepted, duplicate });
}

type Rejected = { readonly index: number; readonly code: string };

const REFUSALS = [
  "store_full",
  "store_failed",
  "stopping",
  "user_suppressed",
  "overloaded",
  "rate_limited",
  "source_full",
];

function hearRefusal(world: World, entries: readonly Entry[], { status, json }: Answer): void {
  meet(world, `refused: ${json.code}`);
  if (!REFUSALS.includes(String(json.code))) wrong(world, `calls were answered ${status} ${JSON.stringify(json)}`);
  // It may be stored all the same where the answer to a commit was lost.
  if (world.engine.isShared && json.code === "store_failed") return;
  for (const entry of entries) refuse(world, entry);
}

/** The same call may have been taken before, or in another request of this moment. */
function refuse({ ledger, answers }: World, entry: Entry): void {
  const taken = entry.acked || entry.event !== null || answers.some(({ entries }) => entries.includes(entry));
  // Another request with it may be taken still.
  if (!taken && entry.open === 0 && ledger.byBody(entry.body) === entry) entry.refused = true;
}

/** One call in a request of its own. */
export const call: Act<{ source: SourceName; n: number }> = {
  choose: (chance, nth) => ({ source: chance.pick(SOURCES), n: chooseNumber(chance, nth) }),
  async run(world, { source, n }) {
    sendCalls(world, { source, numbers: [n] }, "call");
    await world.life.clock.rest();
  },
};

/** Some calls in one request; some may be invalid. */
export const batch: Act<{ source: SourceName; numbers: readonly number[]; bad: number }> = {
  choose: (chance, nth) => ({
    source: chance.pick(SOURCES),
    numbers: Array.from({ length: 1 + chance.below(12) }, (_, within) => chooseNumber(chance, nth, within)),
    bad: chance.happens(0.2) ? 1 : 0,
  }),
  async run(world, { source, numbers, bad }) {
    // A repeat within one batch is the same call, and owed once.
    sendCalls(world, { source, numbers }, "batch", bad);
    await world.life.clock.rest();
  },
};

type RushRequest = { readonly source: SourceName; readonly numbers: readonly number[] };

/** Many requests at once, which share commits. */
export const rush: Act<{ requests: readonly RushRequest[] }> = {
  choose: (chance, nth) => ({
    requests: Array.from({ length: 2 + chance.below(8) }, (_, place) => ({
      source: chance.pick(SOURCES),
      numbers: Array.from({ length: 1 + chance.below(3) }, (_, within) =>
        chooseNumber(chance, nth, place * 3 + within),
      ),
    })),
  }),
  async run(world, { requests }) {
    for (const request of requests) sendCalls(world, request, request.numbers.length === 1 ? "call" : "batch");
    await world.life.clock.rest();
  },
};

/** What clients do: all that was refused lately, or never answered, is sent again; and one that was taken, since its answer was lost. */
export const again: Act<{ steps: number; also: number }> = {
  choose: (chance) => ({ steps: chance.pick([1, 3, 10]), also: chance.below(100) }),
  async run(world, { steps, also }) {
    const lately = world.ledger.all().filter(({ step }) => step >= world.step - steps);
    for (const source of SOURCES) {
      const own = lately.filter((entry) => entry.source === source);
      const open = own.filter(({ acked, refused }) => refused || !acked);
      const taken = own[also % Math.max(1, own.length)];
      const ids = [...open, ...(taken ? [taken] : [])].map(({ messageId }) => Number(messageId.slice(1)));
      const numbers = [...new Set(ids)].slice(0, 30);
      if (numbers.length > 0) sendCalls(world, { source, numbers }, numbers.length === 1 ? "call" : "batch");
    }
    await world.life.clock.rest();
  },
};
