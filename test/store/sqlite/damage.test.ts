import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noise } from "../../model/make.ts";
import { delivered, makeEntries, makeEntry, retried } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

const LONG = JSON.stringify({ text: noise(4_000) });
const SHORT = JSON.stringify({ plan: "pro" });

/** Two segments, the first with bodies like this; answers the ids that are read after `damage` was done to the first. */
async function readAfter(o: TestOutbox, body: string, damage: string): Promise<readonly number[]> {
  await o.s.append(...makeEntries(2, { body }));
  await o.s.append(...makeEntries(2, { ownId: true }));
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
      assert.match(told(o), /^read what waits for crm: segment 1 of the outbox is damaged: .*; stop Fairlead, /);
      assert.deepEqual(o.s.counts(), ["crm waiting: 4"]);
    });
  }

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
    assert.deepEqual(o.s.counts(), ["crm delivered: 1"]);
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
    assert.match(told(o), /^read what waits for crm: delivery 1 in the outbox is damaged: .*; stop Fairlead, /);
  });
});
