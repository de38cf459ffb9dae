import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Delivery } from "../../../src/model/delivery.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { Entry, Store } from "../../../src/model/ports.ts";
import { SLOW } from "../../slow.ts";
import { makeAsk } from "../harness.ts";
import { failed, makeEntries, makeEntry, URL_A } from "../make.ts";
import { type KillableStore, startKillable } from "./kill.ts";
import { failing, fold } from "./start.ts";

/** The tables that are written when the tail is folded. */
const FOLDED = ["segments", "progress", "counts", "seen"] as const;

async function rowsOf(k: KillableStore): Promise<readonly number[]> {
  return await Promise.all(FOLDED.map(async (table) => (await k.sql(`SELECT * FROM ${table}`)).length));
}

/** Stores these events, and answers their deliveries. */
async function accept({ store }: KillableStore, ...entries: Entry[]): Promise<readonly Delivery[]> {
  const answer = await store().append(entries);
  assert.ok(!isFault(answer));
  return answer.flatMap((receipt) => (receipt.kind === "accepted" ? receipt.deliveries : []));
}

async function acceptOne(k: KillableStore, messageId: string): Promise<Delivery> {
  const [delivery] = await accept(k, makeEntry({ messageId }));
  return delivery ?? assert.fail();
}

describe("a kill right after a commit", () => {
  it("loses no event, no delivery and no count", async () => {
    await using k = await startKillable();
    await k.append(makeEntry({ messageId: "m1", deliverTo: ["crm", "lake"] }), makeEntry({ messageId: "m2" }));
    await k.append(makeEntry({ messageId: "m3", deliverTo: [] }), makeEntry({ messageId: "m4", deliverTo: ["lake"] }));
    assert.deepEqual(await rowsOf(k), [0, 0, 0, 0]);
    await k.kill();
    assert.deepEqual(await k.counts(), ["crm waiting: 2", "lake waiting: 2"]);
    assert.deepEqual(
      (await k.read()).map(({ id, messageId }) => [id, messageId]),
      [
        [1, "m1"],
        [2, "m2"],
      ],
    );
    assert.deepEqual(
      (await k.read("lake")).map(({ id, body, acceptedAt }) => [id, body, acceptedAt]),
      [
        [1, '{"messageId":"m1"}', k.clock().now()],
        [4, '{"messageId":"m4"}', k.clock().now()],
      ],
    );
    assert.deepEqual(k.told(), []);
  });

  it("forgets no messageId, and uses no number twice", async () => {
    await using k = await startKillable();
    await k.append(...makeEntries(3));
    await k.kill();
    assert.deepEqual(await k.append(...makeEntries(4)), ["duplicate", "duplicate", "duplicate", "accepted"]);
    await k.kill();
    assert.deepEqual(await k.append(...makeEntries(4)), Array(4).fill("duplicate"));
    assert.deepEqual(await k.sql("SELECT id FROM events"), [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }]);
  });

  it("leaves keys of messageIds that the next fold writes in one row for each commit", async () => {
    await using k = await startKillable();
    await k.append(...makeEntries(5));
    await k.append(...makeEntries(7));
    await k.kill();
    await fold(k.store());
    assert.deepEqual(await k.sql("SELECT first, length(keys) / 16 AS keys FROM seen"), [
      { first: 1, keys: 5 },
      { first: 6, keys: 2 },
    ]);
  });

  it("leaves a start that needs no write: the disk may be full", async () => {
    await using k = await startKillable();
    await k.append(...makeEntries(3));
    await k.kill([...FOLDED, "contents", "meta"].map((table) => failing(table)).join(";"));
    assert.deepEqual(k.told(), []);
    assert.deepEqual(await k.counts(), ["crm waiting: 3"]);
    assert.deepEqual(await rowsOf(k), [0, 0, 0, 0]);
  });

  it("keeps a success that was written with a later call, and who took the delivery", async () => {
    await using k = await startKillable();
    const first = await acceptOne(k, "m1");
    const settling = k.succeed(first);
    await acceptOne(k, "m2");
    assert.equal(await settling, "written");
    assert.deepEqual(await rowsOf(k), [0, 0, 0, 0]);
    await k.kill();
    assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm waiting: 1"]);
    assert.deepEqual(
      (await k.read()).map(({ messageId }) => messageId),
      ["m2"],
    );
    const detail = await k.store().lookup.delivery({ id: 1, destination: "crm" });
    assert.deepEqual([detail?.state, detail?.url, detail?.status], ["delivered", URL_A, 200]);
    k.store().hurry();
    assert.equal(await k.succeed(first), "gone");
  });

  it("has a success sent again that no call came after", async () => {
    await using k = await startKillable();
    const settling = k.succeed(await acceptOne(k, "m1"));
    await k.clock().advance("1400ms");
    await k.kill();
    // The process that is killed hears of it when this test closes its store.
    await settling;
    assert.deepEqual(await k.counts(), ["crm waiting: 1"]);
    assert.equal((await k.read()).length, 1);
  });

  it("keeps what came after a fold, beside what was folded", async () => {
    await using k = await startKillable();
    const first = await acceptOne(k, "m1");
    await fold(k.store());
    const second = await acceptOne(k, "m2");
    const settling = [k.succeed(first), k.succeed(second)];
    await acceptOne(k, "m3");
    assert.deepEqual(await Promise.all(settling), ["written", "written"]);
    await k.kill();
    assert.deepEqual(await k.counts(), ["crm delivered: 2", "crm waiting: 1"]);
    assert.deepEqual(await k.append(...makeEntries(3)), Array(3).fill("duplicate"));
  });

  it("loses nothing of an event whose commit has folded the others", async () => {
    await using k = await startKillable();
    const [first, second] = await accept(k, ...makeEntries(2));
    assert.ok(first && second);
    // A failure folds the tail in the midst of a commit that appends to it.
    const answers = await Promise.all([
      k.append(makeEntry({ messageId: "m3" })),
      k.succeed(first),
      k.settle(second, failed(second, k.clock().now())),
      k.append(makeEntry({ messageId: "m4" })),
    ]);
    assert.deepEqual(answers, [["accepted"], "written", "written", ["accepted"]]);
    await k.kill();
    assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm failed: 1", "crm waiting: 2"]);
    assert.deepEqual(await k.append(...makeEntries(4)), Array(4).fill("duplicate"));
    assert.deepEqual(
      (await k.read()).map(({ id }) => id),
      [3, 4],
    );
  });
});

describe("the newest events on a disk that has changed them", () => {
  /** Three commits of two events each, of which the first delivery was delivered. */
  async function start(): Promise<KillableStore> {
    const k = await startKillable();
    const [first] = await accept(k, ...makeEntries(2));
    assert.ok(first);
    const settling = k.succeed(first);
    await k.append(...makeEntries(2, { ownId: true }));
    await settling;
    await k.append(...makeEntries(2, { ownId: true }));
    return k;
  }

  const LETTERS = "UPDATE contents SET tail = replace(tail, 'crm', 'crn')";
  const EVENTS = "UPDATE contents SET about = replace(about, ']', '}')";
  const TIME = `UPDATE contents SET tail = replace(tail, '"at":1', '"at":9')`;
  const FORM = `UPDATE contents SET tail = replace(tail, '{"at"', '["at"')`;

  for (const [what, harm] of [
    ["letters", LETTERS],
    ["time", TIME],
    ["form", FORM],
  ]) {
    it(`are told where their ${what} cannot be believed, and not sent; the others are`, async () => {
      await using k = await start();
      await k.kill(`${harm} WHERE segment = 5`);
      assert.equal(k.told().length, 1);
      assert.match(
        String(k.told()),
        /^read the newest events: segment 5 of the outbox is damaged: its destinations differ .*; stop Fairlead/,
      );
      assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm waiting: 3"]);
      assert.deepEqual(
        (await k.read()).map(({ id }) => id),
        [2, 3, 4],
      );
      const next = await acceptOne(k, "next");
      assert.deepEqual([next.id, next.acceptedAt], [7, k.clock().now()]);
    });
  }

  it("keep their letters and their number where what they are cannot be read, and the others are sent", async () => {
    await using k = await start();
    await k.kill(`${EVENTS} WHERE segment = 5`);
    assert.match(
      String(k.told()),
      /^read the newest events: segment 5 of the outbox is damaged: the description of its events/,
    );
    assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm waiting: 5"]);
    assert.deepEqual(
      (await k.read()).map(({ id }) => id),
      [2, 3, 4],
    );
    assert.equal((await acceptOne(k, "next")).id, 7);
  });

  it("are kept as long as others where nothing says how old they are", async () => {
    await using k = await startKillable();
    await k.append(...makeEntries(2));
    await k.kill(LETTERS);
    assert.deepEqual(await k.counts(), []);
    await acceptOne(k, "next");
    const now = k.clock().now();
    assert.deepEqual(await k.sql("SELECT first, events, settled_at FROM segments WHERE first = 1"), [
      { first: 1, events: 2, settled_at: now },
    ]);
    assert.equal(await k.store().prune({ delivered: now, failed: now, seen: 0 }, 10), null);
  });

  it("use up all numbers that they may have had where nothing of them can be read", async () => {
    await using k = await start();
    await k.kill(`${EVENTS} WHERE segment IN (3, 5); ${LETTERS} WHERE segment IN (3, 5)`);
    assert.equal(k.told().length, 4);
    // The success was told by segment 3.
    assert.deepEqual(await k.counts(), ["crm waiting: 2"]);
    assert.equal((await acceptOne(k, "next")).id, 5 + 256);
    await fold(k.store());
    assert.deepEqual(await k.sql("SELECT first, events FROM segments"), [
      ...[1, 3].map((first) => ({ first, events: 2 })),
      ...[
        { first: 5, events: 256 },
        { first: 261, events: 1 },
      ],
    ]);
  });
});

/** What an operator sees of all deliveries, and of the events m1 to m4. */
async function shown({ lookup }: Store) {
  const search = { state: null, destination: null, source: null, type: null, user: null, since: null, until: null };
  const list = await lookup.deliveries(search, { limit: 100, cursor: null });
  assert.ok(!isFault(list));
  return {
    list: list.deliveries,
    details: await Promise.all(list.deliveries.map((place) => lookup.delivery(place))),
    events: await Promise.all(["m1", "m2", "m3", "m4"].map((messageId) => lookup.event(messageId, ["website"]))),
  };
}

describe("a tail that cannot be folded", () => {
  for (const table of FOLDED) {
    it(`because of ${table} stays as it is, and is folded later`, async () => {
      await using k = await startKillable();
      const first = await acceptOne(k, "m1");
      const settling = k.succeed(first);
      const second = await acceptOne(k, "m2");
      await settling;
      await k.exec(failing(table));
      const refused = await k.settle(second, failed(second, k.clock().now()));
      assert.equal(isFault(refused) && refused.code, "store_failed");
      assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm waiting: 1"]);
      // Calls are still taken.
      assert.deepEqual(await k.append(...makeEntries(3)), ["duplicate", "duplicate", "accepted"]);
      assert.deepEqual(await rowsOf(k), [0, 0, 0, 0]);
      assert.equal((await k.store().health.state()).writable, true);

      await k.exec(`DROP TRIGGER failing_${table}`);
      assert.equal(await k.settle(second, failed(second, k.clock().now())), "written");
      assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm failed: 1", "crm waiting: 1"]);
      assert.equal((await k.read()).length, 1);
      await k.kill();
      assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm failed: 1", "crm waiting: 1"]);
      assert.deepEqual(await k.append(...makeEntries(3)), Array(3).fill("duplicate"));
    });
  }

  it("holds up nothing that can be read without it", async () => {
    await using k = await startKillable();
    await k.append(...makeEntries(2));
    await fold(k.store());
    await k.append(...makeEntries(3, { ownId: true }));
    await k.exec(failing("segments"));
    const page = await k.store().readQueue(makeAsk());
    assert.deepEqual([page.deliveries.map(({ id }) => id), page.more], [[1, 2, 3, 4, 5], false]);
    const newest = await k.store().readQueue(makeAsk({ newestFirst: true }));
    assert.deepEqual(
      newest.deliveries.map(({ id }) => id),
      [5, 4, 3, 2, 1],
    );
    const { backlog } = k.store();
    assert.deepEqual(
      [await backlog.oldestWaitingAt("crm"), await backlog.oldestWaitingAt("lake")],
      [k.clock().now(), null],
    );
    const rest = await k.store().readQueue(makeAsk({ after: page.deliveries[3] ?? null, limit: 1 }));
    assert.deepEqual([rest.deliveries.map(({ id }) => id), rest.more], [[5], true]);
    assert.deepEqual(k.told(), []);
  });

  it("is shown to the operator as if it were folded, and nothing is written for that", async () => {
    await using k = await startKillable();
    await k.append(makeEntry({ messageId: "m1" }));
    await fold(k.store());
    const both = await accept(
      k,
      makeEntry({ messageId: "m2", deliverTo: ["lake", "crm"] }),
      makeEntry({ messageId: "m3" }),
    );
    const settling = k.succeed(both[0] ?? assert.fail());
    await k.append(makeEntry({ messageId: "m4", deliverTo: [] }));
    await settling;
    const unfolded = await shown(k.store());
    for (const table of FOLDED) await k.exec(failing(table));
    const commits = await k.commits();
    assert.deepEqual(await shown(k.store()), unfolded);
    assert.deepEqual(
      unfolded.list.map(({ id, destination, state }) => `${id} ${destination} ${state}`),
      ["3 crm waiting", "2 lake delivered", "2 crm waiting", "1 crm waiting"],
    );
    assert.deepEqual([(await k.commits()) - commits, k.told()], [0, []]);
    for (const table of FOLDED) await k.exec(`DROP TRIGGER failing_${table}`);
    await fold(k.store());
    assert.deepEqual(await shown(k.store()), unfolded);
  });

  it("is not withdrawn from, moved or sent again: the answer says that nothing was changed", async () => {
    await using k = await startKillable();
    const [first] = await accept(k, ...makeEntries(2));
    const settling = k.succeed(first ?? assert.fail());
    await k.append(makeEntry({ messageId: "m3" }));
    await settling;
    await k.exec(failing("segments"));
    const { waiting, replay, withdraw, health } = k.store();
    for (const answer of [
      await withdraw({ events: [2], reason: "" }),
      await waiting.move({ from: "crm", to: "lake" }, 1),
      await waiting.discard("crm", 1),
      await replay.one({ id: 1, destination: "crm" }),
    ]) {
      assert.ok(typeof answer === "object" && answer !== null && isFault(answer), JSON.stringify(answer));
      assert.match(answer.message, /^the outbox cannot be written, and nothing was changed; see the log/);
    }
    assert.equal((await health.state()).writable, false);
    assert.deepEqual(new Set(k.told()), new Set(["commit: disk I/O error"]));
    assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm waiting: 2"]);
  });

  it("when the daemon stops is told, and is there at the next start", async () => {
    await using k = await startKillable();
    await k.append(...makeEntries(3));
    await k.exec(failing("segments"));
    const told = k.told;
    const stopping = k.store().close();
    await stopping;
    assert.deepEqual(told(), ["commit: disk I/O error"]);
    await k.exec("DROP TRIGGER failing_segments");
    await k.restart();
    assert.deepEqual(await k.counts(), ["crm waiting: 3"]);
    assert.equal((await k.read()).length, 3);
  });
});

describe("an event in the tail", () => {
  it("is withdrawn, replayed and moved like others, and a kill leaves what became of it", async () => {
    await using k = await startKillable();
    const [first, second, third] = await accept(k, ...makeEntries(3));
    assert.ok(first && second && third);
    k.store().hurry();
    const settling = k.succeed(first);
    const events = [first.id, second.id];
    assert.equal(await k.store().withdraw({ events, reason: "withdrawn: by the operator" }), 1);
    assert.equal(await settling, "written");
    await k.append(makeEntry({ messageId: "m4" }));
    const moved = await k.store().waiting.move({ from: "crm", to: "lake" }, 1);
    assert.deepEqual(moved, { moved: 1, doubled: 0, more: true });
    await k.append(makeEntry({ messageId: "m5" }));
    await k.kill();
    assert.deepEqual(await k.counts(), ["crm delivered: 1", "crm failed: 1", "crm waiting: 2", "lake waiting: 1"]);
    assert.equal(await k.store().replay.one({ id: 1, destination: "crm" }), "replayed");
    await k.append(makeEntry({ messageId: "m6" }));
    await k.kill();
    assert.deepEqual(await k.counts(), ["crm failed: 1", "crm waiting: 4", "lake waiting: 1"]);
    assert.deepEqual(
      (await k.read("lake")).map(({ id }) => id),
      [3],
    );
  });
});

describe("a user in the tail", () => {
  it("is erased like others, and a kill brings nothing of them back", async () => {
    await using k = await startKillable();
    await k.append(makeEntry({ messageId: "m1", userId: "u1", deliverTo: [] }), makeEntry({ messageId: "m2" }));
    await k.append(makeEntry({ messageId: "m3", userId: "u1" }));
    const { deletions } = k.store();
    const request = { id: "del-1", requestedAt: 5, userIds: ["u1"], sources: null, affected: [], untold: [] };
    const recorded = await deletions.record({ ...request, erase: true, suppress: false });
    assert.ok(!isFault(recorded));
    const of = { users: new Set(["u1"]), sources: null, upTo: 3 };
    const step = await deletions.erase(recorded, of, null);
    assert.ok(!isFault(step) && step.busy);
    await k.append(makeEntry({ messageId: "m4" }));
    await k.kill();
    // What waits is erased when it is settled.
    assert.deepEqual(await k.sql("SELECT message_id, user_id FROM events WHERE id <> 2"), [
      { message_id: "", user_id: null },
      { message_id: "m3", user_id: "u1" },
      { message_id: "m4", user_id: "u1" },
    ]);
    assert.deepEqual(await k.counts(), ["crm waiting: 3"]);
    assert.deepEqual(await k.append(...makeEntries(4)), Array(4).fill("duplicate"));
  });
});

describe("a success", () => {
  it("shares the commit of the next call: one call a second is one commit a second", async () => {
    await using k = await startKillable();
    await acceptOne(k, "first");
    const before = await k.commits();
    const settling: Promise<unknown>[] = [];
    for (let second = 1; second <= 50; second += 1) {
      settling.push(k.succeed(await acceptOne(k, `m${second}`)));
      await k.clock().advance("1s");
    }
    assert.equal((await k.commits()) - before, 50);
    await k.clock().advance("1s");
    assert.deepEqual(new Set(await Promise.all(settling)), new Set(["written"]));
    assert.equal((await k.commits()) - before, 51);
  });

  it("is written after a second and a half if no call comes", async () => {
    await using k = await startKillable();
    let answer: unknown = "not yet";
    const settling = k.succeed(await acceptOne(k, "m1")).then((written) => {
      answer = written;
    });
    const before = await k.commits();
    await k.clock().advance("1499ms");
    assert.deepEqual([answer, (await k.commits()) - before], ["not yet", 0]);
    await k.clock().advance("1ms");
    await settling;
    assert.deepEqual([answer, (await k.commits()) - before], ["written", 1]);
    await k.kill();
    assert.deepEqual(await k.counts(), ["crm delivered: 1"]);
  });

  it("does not wait where 256 do", async () => {
    await using k = await startKillable();
    const all = await accept(k, ...makeEntries(256));
    const [last, ...others] = all.toReversed();
    const answers: unknown[] = [];
    const settling = others.map((one) => k.succeed(one).then((answer) => answers.push(answer)));
    await k.clock().rest();
    assert.deepEqual(answers, []);
    assert.equal(await k.succeed(last ?? assert.fail()), "written");
    await Promise.all(settling);
    assert.deepEqual(await k.counts(), ["crm delivered: 256"]);
  });

  it("does not wait once the daemon stops, nor when the store is closed", async () => {
    await using k = await startKillable();
    const [first, second, third] = await accept(k, ...makeEntries(3));
    assert.ok(first && second && third);
    const settling = k.succeed(first);
    k.store().hurry();
    assert.equal(await settling, "written");
    assert.equal(await k.succeed(second), "written");
    await k.restart();
    const last = k.succeed(third);
    await k.restart();
    assert.equal(await last, "written");
    assert.deepEqual(await k.counts(), ["crm delivered: 3"]);
  });
});

describe("the newest events", () => {
  it("are folded when they are many, in many commits or few, and when they are old", async () => {
    await using k = await startKillable();
    for (let n = 1; n < 256; n += 1) await acceptOne(k, `m${n}`);
    assert.deepEqual(await rowsOf(k), [0, 0, 0, 0]);
    await acceptOne(k, "m256");
    assert.deepEqual(await rowsOf(k), [256, 256, 1, 256]);
    await k.append(...makeEntries(1_023, { ownId: true, deliverTo: [] }));
    assert.deepEqual(await rowsOf(k), [256, 256, 1, 256]);
    await k.append(...makeEntries(1, { ownId: true, deliverTo: [] }));
    assert.deepEqual(await rowsOf(k), [256 + 5, 256, 1, 256]);
    await acceptOne(k, "old");
    await k.clock().advance("59s");
    await acceptOne(k, "young");
    assert.equal((await rowsOf(k))[0], 261);
    await k.clock().advance("1s");
    await acceptOne(k, "last");
    assert.equal((await rowsOf(k))[0], 264);
  });

  it("are removed like others, and their numbers are not used again", async () => {
    await using k = await startKillable();
    const now = k.clock().now();
    const [first] = await accept(k, makeEntry(), ...makeEntries(2, { ownId: true, deliverTo: [] }));
    const settling = k.succeed(first ?? assert.fail());
    const all = { delivered: now + 1, failed: now + 1, seen: now + 1 };
    // The success is written by the same commit, before it.
    assert.deepEqual(await k.store().prune(all, 10), { delivered: 1, failed: 0, expired: 0, unrouted: 2, seen: 1 });
    assert.equal(await settling, "written");
    assert.deepEqual(await k.sql("SELECT segment FROM contents"), []);
    await k.kill();
    assert.equal((await acceptOne(k, "next")).id, 4);
    await k.kill();
    assert.equal((await acceptOne(k, "one more")).id, 5);
  });
});

const DESTINATIONS = ["crm", "lake", "constructor"];

type Step =
  | { readonly do: "append"; readonly events: readonly { readonly id: number; readonly to: readonly string[] }[] }
  | { readonly do: "succeed" | "fail"; readonly choice: number }
  | { readonly do: "read"; readonly destination: string; readonly newestFirst: boolean }
  | {
      readonly do:
        | "count"
        | "wait a little"
        | "wait"
        | "break contents"
        | "break segments"
        | "mend"
        | "kill"
        | "restart";
    };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      events: fc.array(fc.record({ id: fc.nat(30), to: fc.subarray(DESTINATIONS) }), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("succeed" as const), choice: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fail" as const), choice: fc.nat(100) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("read" as const),
      destination: fc.constantFrom(...DESTINATIONS),
      newestFirst: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        ...(["count", "wait a little", "wait", "break contents", "break segments"] as const),
        ...(["mend", "mend", "kill", "kill", "restart"] as const),
      ),
    }),
  },
);

type State = "waiting" | "delivered" | "failed";

type Success = { readonly key: string; readonly answer: Promise<unknown>; written: boolean };

/** What there should be: deliveries by event and destination. */
type Model = {
  readonly seen: Set<string>;
  readonly deliveries: Map<string, { readonly delivery: Delivery; state: State }>;
  /** Successes that are not written yet, as far as anybody looked. */
  unwritten: Success[];
  next: number;
  broken: "contents" | "segments" | null;
};

function keyOf({ id, destination }: Pick<Delivery, "id" | "destination">): string {
  return `${id} ${destination}`;
}

/** A commit has written, or tried to write, the successes before it. */
async function catchUp({ unwritten, deliveries }: Model): Promise<void> {
  for (const { key, answer } of unwritten.splice(0)) {
    const one = deliveries.get(key);
    // A success that could not be written is told to the loop, which tries again: here it is as if it had never been.
    if (!isFault(await answer) && one) one.state = "delivered";
  }
}

async function append(k: KillableStore, model: Model, entries: readonly Entry[]): Promise<void> {
  const seen = new Set(model.seen);
  const expected = entries.map(({ event: { messageId } }) => {
    const isNew = !seen.has(messageId);
    seen.add(messageId);
    return isNew ? "accepted" : "duplicate";
  });
  const answer = await k.store().append(entries);
  await catchUp(model);
  if (isFault(answer)) {
    assert.ok(model.broken !== null);
    return;
  }
  assert.deepEqual(
    answer.map(({ kind }) => kind),
    expected,
  );
  for (const [nth, receipt] of answer.entries()) {
    if (receipt.kind !== "accepted") continue;
    const { messageId } = entries[nth]?.event ?? assert.fail();
    model.seen.add(messageId);
    assert.deepEqual(
      receipt.deliveries.map(({ id, messageId, destination }) => [id, messageId, destination]),
      entries[nth]?.deliverTo.map((destination) => [model.next, messageId, destination]),
    );
    for (const delivery of receipt.deliveries) model.deliveries.set(keyOf(delivery), { delivery, state: "waiting" });
    model.next += 1;
  }
}

/** One that waits, and whose success is not under way. */
function choose({ deliveries, unwritten }: Model, choice: number): Delivery | undefined {
  const busy = new Set(unwritten.map(({ key }) => key));
  const free = [...deliveries].filter(([key, { state }]) => state === "waiting" && !busy.has(key));
  return free[choice % Math.max(1, free.length)]?.[1].delivery;
}

async function play(step: Step, k: KillableStore, model: Model): Promise<void> {
  switch (step.do) {
    case "append":
      return append(
        k,
        model,
        step.events.map(({ id, to }) => makeEntry({ messageId: `m${id}`, deliverTo: to })),
      );
    case "succeed": {
      const delivery = choose(model, step.choice);
      if (delivery) model.unwritten.push(succeed(k, delivery));
      return;
    }
    case "fail": {
      const delivery = choose(model, step.choice);
      if (!delivery) return;
      const answer = await k.settle(delivery, failed(delivery, k.clock().now()));
      await catchUp(model);
      const one = model.deliveries.get(keyOf(delivery));
      if (isFault(answer)) assert.ok(model.broken !== null);
      else if (one) one.state = "failed";
      return;
    }
    case "read":
      return read(k, model, step);
    case "count":
      return count(k, model);
    case "wait a little":
      return k.clock().advance("1s");
    case "wait":
      await k.clock().advance("1m");
      return catchUp(model);
    case "break contents":
    case "break segments":
      if (model.broken !== null) return;
      model.broken = step.do === "break contents" ? "contents" : "segments";
      return k.exec(failing(model.broken));
    case "mend":
      return mend(k, model);
    case "kill":
      return kill(k, model);
    case "restart":
      await k.restart();
      return catchUp(model);
  }
}

function succeed(k: KillableStore, delivery: Delivery): Success {
  const success: Success = {
    key: keyOf(delivery),
    answer: k.succeed(delivery).then((answer) => {
      success.written = !isFault(answer);
      return answer;
    }),
    written: false,
  };
  return success;
}

/** What was answered as written must be there. A commit may have been under way for the others: they are either. */
async function kill(k: KillableStore, { unwritten, deliveries }: Model): Promise<void> {
  const open = unwritten.splice(0).map(({ key, written }) => ({ key, written }));
  await k.kill();
  const rows = await k.sql("SELECT event, destination FROM deliveries WHERE state = 'delivered'");
  const found = new Set(rows.map(({ event, destination }) => `${event} ${destination}`));
  for (const { key, written } of open) {
    const one = deliveries.get(key);
    if (one && (written || found.has(key))) one.state = "delivered";
  }
}

async function mend(k: KillableStore, model: Model): Promise<void> {
  if (model.broken !== null) await k.exec(`DROP TRIGGER failing_${model.broken}`);
  model.broken = null;
}

type Reading = { readonly destination: string; readonly newestFirst: boolean };

async function read(k: KillableStore, model: Model, { destination, newestFirst }: Reading): Promise<void> {
  const ids = [...model.deliveries.values()].flatMap(({ delivery, state }) =>
    delivery.destination === destination && state === "waiting" ? [delivery.id] : [],
  );
  const { deliveries, more } = await k.store().readQueue(makeAsk({ destination, newestFirst }));
  assert.deepEqual([deliveries.map(({ id }) => id), more], [newestFirst ? ids.reverse() : ids, false]);
}

async function count(k: KillableStore, model: Model): Promise<void> {
  const found = await k.counts();
  await catchUp(model);
  const counts = new Map<string, number>();
  for (const { delivery, state } of model.deliveries.values()) {
    const name = `${delivery.destination} ${state}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  assert.deepEqual(found, [...counts].map(([name, number]) => `${name}: ${number}`).sort());
}

async function compare(k: KillableStore, model: Model): Promise<void> {
  await count(k, model);
  const rows = await k.sql("SELECT event, destination, state FROM deliveries");
  assert.deepEqual(
    rows.map(({ event, destination, state }) => `${event} ${destination} ${state}`).sort(),
    [...model.deliveries].map(([key, { state }]) => `${key} ${state}`).sort(),
  );
  const [{ events } = {}] = await k.sql("SELECT count(*) AS events FROM events");
  assert.equal(events, model.next - 1);
  for (const destination of DESTINATIONS) await read(k, model, { destination, newestFirst: false });
}

describe("any sequence of calls, settlements, reads, failures, kills and restarts", () => {
  it("leaves every event, delivery, count and number as it should be", SLOW, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (steps) => {
        await using k = await startKillable();
        const model: Model = { seen: new Set(), deliveries: new Map(), unwritten: [], next: 1, broken: null };
        for (const step of steps) await play(step, k, model);
        await mend(k, model);
        await compare(k, model);
        await k.kill();
        await compare(k, model);
      }),
      { numRuns: 100 },
    );
  });
});
