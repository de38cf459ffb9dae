import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isFault } from "../../../src/model/fault.ts";
import { noise } from "../../model/make.ts";
import { delivered, makeEntries, makeEntry, retried } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

const LONG = JSON.stringify({ text: noise(4_000) });
const SHORT = JSON.stringify({ plan: "pro" });

/** Two segments, the first with bodies like this; answers the ids that are read after `damage` was done to the first. */
async function readAfter(o: TestOutbox, body: string, damage: string): Promise<readonly number[]> {
  await o.s.append(...makeEntries(2, { body }));
  await o.s.append(...makeEntries(2, { ownId: true }));
  await o.fold();
  o.shell.exec(damage);
  return (await o.s.read()).map(({ id }) => id);
}

function told({ s }: TestOutbox): string {
  const failures = s.told.filter(({ what }) => what === "storeFailed");
  return failures.map(({ args }) => `${args[0]}: ${(args[1] as Error).message}`).join("\n");
}

describe("a segment that is not as it was written", () => {
  const damages = [
    { what: "a byte of a short body", body: SHORT, how: "UPDATE contents SET bodies = replace(bodies, 'pro', 'prp')" },
    { what: "a byte of a messageId", body: SHORT, how: "UPDATE contents SET about = replace(about, 'm1', 'm3')" },
    { what: "the end of long bodies", body: LONG, how: "UPDATE contents SET bodies = substr(bodies, 1, 2000)" },
    { what: "a whole body", body: SHORT, how: "UPDATE contents SET bodies = '{}'" },
    { what: "a letter", body: SHORT, how: "UPDATE progress SET states = 'vw'" },
    { what: "the contents", body: SHORT, how: "DELETE FROM contents" },
  ];
  for (const { what, body, how } of damages) {
    it(`because of ${what} is told and not sent, and what is behind it is`, async () => {
      await using o = await startOutbox();
      assert.deepEqual(await readAfter(o, body, `${how} WHERE segment = 1`), [3, 4]);
      assert.match(
        told(o),
        /^read the waiting deliveries of crm: segment 1 of the outbox is damaged: .*; stop Fairlead, /,
      );
      assert.deepEqual(await o.s.counts(), ["crm waiting: 4"]);
    });
  }

  it("is told once where the newest events are behind it", async () => {
    await using o = await startOutbox();
    assert.deepEqual(await readAfter(o, SHORT, "UPDATE contents SET bodies = '{}' WHERE segment = 1"), [3, 4]);
    const before = o.s.told.length;
    await o.s.append(makeEntry({ messageId: "newest" }));
    assert.deepEqual(
      (await o.s.read()).map(({ id }) => id),
      [3, 4, 5],
    );
    assert.equal(o.s.told.length - before, 1);
  });

  it("from before there were checksums is taken as it is", async () => {
    await using o = await startOutbox();
    assert.deepEqual(await readAfter(o, SHORT, "UPDATE contents SET sum = NULL"), [1, 2, 3, 4]);
    assert.equal(told(o), "");
  });

  it("is not replayed either", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ body: SHORT }));
    const [one] = await o.s.read();
    assert.ok(one);
    await o.s.store().settle(one, delivered(one, o.s.clock.now()));
    o.shell.exec("UPDATE contents SET bodies = replace(bodies, 'pro', 'prp')");
    await assert.rejects(o.s.store().replay.one({ id: 1, destination: "crm" }), /segment 1 of the outbox is damaged/);
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1"]);
  });
});

describe("a retry that is not as it was written", () => {
  it("is told and not sent, and those behind it are, however many of them are damaged", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(4, { body: SHORT }));
    for (const one of await o.s.read()) await o.s.store().settle(one, retried(one, o.s.clock.now()));
    o.shell.exec("UPDATE tried SET body = replace(body, 'pro', 'prp') WHERE event < 3");
    const page = await o.s.read({ queue: "retry", limit: 2 });
    assert.deepEqual(
      page.map(({ id }) => id),
      [3, 4],
    );
    assert.match(
      told(o),
      /^read the waiting deliveries of crm: delivery 1 in the outbox is damaged: .*; stop Fairlead, /,
    );
  });
});

describe("a deletion, beside a segment that is not as it was written", () => {
  const of = { users: new Set(["u1"]), sources: null, upTo: 2 };

  async function damageAlias(o: TestOutbox): Promise<void> {
    // Only a body says whose other id it is.
    await o.s.append(makeEntry({ type: "alias", userId: "u9", body: SHORT }));
    await o.s.append(makeEntry({ messageId: "m2", userId: "u1", deliverTo: [] }));
    o.shell.exec("UPDATE contents SET bodies = replace(bodies, 'pro', 'prp') WHERE segment = 1");
  }

  it("finds what waits in others, and tells of it", async () => {
    await using o = await startOutbox();
    await damageAlias(o);
    await o.s.append(makeEntry({ messageId: "m3", userId: "u1" }));
    const { found } = await o.s.store().deletions.waiting({ ...of, upTo: 3 }, null);
    assert.deepEqual(found, [{ event: 3, source: "website", userId: "u1" }]);
    assert.match(told(o), /^find waiting deliveries of deleted users: segment 1 of the outbox is damaged: /);
  });

  it("erases the user in others, and does not say that nothing is left", async () => {
    await using o = await startOutbox();
    await damageAlias(o);
    const { deletions } = o.s.store();
    const request = { id: "del-1", requestedAt: 5, userIds: ["u1"], sources: null, affected: ["website"], untold: [] };
    const recorded = await deletions.record({ ...request, erase: true, suppress: false });
    assert.ok(!isFault(recorded));
    const step = await deletions.erase(recorded, of, null);
    assert.ok(!isFault(step) && step.busy);
    assert.deepEqual((await deletions.receipt("del-1"))?.erased, { events: 1, deliveries: 0 });
    assert.match(told(o), /^erase users: segment 1 of the outbox is damaged: /);
  });
});
