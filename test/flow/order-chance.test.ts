import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/config.ts";
import { type At, HOUR, MINUTE, type Ms, SECOND } from "../../src/model/units.ts";
import { type Chance, createChance, mix } from "../simulate/random.ts";
import { SLOW } from "../slow.ts";
import { START } from "./clock.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination } from "./make.ts";
import { type Behaviour, REFUSED, type Sent } from "./network.ts";

/** What becomes of a request depends on chance until then; afterwards everything is accepted. */
const TROUBLE_ENDS = START + 2 * HOUR;
const USERS = 6;
const TIMEOUT: Ms = 5 * SECOND;

/** A request of a user at the receiver. */
type Request = { readonly user: string; readonly nth: number; readonly at: At; until: At };

/** Calls of a few users, with faults of the receiver, crashes, restarts, reloads, pauses and commands in between. */
async function run(seed: number): Promise<readonly Request[]> {
  const chance = createChance(seed);
  const requests: Request[] = [];
  const answers = (sent: Sent) => answer(sent, seed, requests);
  const counts = new Map<string, number>();
  let d = await startDaemon({ config: { destinations: [ordered()] }, answers });
  try {
    while (d.clock.now() < TROUBLE_ENDS) d = await act(d, { chance, counts, requests, answers });
    await d.admin("POST", "/api/destinations/crm/resume", { body: {} });
    await d.app.reload({ ...d.config, destinations: [ordered()] });
    await d.clock.advance("6h");
    const rows = await d.rows();
    assert.deepEqual(
      rows.filter(({ state }) => state === "waiting"),
      [],
    );
    assert.equal(rows.length, new Set(requests.map(({ user, nth }) => `${user}-${nth}`)).size);
  } finally {
    await d.stop();
  }
  return requests;
}

function ordered(others: Partial<Destination> = {}): Destination {
  return makeDestination({ order: "user", ...others });
}

function answer({ body, at }: Sent, seed: number, requests: Request[]): Behaviour {
  const { userId: user, properties } = JSON.parse(body);
  const behaviour = at < TROUBLE_ENDS ? faultOf(mix(seed, at, properties.nth)) : 200;
  const after = typeof behaviour === "object" && "after" in behaviour ? (behaviour.after ?? 0) : 0;
  requests.push({ user, nth: properties.nth, at, until: at + (behaviour === "hang" ? TIMEOUT : after) });
  return behaviour;
}

function faultOf(number: number): Behaviour {
  const faults: readonly Behaviour[] = [
    ...[200, 200, 200, 200, 500, 500, 400, 503, "hang" as const, REFUSED],
    { status: 200, after: 300 },
    { status: 200, after: 3 * SECOND },
    { status: 500, after: SECOND },
    { status: 503, headers: { "Retry-After": "20" } },
  ];
  return faults[number % faults.length] ?? 200;
}

type Acting = {
  readonly chance: Chance;
  /** How many calls each user has made. */
  readonly counts: Map<string, number>;
  readonly requests: readonly Request[];
  readonly answers: (sent: Sent) => Behaviour;
};

async function act(d: TestDaemon, { chance, counts, requests, answers }: Acting): Promise<TestDaemon> {
  const kind = chance.below(20);
  if (kind < 6) await call(d, chance.happens(0.05) ? 700 : 1 + chance.below(30), { chance, counts });
  else if (kind < 14) await d.clock.advance(`${chance.pick([50, 500, 2_000, 30_000, 10 * MINUTE])}ms`);
  else if (kind === 14) {
    // What was being sent ends with it.
    for (const one of requests) one.until = Math.min(one.until, d.clock.now());
    return d.crash({ answers });
  } else if (kind === 15) await d.admin("POST", "/api/replay", { body: { filter: { state: "failed" } } });
  else if (kind === 16) await d.admin("POST", "/api/destinations/crm/retry", { body: {} });
  else if (kind === 17)
    await d.admin("POST", `/api/destinations/crm/${chance.pick(["pause", "resume"])}`, { body: {} });
  else await d.app.reload({ ...d.config, destinations: [ordered(reloaded(chance))] });
  await d.clock.rest();
  return d;
}

function reloaded(chance: Chance): Partial<Destination> {
  const rate = chance.happens(0.2) ? { requests: 5, per: SECOND, burst: 5 } : null;
  return { concurrency: chance.pick([1, 4, 64]), rate, enabled: chance.happens(0.8) };
}

async function call(
  d: TestDaemon,
  count: number,
  { chance, counts }: Pick<Acting, "chance" | "counts">,
): Promise<void> {
  const batch = Array.from({ length: count }, () => {
    const userId = `u${chance.below(USERS)}`;
    const nth = (counts.get(userId) ?? 0) + 1;
    counts.set(userId, nth);
    return { type: "track", userId, event: "E", properties: { nth }, messageId: `${userId}-${nth}` };
  });
  for (let at = 0; at < batch.length; at += 400) {
    const answer = await d.ask("/v1/batch", { batch: batch.slice(at, at + 400) });
    assert.equal(answer.status, 200, answer.text);
  }
}

describe("whatever happens to a destination with an order", () => {
  for (let seed = 1; seed <= Number(process.env.ORDER_SEEDS ?? 6); seed += 1) {
    it(`it gets no event of a user for the first time after a later one, nor two at once (${seed})`, SLOW, async () => {
      const requests = await run(seed);
      assert.ok(requests.length > 100, `only ${requests.length} requests`);
      for (const [user, those] of Map.groupBy(requests, (one) => one.user)) {
        const firsts = [...new Set(those.map(({ nth }) => nth))];
        const sorted = firsts.toSorted((one, other) => one - other);
        assert.deepEqual(firsts, sorted, user);
        const early = those.filter(({ at }, before) => at < (those[before - 1]?.until ?? 0));
        assert.deepEqual(early, [], "before the one before it was answered");
      }
    });
  }
});
