import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { payloadFor, specifiedBody, storedBody } from "../../../src/model/payload.ts";
import type { Entry } from "../../../src/model/ports.ts";
import type { Rewrite } from "../../../src/model/waiting-deliveries.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, failed, makeEntry, retried } from "../make.ts";

const BOTH = ["crm", "slack"];
const OWN = '{"text":"own"}';

/** With a payload for `slack`. */
function makeOwn(messageId: string, deliverTo = BOTH): Entry {
  const body = JSON.stringify({ messageId });
  return makeEntry({
    messageId,
    deliverTo,
    body: storedBody(body, deliverTo.includes("slack") ? [["slack", OWN]] : []),
  });
}

/** What receivers would get of all that waits, in the order of the events. */
async function sent(s: TestStore, destination: string): Promise<readonly string[]> {
  const all = [...(await s.read({ destination })), ...(await s.read({ destination, queue: "retry" }))];
  return all.toSorted((one, other) => one.id - other.id).map(({ body }) => payloadFor(body, destination));
}

/** As the daemon makes the payload of the destination that deliveries move to. */
const rewrite: Rewrite = (stored, { source, type, messageId }) =>
  storedBody(specifiedBody(stored), [["lake", JSON.stringify([source, type, messageId])]]);

export function describePayloads(open: OpenStore): void {
  describe("payloads of destinations", () => {
    it("are read, before and after a restart, whether tried or not", async () => {
      await using s = await startStore(open);
      await s.append(makeOwn("m1"), makeEntry({ messageId: "m2", deliverTo: BOTH }), makeOwn("m3"));
      for (const destination of BOTH) {
        const [one] = await s.read({ destination });
        assert.ok(one);
        await s.store().settle(one, retried(one, s.clock.now()));
      }
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(await sent(s, "slack"), [OWN, '{"messageId":"m2"}', OWN]);
        assert.deepEqual(await sent(s, "crm"), ['{"messageId":"m1"}', '{"messageId":"m2"}', '{"messageId":"m3"}']);
      }
    });

    it("are shown, and sent again as they were", async () => {
      await using s = await startStore(open);
      await s.append(makeOwn("m1"), makeOwn("m2"));
      const known = await s.read({ destination: "slack" });
      for (const [nth, one] of known.entries()) {
        await s.store().settle(one, (nth === 0 ? delivered : failed)(one, s.clock.now()));
      }
      for (const one of known) {
        assert.equal((await s.store().lookup.delivery(one))?.body, OWN);
        assert.equal(
          (await s.store().lookup.delivery({ ...one, destination: "crm" }))?.body.startsWith('{"messageId"'),
          true,
        );
        assert.equal(await s.store().replay.one(one), "replayed");
      }
      assert.deepEqual(await sent(s, "slack"), [OWN, OWN]);
      assert.equal((await sent(s, "crm")).length, 2);
    });

    it("are made anew for the destination that deliveries move to", async () => {
      await using s = await startStore(open);
      await s.append(makeOwn("m1"), makeOwn("m2"), makeOwn("m3"));
      const [tried] = await s.read({ destination: "slack" });
      assert.ok(tried);
      await s.store().settle(tried, retried(tried, s.clock.now()));
      await s.later("1m");
      const answer = await s.store().waiting.move({ from: "slack", to: "lake", rewrite }, 1_000);
      assert.deepEqual(answer, { moved: 3, doubled: 0, more: false });
      const own = ["m1", "m2", "m3"].map((messageId) => `["website","track","${messageId}"]`);
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(await sent(s, "lake"), own);
        assert.deepEqual(await s.counts(), ["crm waiting: 3", "lake waiting: 3"]);
      }
      for (const one of [
        ...(await s.read({ destination: "lake" })),
        ...(await s.read({ destination: "lake", queue: "retry" })),
      ]) {
        assert.equal(await s.store().settle(one, delivered(one, s.clock.now())), "written");
      }
      assert.deepEqual(await s.counts(), ["crm waiting: 3", "lake delivered: 3"]);
      assert.equal((await sent(s, "crm")).length, 3);
    });

    it("are left behind by deliveries that move to a destination without one", async () => {
      await using s = await startStore(open);
      await s.append(makeOwn("m1", ["slack"]), makeOwn("m2", ["slack"]));
      const [tried] = await s.read({ destination: "slack" });
      assert.ok(tried);
      await s.store().settle(tried, retried(tried, s.clock.now()));
      await s.store().waiting.move({ from: "slack", to: "lake" }, 1_000);
      assert.deepEqual(await sent(s, "lake"), ['{"messageId":"m1"}', '{"messageId":"m2"}']);
      await s.store().waiting.move({ from: "lake", to: "slack" }, 1_000);
      assert.deepEqual(await sent(s, "slack"), [OWN, OWN]);
    });
  });
}
