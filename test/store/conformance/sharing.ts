import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSyncWorker } from "../../../src/audience/worker.ts";
import type { Members, OpenSync } from "../../../src/model/audience.ts";
import type { ErasedStep, WalkCursor } from "../../../src/model/deletion.ts";
import type { Delivery } from "../../../src/model/delivery.ts";
import { neverStopped, type StoredClock } from "../../../src/model/destination-clock.ts";
import { type Fault, isFault } from "../../../src/model/fault.ts";
import type { Accept, Clock, Store, StoreChange } from "../../../src/model/ports.ts";
import { createFalseClock } from "../../flow/clock.ts";
import {
  AMPLE,
  createFalseReport,
  describeCounts,
  makeAsk,
  type OpenStore,
  startStore,
  type TestStore,
} from "../harness.ts";
import { delivered, makeEntries, makeEntry, retried } from "../make.ts";

/** What an engine is able to do. */
export type Abilities = {
  /** Whether several daemons may have one store open. */
  readonly shared: boolean;
  /** How a store is opened that several daemons have open; if left out, as any other. */
  readonly together?: OpenStore;
  /** Whose clock the store's times continue from: one that several machines share can be believed. */
  readonly clock: "machine" | "server";
  /** Whether what is removed no longer counts against `maxSize` at once. */
  readonly frees: boolean;
};

/** What two daemons on one store may see of each other. */
export function describeSharing(open: OpenStore, { shared }: Abilities): void {
  describe("a second daemon on the same store", () => {
    if (shared) describeShared(open);
    else describeRefused(open);
  });
}

function describeRefused(open: OpenStore): void {
  it("is refused with a message that names the holder, and the first one is not disturbed", async () => {
    await using s = await startStore(open);
    await s.append(makeEntry({ messageId: "m1" }));
    await assert.rejects(openSecond(s, open), /another Fairlead \(pid \d+\) has it open; stop that process/);
    assert.deepEqual(await s.append(makeEntry({ messageId: "m2" })), ["accepted"]);
    assert.equal((await s.read()).length, 2);
  });

  it("is let in once the first one has closed, and finds what that has stored", async () => {
    await using s = await startStore(open);
    await s.append(makeEntry());
    await s.store().close();
    const second = await openSecond(s, open);
    assert.equal((await second.readQueue(makeAsk())).deliveries.length, 1);
    await second.close();
  });
}

function describeShared(open: OpenStore): void {
  it("is listed with the first one, what each holds, and that one of them leads", async () => {
    await using both = await startBoth(open);
    await both.second.append(makeEntries(3));
    await both.clock.advance("4s");
    const daemons = (await both.first.sharing?.daemons()) ?? assert.fail();
    const [first = assert.fail(), second = assert.fail()] = [true, false].map((self) =>
      daemons.find((daemon) => daemon.self === self),
    );
    assert.equal(daemons.length, 2);
    assert.deepEqual([first.streams.map(({ waiting }) => waiting), first.leads, first.alive], [[0], true, true]);
    assert.deepEqual([second.streams.map(({ waiting }) => waiting), second.leads, second.alive], [[3], false, true]);
    assert.deepEqual([both.first.sharing?.leads(), both.second.sharing?.leads()], [true, false]);
    assert.equal(both.second.sharing?.streams(), 1);
    assert.ok(both.clock.now() - (both.second.sharing?.beatAt() ?? 0) <= 2_000);
  });

  it("is no longer listed once it has closed", async () => {
    await using both = await startBoth(open);
    await both.second.close();
    const daemons = await both.first.sharing?.daemons();
    assert.deepEqual(
      daemons?.map(({ self }) => self),
      [true],
    );
  });

  it("recognises the repeats of what the first one has accepted", async () => {
    await using both = await startBoth(open);
    await both.first.append(makeEntries(3));
    const receipts = await both.second.append(makeEntries(4));
    assert.deepEqual(kindsOf(receipts), ["duplicate", "duplicate", "duplicate", "accepted"]);
  });

  it("hears what the first one announces, within two seconds, and the first one does not", async () => {
    await using both = await startBoth(open);
    const [ours, theirs] = [listen(both.first), listen(both.second)];
    const hold = { destination: "crm", url: "https://a.example.com/hook", until: both.clock.now() + 60_000 };
    const said = [
      { kind: "retry", destination: "crm" },
      { kind: "holds", holds: [hold] },
    ] as const;
    for (const one of said) assert.equal(await both.first.sharing?.announce(one), null);
    await both.clock.advance("2s");
    const announced = ({ kind }: StoreChange): boolean => kind === "retry" || kind === "holds";
    assert.deepEqual([ours.filter(announced), theirs.filter(announced)], [[], said]);
  });

  it("never reads a delivery that the first one reads", async () => {
    await using both = await startBoth(open);
    await both.first.append(makeEntries(5));
    await both.second.append(makeEntries(5, { source: "app" }));
    const [ours, theirs] = [await waitingIn(both.first), await waitingIn(both.second)];
    assert.equal(new Set([...ours, ...theirs].map(({ id }) => id)).size, 10);
    assert.equal(ours.length + theirs.length, 10);
  });

  it("cannot settle what is the first one's", async () => {
    await using both = await startBoth(open);
    await both.first.append(makeEntries(1));
    const [delivery = assert.fail()] = await waitingIn(both.first);
    const settlement = delivered(delivery, both.clock.now());
    assert.equal(await both.second.settle(delivery, settlement), "gone");
    assert.equal(await both.first.settle(delivery, settlement), "written");
  });

  it("refuses a user whom the first one has suppressed, and lists what that has accepted", async () => {
    await using both = await startBoth(open);
    await both.first.append([makeEntry({ messageId: "m1", userId: "u1" })]);
    const request = { id: "del-1", requestedAt: 5, userIds: ["u1"], sources: null, affected: [], untold: [] };
    assert.ok(!isFault(await both.first.deletions.record({ ...request, erase: false, suppress: true })));
    await both.clock.advance("2s");
    assert.deepEqual(kindsOf(await both.second.append([makeEntry({ messageId: "m2", userId: "u1" })])), ["suppressed"]);
    assert.equal((await both.second.lookup.event("m1", ["website"])).events.length, 1);
  });

  it("takes over what the first one leaves, and is told so", async () => {
    await using both = await startBoth(open);
    const changes: StoreChange["kind"][] = [];
    both.second.changes(({ kind }) => void changes.push(kind));
    await both.first.append(makeEntries(3));
    await both.first.close();
    await both.clock.advance("1m");
    assert.ok(changes.includes("moved"));
    assert.equal((await waitingIn(both.second)).length, 3);
  });

  describe("takes the place of one that is suspended", () => describeSuspended(open));
  describe("shares waiting deliveries", () => describeSharedWaiting(open));
  describe("shares audiences and traits", () => describeSharedMembers(open));
  describe("shares deletions", () => describeSharedDeletions(open));
  describe("shares the clocks of destinations", () => describeSharedClocks(open));
}

/** The first one's clock stands still: it says nothing of itself, and hears nothing, until it writes. */
function describeSuspended(open: OpenStore): void {
  it("which settles nothing any more of what was its own", async () => {
    await using s = await startStore(open);
    await s.append(...makeEntries(2));
    const [one = assert.fail(), two = assert.fail()] = await s.read();
    await using second = await takeOver(s, open);
    assert.equal((await waitingIn(second.store)).length, 2);
    const now = s.clock.now();
    assert.equal(await s.store().settle(one, delivered(one, now)), "gone");
    assert.equal(await s.store().settle(two, retried(two, now)), "gone");
    const taken = await waitingIn(second.store);
    const settled = taken.map((delivery) => second.store.settle(delivery, delivered(delivery, now)));
    assert.deepEqual(await Promise.all(settled), ["written", "written"]);
  });

  it("which writes what it accepts then where the other one does not deliver", async () => {
    await using s = await startStore(open);
    await s.append(makeEntry({ messageId: "m1" }));
    await using second = await takeOver(s, open);
    assert.deepEqual(await s.append(makeEntry({ messageId: "m1" }), makeEntry({ messageId: "m2" })), [
      "duplicate",
      "accepted",
    ]);
    assert.deepEqual(ids(await s.read()), ["m2"]);
    assert.deepEqual(ids(await waitingIn(second.store)), ["m1"]);
    await s.clock.advance("3s");
    assert.deepEqual(await describeCounts(second.store), ["crm waiting: 2"]);
  });
}

function ids(deliveries: readonly Delivery[]): readonly string[] {
  return deliveries.map(({ messageId }) => messageId);
}

/** Another daemon, by a clock of its own, for as long as it takes to believe that the first one is dead. */
async function takeOver(s: TestStore, open: OpenStore) {
  const clock = createFalseClock();
  const store = await open({ ...AMPLE, folder: s.folder, clock, report: createFalseReport([]) });
  store.hurry();
  await clock.advance("20s");
  return { store, [Symbol.asyncDispose]: store.close };
}

function describeSharedWaiting(open: OpenStore): void {
  it("moves what waits in any of them, and tells the others", async () => {
    await using both = await startBoth(open);
    const heard = listen(both.first);
    await both.first.append(makeEntries(3));
    await both.second.append(makeEntries(2, { source: "app" }));
    const moved = await both.second.waiting.move({ from: "crm", to: "lake" }, 100);
    assert.deepEqual(moved, { moved: 5, doubled: 0, more: false });
    await both.clock.advance("2s");
    assert.deepEqual(
      heard.map(({ kind }) => kind).filter((kind) => kind === "moved" || kind === "withdrawn"),
      ["withdrawn", "moved"],
    );
    const lake = makeAsk({ destination: "lake" });
    assert.equal((await both.first.readQueue(lake)).deliveries.length, 3);
    assert.equal((await both.second.readQueue(lake)).deliveries.length, 2);
    assert.deepEqual(await waitingIn(both.first), []);
  });

  it("leaves them alone while another daemon may be sending there", async () => {
    await using both = await startBoth(open);
    let sending = ["crm"];
    both.first.changes(
      () => {},
      () => sending,
    );
    await both.first.append(makeEntries(3));
    await both.clock.advance("3s");
    const busy = [
      await both.second.waiting.move({ from: "crm", to: "lake" }, 100),
      await both.second.waiting.discard("crm", 100),
    ];
    assert.deepEqual(
      busy.map((answer) => isFault(answer) && answer.code),
      ["destination_busy", "destination_busy"],
    );
    sending = [];
    await both.clock.advance("3s");
    assert.deepEqual(await both.second.waiting.discard("crm", 100), { discarded: 3, more: false });
    assert.deepEqual(await waitingIn(both.first), []);
  });

  it("sends again what the first one has settled", async () => {
    await using both = await startBoth(open);
    await both.first.append(makeEntries(2));
    const [one] = await waitingIn(both.first);
    assert.ok(one);
    await both.first.settle(one, delivered(one, both.clock.now()));
    assert.equal(await both.second.replay.one(one), "replayed");
    const { deliveries } = await both.first.readQueue(makeAsk({ queue: "retry" }));
    assert.deepEqual(
      deliveries.map(({ id }) => id),
      [one.id],
    );
  });
}

const REQUEST = { id: "del-1", requestedAt: 5, userIds: ["u1"], sources: null, affected: ["website"], untold: [] };

function describeSharedDeletions(open: OpenStore): void {
  it("has one daemon carry out what any of them was asked, and tells it so", async () => {
    await using both = await startBoth(open);
    await both.clock.advance("3s");
    const heard = listen(both.first);
    const recorded = await both.second.deletions.record({ ...REQUEST, erase: true, suppress: false });
    await both.clock.advance("2s");
    assert.deepEqual(await both.first.deletions.unfinished("notices", ""), [recorded]);
    assert.deepEqual(await both.second.deletions.unfinished("notices", ""), []);
    assert.ok(heard.some(({ kind }) => kind === "work"));
  });

  it("counts what any of them has accepted as older than the request, and erases it", async () => {
    await using both = await startBoth(open);
    const [ours, theirs] = [makeEntries(2, { userId: "u1" }), makeEntries(3, { userId: "u1", source: "app" })];
    for (const [store, entries] of [[both.second, theirs] as const, [both.first, ours] as const]) {
      await store.append(entries);
      for (const one of await waitingIn(store)) await store.settle(one, delivered(one, both.clock.now()));
      await both.clock.advance("1s");
    }
    const recorded = await both.first.deletions.record({ ...REQUEST, erase: true, suppress: false });
    assert.ok(!isFault(recorded));
    const of = { users: new Set(["u1"]), sources: null, upTo: recorded.upTo };
    let after: WalkCursor | null = null;
    do {
      const step: ErasedStep | Fault = await both.first.deletions.erase(recorded, of, after);
      assert.ok(!isFault(step) && !step.busy);
      after = step.next;
    } while (after !== null);
    assert.deepEqual((await both.second.deletions.receipt("del-1"))?.erased, { events: 5, deliveries: 0 });
    assert.deepEqual((await both.second.lookup.event("m1", ["website", "app"])).events, []);
  });

  it("accepts a user again in all of them once one lifts the suppression", async () => {
    await using both = await startBoth(open);
    await both.first.deletions.record({ ...REQUEST, erase: false, suppress: true });
    assert.equal(await both.second.deletions.suppressed.lift(["u1"]), 1);
    await both.clock.advance("2s");
    for (const { deletions } of [both.first, both.second]) {
      assert.deepEqual(await deletions.suppressed.among(["u1"], "website"), new Set());
    }
  });

  it("does not go back to a stage that another one has finished", async () => {
    await using both = await startBoth(open);
    await both.first.deletions.record({ ...REQUEST, erase: false, suppress: false });
    await both.second.deletions.advance("del-1", { stage: "done", status: "finished", endedAt: 9 });
    const late = await both.first.deletions.advance("del-1", { stage: "settling", status: "running", endedAt: null });
    assert.partialDeepStrictEqual(late, { stage: "done", status: "finished", endedAt: 9 });
  });
}

const CRM = neverStopped("crm");
const PAUSED: StoredClock = { ...CRM, pausedAt: 300, stoppedAt: 300 };

function describeSharedClocks(open: OpenStore): void {
  it("tells the others what one of them has saved, and not itself", async () => {
    await using both = await startBoth(open);
    const [ours, theirs] = [listen(both.first), listen(both.second)];
    await both.first.clocks.save([PAUSED], "command");
    await both.clock.advance("2s");
    assert.deepEqual(clocksIn(theirs), [PAUSED]);
    assert.deepEqual(await both.second.clocks.all(), [PAUSED]);
    await both.second.clocks.save([{ ...CRM, stoodStill: 50 }], "command");
    await both.clock.advance("2s");
    assert.deepEqual(clocksIn(ours), [{ ...CRM, stoodStill: 50 }]);
    assert.deepEqual(clocksIn(theirs), [PAUSED]);
  });

  it("keeps a pause that one saves while another has saved something else", async () => {
    await using both = await startBoth(open);
    const theirs = listen(both.second);
    await both.first.clocks.save([PAUSED], "command");
    await both.second.clocks.save([{ ...CRM, unservedAt: 200, stoppedAt: 200 }], "observed");
    const merged = { ...PAUSED, unservedAt: 200, stoppedAt: 200 };
    assert.deepEqual(clocksIn(theirs), [merged]);
    await both.clock.advance("2s");
    for (const { clocks } of [both.first, both.second]) assert.deepEqual(await clocks.all(), [merged]);
  });

  it("forgets nothing that deliveries of another daemon may need", async () => {
    await using both = await startBoth(open);
    const ours = listen(both.first);
    await both.first.clocks.save([{ ...CRM, stoodStill: 50 }], "observed");
    await both.first.clocks.save([CRM], "observed");
    assert.deepEqual(await both.first.clocks.all(), [{ ...CRM, stoodStill: 50 }]);
    assert.deepEqual(clocksIn(ours), [{ ...CRM, stoodStill: 50 }]);
    await both.second.close();
    await both.first.clocks.save([CRM], "observed");
    assert.deepEqual(await both.first.clocks.all(), []);
  });
}

function listen(store: Store): readonly StoreChange[] {
  const heard: StoreChange[] = [];
  store.changes((change) => void heard.push(change));
  return heard;
}

function clocksIn(heard: readonly StoreChange[]): readonly StoredClock[] {
  return heard.flatMap((change) => (change.kind === "clocks" ? change.clocks : []));
}

const NAME = { source: "website", class: "audience", name: "Big", key: "big" } as const;
const BEGINNING = { ...NAME, id: "aud_1", added: 0, changed: 0, removed: 0, latest: null };

function describeSharedMembers(open: OpenStore): void {
  it("has one daemon send what any of them begins, and another one if that ends", async () => {
    await using both = await startBoth(open);
    await both.clock.advance("3s");
    for (const { members } of [both.first, both.second]) {
      const sync = await prepare(members, "u1");
      const begun = await members.begin(sync, { ...BEGINNING, ...NAME, key: `big_${sync}` });
      assert.ok(!isFault(begun));
    }
    const syncsOf = async ({ members }: Store) => (await members.open()).map(({ sync }) => sync.number);
    assert.deepEqual([await syncsOf(both.first), await syncsOf(both.second)], [[1, 2], []]);
    await both.first.close();
    await both.clock.advance("1m");
    assert.deepEqual(await syncsOf(both.second), [1, 2]);
  });

  it("tells the daemon that has begun something when another one has sent it", async () => {
    await using both = await startBoth(open);
    const stopping = new AbortController();
    const workers = [both.first, both.second].map((store) => startWorker(store, both.clock, stopping.signal));
    await both.clock.advance("3s");
    for (const [nth, store] of [both.first, both.second].entries()) {
      const name = { ...BEGINNING, key: `big_${nth}` };
      const begun = await store.members.begin(await prepare(store.members, "u1"), name);
      if (isFault(begun)) return assert.fail(begun.message);
      const ends: OpenSync[] = [];
      void workers[nth]?.worker.begin(begun).then((end) => ends.push(end));
      await both.clock.advance("3s");
      const [{ sync, computation } = assert.fail()] = ends;
      assert.deepEqual([sync.number, sync.done, sync.finishedAt === null, computation.size], [nth + 1, 1, false, 1]);
    }
    stopping.abort();
    for (const { running } of workers) await running;
  });

  it("begins one of two changes to a computation, and refuses the other", async () => {
    await using both = await startBoth(open);
    const syncs = [await prepare(both.first.members, "u1"), await prepare(both.second.members, "u2")] as const;
    const answers = await Promise.all([
      both.first.members.begin(syncs[0], BEGINNING),
      both.second.members.begin(syncs[1], BEGINNING),
    ]);
    assert.deepEqual(answers.map((answer) => (isFault(answer) ? answer.code : "begun")).sort(), [
      "begun",
      "sync_running",
    ]);
    assert.equal((await both.first.members.find(NAME))?.syncs.length, 1);
  });

  it("leaves a user who is forgotten out of a list that another daemon is reading", async () => {
    await using both = await startBoth(open);
    const { members } = both.second;
    const upload = await members.upload();
    await upload.add([
      { user: "u1", value: true },
      { user: "u2\u0000", value: true },
      { user: "u3", value: true },
    ]);
    await both.first.members.forget("u1", null);
    await both.first.members.forget("u2\u0000", null);
    await both.clock.advance("2s");
    const { changes } = await members.compare({ upload, computation: null, others: "remove", after: null });
    assert.deepEqual(changes, [{ user: "u3", value: true }]);
    await upload.close();
  });

  it("discards what a daemon was preparing when it ended, and nothing that lives", async () => {
    await using both = await startBoth(open);
    await both.clock.advance("3s");
    const { members } = both.first;
    const [lives, ended] = [await prepare(members, "u1"), await prepare(both.second.members, "u2")];
    assert.equal(await members.discard(10), false);
    await both.second.close();
    await both.clock.advance("1m");
    assert.deepEqual([await members.discard(10), await members.discard(10)], [true, false]);
    const late = await members.begin(ended, BEGINNING);
    assert.equal(isFault(late) && late.code, "store_failed");
    assert.ok(!isFault(await members.begin(lives, BEGINNING)));
  });
}

function startWorker({ members, append, changes }: Store, clock: Clock, signal: AbortSignal) {
  const accept: Accept = (source, events, extras) =>
    append(events.map((event, nth) => ({ ...makeEntry({ source }), ...extras?.[nth], event })));
  const worker = createSyncWorker({ members, accept, refusalOf: () => null, clock, report: createFalseReport([]) });
  changes(({ kind }) => kind === "work" && worker.wake());
  return { worker, running: worker.run(signal) };
}

async function prepare(members: Members, user: string): Promise<number> {
  const sync = await members.prepare({ id: "audience-1", kind: "list" });
  if (isFault(sync)) return assert.fail(sync.message);
  assert.equal(await members.note(sync, [{ user, value: true }]), null);
  return sync;
}

function openSecond(s: TestStore, open: OpenStore): Promise<Store> {
  return open({ ...AMPLE, folder: s.folder, clock: createFalseClock(), report: createFalseReport([]) });
}

async function startBoth(open: OpenStore) {
  const s = await startStore(open);
  const second = await open({ ...AMPLE, folder: s.folder, clock: s.clock, report: createFalseReport([]) });
  // Nothing waits for another write, as the clock stands still.
  second.hurry();
  return {
    first: s.store(),
    second,
    clock: s.clock,
    async [Symbol.asyncDispose]() {
      await second.close();
      await s[Symbol.asyncDispose]();
    },
  };
}

async function waitingIn(store: Store): Promise<readonly Delivery[]> {
  return (await store.readQueue(makeAsk())).deliveries;
}

function kindsOf(receipts: Awaited<ReturnType<Store["append"]>>): readonly string[] {
  return isFault(receipts) ? [receipts.code] : receipts.map(({ kind }) => kind);
}
