import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Delivery } from "../../../src/model/delivery.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { Store, StoreChange } from "../../../src/model/ports.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { AMPLE, createFalseReport, makeAsk, type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, makeEntries, makeEntry } from "../make.ts";

/** What an engine is able to do. */
export type Abilities = {
  /** Whether several daemons may have one store open. */
  readonly shared: boolean;
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
    await assert.rejects(openSecond(s, open), /another Fairlead \(pid \d+\) has it open; stop that one/);
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
  it("recognises the repeats of what the first one has accepted", async () => {
    await using both = await startBoth(open);
    await both.first.append(makeEntries(3));
    const receipts = await both.second.append(makeEntries(4));
    assert.deepEqual(kindsOf(receipts), ["duplicate", "duplicate", "duplicate", "accepted"]);
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
}

function openSecond(s: TestStore, open: OpenStore): Promise<Store> {
  return open({ ...AMPLE, folder: s.folder, clock: createFalseClock(), report: createFalseReport([]) });
}

async function startBoth(open: OpenStore) {
  const s = await startStore(open);
  const second = await open({ ...AMPLE, folder: s.folder, clock: s.clock, report: createFalseReport([]) });
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
