import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createSyncWorker } from "../../src/audience/worker.ts";
import type { Member, OpenSync, Value } from "../../src/model/audience.ts";
import { isFault } from "../../src/model/fault.ts";
import type { Accept, Store } from "../../src/model/ports.ts";
import { createClock } from "../../src/runtime/clock.ts";
import { openPostgres } from "../../src/store/postgres/store.ts";
import { writeBody } from "../../src/webhook/body.ts";
import { AMPLE, createFalseReport, makeAsk, type Told } from "../store/harness.ts";
import { failed } from "../store/make.ts";
import { NO_SERVER, startServer, stopServer } from "../store/postgres/server.ts";

const NAME = { source: "website", class: "audience", name: "Big", key: "big" } as const;
const USERS = Array.from({ length: 400 }, (_, n) => `u${n}`);
/** Those who are deleted again and again. */
const DELETED = Array.from({ length: 40 }, (_, n) => `deleted${n}`);
const ROUNDS = 8;

describe("an audience on two daemons", { skip: NO_SERVER }, () => {
  after(stopServer);

  it("has at most one call about a user waiting, and the right size, whatever happens at the same time", async () => {
    const told: Told[] = [];
    const stopping = new AbortController();
    const daemons = [await startDaemon(told, stopping.signal), await startDaemon(told, stopping.signal)] as const;
    const [{ store }, other] = daemons;
    const busy = Promise.all([
      ...daemons.map(({ store: one }) => again(stopping.signal, () => failAll(one))),
      ...daemons.map(({ store: one }) => again(stopping.signal, () => replayAll(one))),
      again(stopping.signal, (nth) => other.store.members.forget(DELETED[nth % DELETED.length] ?? "", ["website"])),
    ]);
    for (let round = 0; round < ROUNDS; round += 1) {
      const by = daemons[round % 2] ?? other;
      const value = round % 3 === 1 ? null : true;
      const end = await by.send([...USERS, ...DELETED].map((user) => ({ user, value })));
      assert.notEqual(end.sync.finishedAt, null);
    }
    stopping.abort();
    const [failures = 0, , replays = 0] = await busy;
    assert.ok(failures > 10 && replays > 10, `${failures} and ${replays} rounds`);
    const waiting = (await waitingUsers(store)).filter((user) => !DELETED.includes(user));
    assert.deepEqual(waiting.toSorted(), [...new Set(waiting)].sort());
    const { size, number } = (await store.members.find(NAME)) ?? assert.fail();
    assert.equal(size, (await store.members.values(number, [...USERS, ...DELETED])).size);
    const problems = told.filter(({ what }) => what === "storeFailed" || what === "unexpected");
    assert.deepEqual(problems, []);
    for (const one of daemons) await one.stop();
  });
});

let opened = 0;

async function startDaemon(told: Told[], signal: AbortSignal) {
  opened += 1;
  const [clock, report] = [createClock(), createFalseReport(told)];
  const pool = await (await startServer()).connect("audiences");
  const store = await openPostgres({
    pool,
    clock,
    report,
    bounds: AMPLE.bounds,
    name: `daemon-${opened}`,
    about: "{}",
  });
  const accept: Accept = (source, events, extras) =>
    store.append(
      events.map((event, nth) => {
        return { source, event, body: writeBody(event), deliverTo: ["crm"], skipped: [], ...extras?.[nth] };
      }),
    );
  const worker = createSyncWorker({ members: store.members, accept, refusalOf: () => null, clock, report });
  store.changes(({ kind }) => kind === "work" && worker.wake());
  const running = worker.run(signal);
  return {
    store,
    async send(members: readonly Member[]): Promise<OpenSync> {
      const begun = await beginSync(store, members);
      return worker.begin(begun);
    },
    async stop(): Promise<void> {
      await running;
      await store.close();
    },
  };
}

async function beginSync({ members }: Store, changes: readonly { user: string; value: Value }[]): Promise<OpenSync> {
  const latest = (await members.find(NAME))?.syncs[0]?.number ?? null;
  const sync = await members.prepare({ id: `audience-${latest ?? 0}`, kind: "members" });
  if (isFault(sync)) return assert.fail(sync.message);
  assert.equal(await members.note(sync, changes), null);
  const begun = await members.begin(sync, { ...NAME, id: "aud_1", added: 0, changed: 0, removed: 0, latest });
  return isFault(begun) ? assert.fail(begun.message) : begun;
}

async function again(signal: AbortSignal, run: (nth: number) => Promise<unknown>): Promise<number> {
  let nth = 0;
  for (; !signal.aborted; nth += 1) await run(nth);
  return nth;
}

/** What waits fails, apart from some. */
async function failAll(store: Store): Promise<void> {
  for (const queue of ["first", "retry"] as const) {
    const { deliveries } = await store.readQueue(makeAsk({ queue, limit: 50 }));
    const some = deliveries.filter(({ id }) => id % 5 !== 0);
    await Promise.all(some.map((one) => store.settle(one, failed(one, one.acceptedAt))));
  }
}

const ALL = { destination: null, source: null, type: null, user: null, since: null, until: null };

async function replayAll({ replay }: Store): Promise<void> {
  let cursor: string | null = null;
  do {
    const wish = { search: { ...ALL, state: null }, page: { limit: 100, cursor }, dryRun: false, isKnown: () => true };
    const page = await replay.page(wish);
    cursor = isFault(page) ? assert.fail(page.message) : page.cursor;
  } while (cursor !== null);
}

async function waitingUsers({ lookup }: Store): Promise<readonly string[]> {
  const users: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await lookup.deliveries({ ...ALL, state: "waiting" }, { limit: 500, cursor });
    if (isFault(page)) return assert.fail(page.message);
    users.push(...page.deliveries.flatMap(({ userId }) => userId ?? []));
    cursor = page.cursor;
  } while (cursor !== null);
  return users;
}
