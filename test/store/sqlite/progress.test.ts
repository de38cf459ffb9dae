import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Delivery, Settlement } from "../../../src/model/delivery.ts";
import { delivered, expired, failed, makeEntries, makeEntry, makeProgress, offline, retried, URL_A } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

const URL_B = "https://b.example.com/hook";

function states({ sql }: TestOutbox): string {
  const [{ states: letters, waiting } = {}] = sql("SELECT states, waiting FROM progress WHERE destination = 'crm'");
  return `${letters}, ${waiting} wait`;
}

/** The lines of the column `settled`. */
function lines({ sql }: TestOutbox): readonly unknown[] {
  const [{ settled } = {}] = sql("SELECT settled FROM progress WHERE destination = 'crm'");
  const text = String(settled);
  assert.ok(text === "" || text.endsWith("\n"));
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

function takenBy(delivery: Delivery, at: number, { url = URL_A, status = 200 } = {}): Settlement {
  return { ...makeProgress(delivery, at), state: "delivered", url, status };
}

describe("the letters of a segment", () => {
  it("say what the first attempt came to", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(7));
    await o.fold();
    const all = await o.s.read();
    const now = o.s.clock.now();
    assert.equal(states(o), "wwwwwww, 7 wait");
    const ends = [delivered, failed, expired, retried, offline, delivered];
    for (const [nth, end] of ends.entries()) {
      const delivery = all[nth] ?? assert.fail();
      await o.s.store().settle(delivery, end(delivery, now));
    }
    assert.equal(states(o), "dttttdw, 1 wait");
    assert.deepEqual(
      o.sql("SELECT event FROM tried").map(({ event }) => event),
      [2, 3, 4, 5],
    );
  });

  it("tell the segment how many wait, and when the last of the others left off", async () => {
    await using o = await startOutbox();
    const at = o.s.clock.now();
    await o.s.append(...makeEntries(2, { deliverTo: ["crm", "warehouse"] }));
    const all = [...(await o.s.read()), ...(await o.s.read({ destination: "warehouse" }))];
    const seen: unknown[] = [];
    for (const [nth, delivery] of all.entries()) {
      await o.s.clock.advance("1s");
      await o.s.store().settle(delivery, (nth % 2 ? retried : delivered)(delivery, o.s.clock.now()));
      seen.push(...o.sql("SELECT open, settled_at FROM segments"));
    }
    assert.deepEqual(
      seen,
      [3, 2, 1, 0].map((open) => ({ open, settled_at: at + (4 - open) * 1_000 })),
    );
  });

  it("tell it the latest time, in whichever order the destinations are written", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ deliverTo: ["crm", "warehouse"] }));
    const [one] = await o.s.read();
    const [other] = await o.s.read({ destination: "warehouse" });
    assert.ok(one && other);
    const { settle } = o.s.store();
    const { acceptedAt } = one;
    await Promise.all([
      settle(one, delivered(one, acceptedAt + 5_000)),
      settle(other, delivered(other, acceptedAt + 1_000)),
    ]);
    assert.deepEqual(o.sql("SELECT open, settled_at FROM segments"), [{ open: 0, settled_at: acceptedAt + 5_000 }]);
  });

  it("change in one commit for all that are settled in it", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(256));
    await o.fold();
    const all = await o.s.read();
    const now = o.s.clock.now();
    const answers = await Promise.all(
      all.map((one) => o.s.store().settle(one, (one.id % 3 ? delivered : failed)(one, now))),
    );
    assert.deepEqual(new Set(answers), new Set(["written"]));
    assert.equal(states(o), `${"ddt".repeat(85)}d, 0 wait`);
    assert.deepEqual(await o.s.counts(), ["crm delivered: 171", "crm failed: 85"]);
    const taken = all.map(({ id }) => id).filter((id) => id % 3);
    assert.deepEqual(lines(o), [{ at: now, url: URL_A, status: 200, events: taken }]);
  });
});

describe("the lines of who took what", () => {
  it("are one for each webhook, status and time of a commit", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(8));
    const now = o.s.clock.now();
    const by = [{}, {}, { url: URL_B }, { url: URL_B }, { status: 202 }];
    const all = await o.s.read();
    const settle = (nth: number, at = now) => {
      const delivery = all[nth] ?? assert.fail();
      return o.s.store().settle(delivery, takenBy(delivery, at, by[nth]));
    };
    await Promise.all([...[0, 1, 2, 3, 4].map((nth) => settle(nth)), settle(7, now + 1), settle(6, now + 2)]);
    await settle(5);
    const expected = [
      { at: now, url: URL_A, status: 200, events: [1, 2] },
      { at: now, url: URL_B, status: 200, events: [3, 4] },
      { at: now, url: URL_A, status: 202, events: [5] },
      { at: now + 1, url: URL_A, status: 200, events: [8] },
      { at: now + 2, url: URL_A, status: 200, events: [7] },
      { at: now, url: URL_A, status: 200, events: [6] },
    ];
    assert.deepEqual(lines(o), expected);
    await o.s.reopen();
    assert.deepEqual(lines(o), expected);
  });

  it("stand in the view beside each delivery", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(4, { deliverTo: ["crm", "warehouse"] }));
    const now = o.s.clock.now();
    const [one, two, three] = await o.s.read();
    const [other] = await o.s.read({ destination: "warehouse" });
    assert.ok(one && two && three && other);
    await Promise.all([
      o.s.store().settle(one, takenBy(one, now)),
      o.s.store().settle(two, takenBy(two, now + 5, { url: `${URL_B}?q="ü🙂'`, status: 204 })),
      o.s.store().settle(three, takenBy(three, now)),
      o.s.store().settle(other, takenBy(other, now + 7, { url: URL_B })),
    ]);
    const view = "SELECT event, destination, settled_at - accepted_at AS after, url, status FROM deliveries";
    assert.deepEqual(o.sql(`${view} WHERE state = 'delivered' ORDER BY destination, event`), [
      { event: 1, destination: "crm", after: 0, url: URL_A, status: 200 },
      { event: 2, destination: "crm", after: 5, url: `${URL_B}?q="ü🙂'`, status: 204 },
      { event: 3, destination: "crm", after: 0, url: URL_A, status: 200 },
      { event: 1, destination: "warehouse", after: 7, url: URL_B, status: 200 },
    ]);
    assert.equal(o.sql(`${view} WHERE state = 'waiting' AND url IS NULL`).length, 4);
  });
});
