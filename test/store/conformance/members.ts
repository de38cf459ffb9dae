import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type {
  ComputationName,
  Member,
  Members,
  OpenSync,
  SyncCounts,
  Upload,
  Value,
} from "../../../src/model/audience.ts";
import { isFault } from "../../../src/model/fault.ts";
import { SLOW } from "../../slow.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { makeEntry } from "../make.ts";

const NAME = { source: "website", class: "audience", name: "Big", key: "big", id: "aud_1" } as const;
const NONE: SyncCounts = { added: 0, changed: 0, removed: 0 };

/** More than one page of them, and some that are ordered by code points in another way than by UTF-16. */
const POOL: readonly string[] = [
  ...Array.from({ length: 600 }, (_, n) => `u${n}`),
  ...["\u{1f600}", "\ue000", "\uffff", "\u{10ffff}", "é", "e\u0301", "a", "A", "a b", "u\u0000x", "u\u0000"],
];

export function describeMembers(open: OpenStore): void {
  describe("what a list would change", () => {
    it("is exactly the difference, for any two lists, whatever is to become of the others", SLOW, async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      const list = fc
        .subarray([...POOL])
        .chain((users) =>
          fc
            .array(fc.constantFrom<Value>(true, 1, 2, "x", null), { minLength: users.length, maxLength: users.length })
            .map((values) => new Map(users.map((user, index) => [user, values[index] ?? null] as const))),
        );
      let known = new Map<string, Value>();
      await fc.assert(
        fc.asyncProperty(list, fc.constantFrom("remove" as const, "keep" as const), async (next, others) => {
          const after = wantedOf(known, next, others);
          const upload = await members.upload();
          for (const [user, value] of [...next].toReversed()) await upload.add([{ user, value }]);
          const found = await compareAll(members, { upload, others });
          await upload.close();
          assert.deepEqual(new Map(found.changes.map(({ user, value }) => [user, value])), differenceOf(known, after));
          assert.equal(found.changes.length, differenceOf(known, after).size);
          assert.deepEqual(found.counts, countsOf(known, after));
          await apply(s, await beginSync(members, found.changes, found.counts));
          known = after;
          assert.equal((await members.find(NAME))?.size, known.size);
        }),
        { numRuns: 12 },
      );
    });

    it("is what the last line about a user says", async () => {
      await using s = await startStore(open);
      const upload = await s.store().members.upload();
      await upload.add([{ user: "u1", value: 1 }]);
      await upload.add([{ user: "u1", value: 2 }]);
      assert.equal(await upload.count(), 1);
      assert.deepEqual((await compareAll(s.store().members, { upload, others: "remove" })).changes, [
        { user: "u1", value: 2 },
      ]);
      await upload.close();
      await upload.close();
    });
  });

  describe("computations", () => {
    it("are listed by source, class and name, and found by source and key", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      assert.deepEqual([await members.all(), await members.find(NAME)], [[], null]);
      const names = [
        { ...NAME, name: "Zoo", key: "zoo" },
        { ...NAME, class: "trait", name: "Age", key: "age" } as const,
        { ...NAME, name: "App", key: "big", source: "app" },
      ];
      const createdAt = s.clock.now();
      for (const name of names)
        await apply(s, await beginSync(members, membersOf("u1"), { ...NONE, added: 1 }, "list", name));
      await s.reopen();
      const all = await s.store().members.all();
      assert.deepEqual(
        all.map(({ source, key, size }) => [source, key, size]),
        [
          ["app", "big", 1],
          ["website", "zoo", 1],
          ["website", "age", 1],
        ],
      );
      const found = await s.store().members.find({ source: "app", key: "big" });
      assert.partialDeepStrictEqual(found, { id: "aud_1", class: "audience", name: "App", createdAt });
      const [sync = assert.fail(), ...others] = found?.syncs ?? [];
      assert.partialDeepStrictEqual(sync, { kind: "list", added: 1, done: 1, finishedAt: createdAt });
      assert.equal(others.length, 0);
      assert.equal(await s.store().members.find({ source: "app", key: "zoo" }), null);
    });

    it("keep their id, and come back with another after a removal", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      const id = async (): Promise<string | undefined> => (await members.find(NAME))?.id;
      await apply(s, await beginSync(members, membersOf("u1")));
      await apply(s, await beginSync(members, [], NONE, "members", { ...NAME, id: "aud_2" }));
      assert.equal(await id(), "aud_1");
      await apply(s, await beginSync(members, [{ user: "u1", value: null }], NONE, "removal"));
      assert.equal(await id(), undefined);
      await apply(s, await beginSync(members, membersOf("u2"), NONE, "list", { ...NAME, id: "aud_3" }));
      assert.deepEqual([await id(), (await members.find(NAME))?.syncs.length], ["aud_3", 1]);
    });

    it("know the values of users, of any kind", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      const given = [1.5, "é\u0000", true, false, 0, ""].map((value, n) => ({ user: `u${n}`, value }));
      await apply(s, await beginSync(members, [...given, { user: "u9", value: null }]));
      const number = (await members.find(NAME))?.number ?? 0;
      const users = ["nobody", "u9", ...given.map(({ user }) => user)];
      assert.deepEqual(await members.values(number, users), new Map(given.map(({ user, value }) => [user, value])));
      assert.deepEqual(await members.values(number + 1, users), new Map());
    });
  });

  describe("a sync", () => {
    it("that is abandoned leaves nothing behind", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      const number = await prepare(members);
      await members.note(number, membersOf("u1", "u2", "u3"));
      assert.equal(await members.abandon(number), null);
      assert.deepEqual([await members.discard(10), await members.discard(10)], [true, false]);
      assert.deepEqual([await members.pending(number, 10), await members.open()], [[], []]);
    });

    it("names a user in its messageIds by a hash that stays the same", async () => {
      await using s = await startStore(open);
      const hashOf = async (): Promise<string | undefined> => {
        const { sync } = await beginSync(s.store().members, membersOf("u1"));
        return (await s.store().members.pending(sync.number, 1))[0]?.hash;
      };
      const first = await hashOf();
      await s.reopen();
      assert.equal(await hashOf(), first);
      assert.match(first ?? "", /^[0-9a-f]{24}$/);
    });

    it("is done with each event, in its commit, and survives a restart in between", async () => {
      await using s = await startStore(open);
      const begun = await beginSync(s.store().members, membersOf("u1", "u2", "u3"));
      await append(s, begun, [{ user: "u1", value: true }]);
      await s.reopen();
      const [again = assert.fail(), ...others] = await s.store().members.open();
      assert.deepEqual([again.sync.done, again.computation.size, others], [1, 1, []]);
      const pending = await s.store().members.pending(again.sync.number, 10);
      assert.deepEqual(
        pending.map(({ user, value }) => ({ user, value })),
        membersOf("u2", "u3"),
      );
      assert.equal(new Set(pending.map(({ hash }) => hash)).size, 2);
      await apply(s, again);
      assert.deepEqual(await s.store().members.open(), []);
      const [{ syncs, size } = assert.fail()] = await s.store().members.all();
      assert.deepEqual([size, syncs.length, syncs[0]?.done], [3, 1, 3]);
    });

    it("leaves nothing of itself if it was not begun before the end", async () => {
      await using s = await startStore(open);
      const number = await prepare(s.store().members);
      await s.store().members.note(number, membersOf("u1", "u2", "u3"));
      assert.equal(await s.store().members.discard(2), false);
      await s.reopen();
      const { members } = s.store();
      assert.deepEqual([await members.open(), await members.all()], [[], []]);
      const answers = [await members.discard(2), await members.discard(2), await members.discard(2)];
      assert.deepEqual(answers, [true, true, false]);
      assert.deepEqual(await members.pending(number, 10), []);
    });

    it("stores no event of a change that is not to be made any more", async () => {
      await using s = await startStore(open);
      const begun = await beginSync(s.store().members, membersOf("u1", "u2"));
      assert.equal(await s.store().members.forget("u1", ["website"]), 0);
      assert.deepEqual(await append(s, begun, membersOf("u1", "u2")), ["duplicate", "accepted"]);
      assert.deepEqual(
        (await s.read()).map(({ messageId }) => messageId),
        ["1-u2"],
      );
      assert.equal((await s.store().members.find(NAME))?.size, 1);
    });

    it("ends what waits of the event before about a user, and says so", async () => {
      await using s = await startStore(open);
      await apply(s, await beginSync(s.store().members, membersOf("u1", "u2")));
      await apply(s, await beginSync(s.store().members, [{ user: "u1", value: null }]));
      assert.deepEqual(s.withdrawals(), [[{ id: 1, destination: "crm" }]]);
      await apply(s, await beginSync(s.store().members, membersOf("u1")));
      assert.deepEqual(await s.counts(), ["crm failed: 2", "crm waiting: 2"]);
      const detail = await s.store().lookup.delivery({ id: 3, destination: "crm" });
      assert.deepEqual([detail?.state, detail?.reason], ["failed", "superseded"]);
    });

    it("is refused if another one has begun since its changes were computed", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      await apply(s, await beginSync(members, membersOf("u1")));
      const late = await prepare(members);
      await members.note(late, membersOf("u2"));
      await apply(s, await beginSync(members, membersOf("u3")));
      const refusal = await members.begin(late, { ...NAME, ...NONE, latest: 1 });
      assert.equal(isFault(refusal) && refusal.code, "sync_running");
      assert.deepEqual(await members.open(), []);
      assert.equal(await members.abandon(late), null);
      assert.equal((await members.find(NAME))?.size, 2);
    });

    it("keeps the last ten of a computation", async () => {
      await using s = await startStore(open);
      for (let nth = 1; nth <= 12; nth += 1) await apply(s, await beginSync(s.store().members, []));
      const [{ syncs } = assert.fail()] = await s.store().members.all();
      assert.deepEqual(
        syncs.map(({ number }) => number),
        [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
      );
    });
  });

  describe("whoever leaves", () => {
    it("is forgotten once nothing about it waits", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      await apply(s, await beginSync(members, membersOf("u1", "u2")));
      await apply(s, await beginSync(members, [{ user: "u1", value: null }]));
      assert.equal(await members.sweep(10), false);
      await s.store().withdraw({ events: [3], reason: "test" });
      assert.equal(await members.sweep(10), false);
      await apply(s, await beginSync(members, membersOf("u1")));
      assert.deepEqual(s.withdrawals(), [[{ id: 1, destination: "crm" }], [{ id: 3, destination: "crm" }]]);
    });

    it("leaves without a word when the computation is removed silently, which then is gone", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      await apply(s, await beginSync(members, membersOf("u1", "u2", "u3")));
      const going = await beginSync(members, [], { ...NONE, removed: 3 }, "silent_removal");
      assert.deepEqual(
        [await members.drop(going, 2), await members.drop(going, 2), await members.drop(going, 2)],
        [2, 1, 0],
      );
      await members.finish(going);
      assert.deepEqual([await members.all(), await members.find(NAME), await members.open()], [[], null, []]);
      assert.deepEqual(await s.counts(), ["crm waiting: 3"]);
      await apply(s, await beginSync(members, membersOf("u1")));
      assert.deepEqual(await s.counts(), ["crm failed: 1", "crm waiting: 3"]);
    });

    it("is forgotten in all computations of a source, and in no other; or in all, wherever it stands", async () => {
      await using s = await startStore(open);
      const { members } = s.store();
      await apply(s, await beginSync(members, membersOf("u1", "u2")));
      const app = { ...NAME, source: "app" };
      await apply(s, await beginSync(members, membersOf("u1"), NONE, "list", app));
      const upload = await members.upload();
      await upload.add(membersOf("u1", "u3"));
      assert.equal(await members.forget("u1", ["website"]), 1);
      // Nobody knows yet whose this list is.
      assert.deepEqual((await compareAll(members, { upload, others: "keep" })).changes, membersOf("u1", "u3"));
      assert.deepEqual([(await members.find(NAME))?.size, (await members.find(app))?.size], [1, 1]);
      assert.deepEqual(await members.values(1, ["u1", "u2"]), new Map([["u2", true]]));
      assert.equal(await members.forget("u1", null), 1);
      assert.deepEqual((await compareAll(members, { upload, others: "keep" })).changes, membersOf("u3"));
      await upload.close();
      assert.equal(await members.forget("u1", ["website", "app"]), 0);
    });
  });
}

function membersOf(...users: readonly string[]): readonly Member[] {
  return users.map((user) => ({ user, value: true }));
}

async function prepare(members: Members, kind: OpenSync["sync"]["kind"] = "list"): Promise<number> {
  const number = await members.prepare({ id: "audience-1", kind });
  return typeof number === "number" ? number : assert.fail(number.message);
}

async function beginSync(
  members: Members,
  changes: readonly Member[],
  counts: SyncCounts = NONE,
  kind: OpenSync["sync"]["kind"] = "list",
  name: ComputationName & { readonly id: string } = NAME,
): Promise<OpenSync> {
  const latest = (await members.find(name))?.syncs[0]?.number ?? null;
  const number = await prepare(members, kind);
  await members.note(number, changes);
  const open = await members.begin(number, { ...name, ...counts, latest });
  return isFault(open) ? assert.fail(open.message) : open;
}

/** An event for each, as the worker would. */
async function append(s: TestStore, { sync, computation }: OpenSync, changes: readonly Member[]) {
  const of = { sync: sync.number, computation: computation.number };
  const entries = changes.map((member) => ({
    ...makeEntry({ messageId: `${sync.number}-${member.user}`, ownId: true, source: computation.source }),
    change: { ...member, ...of },
  }));
  return s.append(...entries);
}

async function apply(s: TestStore, open: OpenSync): Promise<void> {
  const { members } = s.store();
  for (
    let page = await members.pending(open.sync.number, 100);
    page.length > 0;
    page = await members.pending(open.sync.number, 100)
  ) {
    await append(s, open, page);
  }
  await members.finish(open);
}

async function compareAll(
  members: Members,
  { upload, others }: { readonly upload: Upload; readonly others: "remove" | "keep" },
) {
  const changes: Member[] = [];
  const counts = { added: 0, changed: 0, removed: 0 };
  let after: string | null = null;
  do {
    const computation = (await members.find(NAME))?.number ?? null;
    const page = await members.compare({ upload, computation, others, after });
    changes.push(...page.changes);
    for (const key of ["added", "changed", "removed"] as const) counts[key] += page.counts[key];
    after = page.after;
  } while (after !== null);
  return { changes, counts };
}

type Values = ReadonlyMap<string, Value>;

function wantedOf(known: Values, next: Values, others: "remove" | "keep"): Map<string, Value> {
  const all = others === "keep" ? new Map([...known, ...next]) : new Map(next);
  return new Map([...all].filter(([, value]) => value !== null));
}

function differenceOf(known: Values, after: Values): Values {
  const users = [...new Set([...known.keys(), ...after.keys()])];
  const changed = users.filter((user) => (known.get(user) ?? null) !== (after.get(user) ?? null));
  return new Map(changed.map((user) => [user, after.get(user) ?? null]));
}

function countsOf(known: Values, after: Values): SyncCounts {
  const users = [...differenceOf(known, after).keys()];
  const added = users.filter((user) => !known.has(user)).length;
  const removed = users.filter((user) => !after.has(user)).length;
  return { added, removed, changed: users.length - added - removed };
}
