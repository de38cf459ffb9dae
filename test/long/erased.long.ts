import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { startDaemon, type TestDaemon } from "../flow/daemon.ts";
import { type Chance, createChance } from "../simulate/random.ts";

const SEEDS = 20;
const USERS = 2_000;
const STEPS = 40;
const MINUTES = 60_000;

/** An audience, and a trait whose values move rows from one page to another. */
const AUDIENCE = "/api/sources/website/audiences/big?allowShrink=1";
const TRAIT = "/api/sources/website/traits/tier";
const TEXTS = ["gold", "silver ".repeat(20), "bronze ".repeat(60), 12, null] as const;

describe("users who are erased after many lists, calls and deletions by chance", () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    it(`are in no byte of the outbox's files (seed ${seed})`, { timeout: 10 * MINUTES }, async () => {
      const chance = createChance(seed);
      // Some are never taken: their deletion is not held up by that.
      const answers = ({ body }: { readonly body: string }): number =>
        JSON.parse(body).type === "delete" || chance.happens(0.9) ? 200 : chance.pick([400, 503]);
      await using d = await startDaemon({ answers });
      const users = new Set(Array.from({ length: USERS }, () => idOf(chance)));
      const erased = new Set<string>();
      const requests: string[] = [];
      for (let step = 0; step < STEPS; step += 1) await act(d, { chance, users, erased, requests });
      await d.clock.advance("6h");
      for (const id of requests) {
        const { stage, status } = (await d.admin("GET", `/api/deletions/${id}`)).json;
        assert.deepEqual([id, stage, status], [id, "done", "finished"]);
      }
      assert.ok(erased.size > 20, `only ${erased.size} were erased`);
      assert.deepEqual(await tracesOf(d, erased), []);
      assert.notDeepEqual(await tracesOf(d, users), [], "the files are searched for nothing");
    });
  }
});

function idOf(chance: Chance): string {
  return `e-${Array.from({ length: 24 }, () => chance.below(16).toString(16)).join("")}`;
}

type People = {
  readonly chance: Chance;
  readonly users: Set<string>;
  readonly erased: Set<string>;
  readonly requests: string[];
};

async function act(d: TestDaemon, people: People): Promise<void> {
  const { chance, users } = people;
  const some = (share: number): readonly string[] => [...users].filter(() => chance.happens(share));
  const what = chance.pick(["audience", "trait", "calls", "erase", "time"] as const);
  if (what === "audience") await sync(d, AUDIENCE, some(0.6), chance);
  if (what === "trait")
    await sync(
      d,
      TRAIT,
      some(0.4).map((user) => [user, chance.pick(TEXTS)]),
      chance,
    );
  if (what === "calls") {
    for (const userId of some(0.02)) {
      await d.ask("/v1/track", { userId, event: "E", properties: { userId, text: "x".repeat(chance.below(3_000)) } });
      if (chance.happens(0.1)) await d.clock.advance("1s");
    }
  }
  if (what === "erase") await erase(d, people, some(chance.pick([0.001, 0.01, 0.1])));
  if (what === "time") await d.clock.advance(chance.pick(["1s", "5m", "2h", "25h"]));
}

/** Sometimes the next thing comes while it is being sent. */
async function sync(d: TestDaemon, path: string, body: readonly unknown[], chance: Chance): Promise<void> {
  const answering = d.admin("PUT", path, { body });
  if (chance.happens(0.5)) await d.clock.advance("30s");
  else for (let turn = chance.below(60); turn > 0; turn -= 1) await d.clock.nextTurn();
  const wait = d.clock.advance("6s");
  const { status, text } = await answering;
  await wait;
  assert.ok(status === 200 || status === 409, text);
}

async function erase(
  d: TestDaemon,
  { chance, users, erased, requests }: People,
  some: readonly string[],
): Promise<void> {
  if (some.length === 0) return;
  const body = { userIds: some, erase: true, suppress: chance.happens(0.5) };
  const { status, json, text } = await d.admin("POST", "/api/deletions", { body });
  assert.equal(status, 200, text);
  requests.push(String(json.id));
  for (const user of some) {
    users.delete(user);
    erased.add(user);
  }
  if (chance.happens(0.7)) await d.clock.advance("1m");
}

/** As a person with an editor for bytes would find them. */
async function tracesOf(d: TestDaemon, ids: ReadonlySet<string>): Promise<readonly string[]> {
  const traces: string[] = [];
  for (const end of ["", "-wal", "-shm"]) {
    const bytes = (await readFile(d.config.outbox.path + end)).toString("latin1");
    const found = [...bytes.matchAll(/e-[0-9a-f]{24}/g)].map(([id]) => id);
    traces.push(...new Set(found.filter((id) => ids.has(id))));
  }
  return traces;
}
