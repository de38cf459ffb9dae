import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { QueueAsk } from "../../../src/model/ports.ts";
import { KB } from "../../../src/model/units.ts";
import { makeAsk } from "../harness.ts";
import { delivered, failed, makeEntries, makeEntry } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

/** The numbers of a page as `1-10 …`, with `…` if more may come. */
async function page({ s }: TestOutbox, ask: Partial<QueueAsk>): Promise<string> {
  const { deliveries, more } = await s.store().readQueue(makeAsk(ask));
  const ids = deliveries.map(({ id }) => id);
  assert.deepEqual(
    ids,
    ids.map((_, nth) => (ids[0] ?? 0) + nth),
  );
  const text = ids.length === 0 ? "none" : `${ids[0]}-${ids.at(-1)}`;
  return more ? `${text} …` : text;
}

function behind(id: number): Partial<QueueAsk> {
  return { after: { dueAt: 0, id } };
}

describe("the queue of first attempts", () => {
  it("come in whole segments, as many as are needed", async () => {
    await using o = await startOutbox();
    for (let n = 0; n < 4; n += 1) await o.s.append(...makeEntries(10, { ownId: true }));
    assert.equal(await page(o, { limit: 1 }), "1-10 …");
    assert.equal(await page(o, { limit: 10 }), "1-10 …");
    assert.equal(await page(o, { limit: 11 }), "1-20 …");
    assert.equal(await page(o, { limit: 11, ...behind(20) }), "21-40 …");
    assert.equal(await page(o, { limit: 11, ...behind(40) }), "none");
  });

  it("are longer than they should be by less than a segment", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2_000));
    assert.equal(await page(o, { limit: 257 }), "1-512 …");
    assert.equal(await page(o, { limit: 256 }), "1-256 …");
  });

  it("begin in the middle of a segment, behind any number", async () => {
    await using o = await startOutbox();
    for (let n = 0; n < 3; n += 1) await o.s.append(...makeEntries(5, { ownId: true }));
    for (let id = 0; id < 15; id += 1) assert.equal(await page(o, behind(id)), `${id + 1}-15`);
    assert.equal(await page(o, { limit: 2, ...behind(3) }), "4-5 …");
    assert.equal(await page(o, { limit: 3, ...behind(3) }), "4-10 …");
    for (const id of [15, 16, 1_000]) assert.equal(await page(o, behind(id)), "none");
  });

  it("go on behind a number of which the segment has nothing left, or is not there", async () => {
    await using o = await startOutbox();
    for (let n = 0; n < 3; n += 1) await o.s.append(...makeEntries(5, { ownId: true }));
    const all = await o.s.read();
    const now = o.s.clock.now();
    for (const one of all.slice(5, 10)) await o.s.store().settle(one, (one.id % 2 ? delivered : failed)(one, now));
    for (const id of [5, 6, 8, 10]) assert.equal(await page(o, behind(id)), "11-15");
    await o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 100);
    for (const id of [5, 6, 8, 10]) assert.equal(await page(o, behind(id)), "11-15");
    assert.deepEqual(
      (await o.s.read(behind(3))).map(({ id }) => id),
      [4, 5, 11, 12, 13, 14, 15],
    );
  });

  it("begin in a segment that waits only for others before that number", async () => {
    await using o = await startOutbox();
    await o.s.append(
      makeEntry({ messageId: "m1", deliverTo: ["crm"] }),
      makeEntry({ messageId: "m2", deliverTo: ["warehouse"] }),
    );
    await o.s.append(makeEntry({ messageId: "m3", deliverTo: ["warehouse"] }));
    await o.s.append(makeEntry({ messageId: "m4", deliverTo: ["crm", "warehouse"] }));
    assert.equal(await page(o, behind(1)), "4-4");
    assert.equal(await page(o, { destination: "warehouse", ...behind(1) }), "2-4");
    assert.equal(await page(o, { destination: "warehouse", ...behind(2) }), "3-4");
    assert.equal(await page(o, { destination: "warehouse", ...behind(3) }), "4-4");
  });

  it("end when their segments have 2 MB of bodies", async () => {
    await using o = await startOutbox();
    for (let n = 0; n < 20; n += 1) await o.s.append(makeEntry({ ownId: true, body: "x".repeat(256 * KB) }));
    assert.equal(await page(o, {}), "1-8 …");
    assert.equal(await page(o, behind(16)), "17-20");
  });
});
