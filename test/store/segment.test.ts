import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isFault } from "../../src/model/fault.ts";
import { packBodies, unpackBodies } from "../../src/store/segment.ts";
import { anyText, noise } from "../model/make.ts";
import { delivered, failed, makeEntries } from "./make.ts";
import { startOutbox } from "./sqlite/start.ts";

describe("the bodies of a segment", () => {
  it("come back as they were, whatever is in them and however many there are", () => {
    const anyBody = fc.tuple(anyText, fc.nat(3_000)).map(([text, more]) => JSON.stringify({ text, more: noise(more) }));
    fc.assert(
      fc.property(fc.array(anyBody, { minLength: 1, maxLength: 20 }), (bodies) => {
        const packed = { segment: 1, events: bodies.length, about: "[]", bodies: packBodies(bodies), sum: null };
        assert.deepEqual(unpackBodies(packed), bodies);
      }),
      { numRuns: 200 },
    );
  });

  it("are text while they are short, which anybody can read", () => {
    assert.equal(packBodies(["{}", '{"a":1}']), '{}\n{"a":1}');
    assert.equal(typeof packBodies(["x".repeat(4_095)]), "string");
  });

  it("are compressed when they are long: events that resemble each other take a fraction of their size", () => {
    const bodies = Array.from({ length: 256 }, (_, n) =>
      JSON.stringify({ type: "track", userId: `u${n}`, text: "abc".repeat(50) }),
    );
    const packed = packBodies(bodies);
    assert.ok(typeof packed !== "string");
    assert.ok(packed.length * 10 < bodies.join("").length, `${packed.length} bytes`);
  });

  it("are not shown by the view when they are compressed; all else is", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(1));
    await o.s.append(...makeEntries(2, { ownId: true, body: JSON.stringify({ text: noise(4_000) }) }));
    assert.deepEqual(o.sql("SELECT id, message_id, body IS NULL AS hidden FROM events"), [
      { id: 1, message_id: "m1", hidden: 0 },
      { id: 2, message_id: "m1", hidden: 1 },
      { id: 3, message_id: "m2", hidden: 1 },
    ]);
  });

  it("that are missing lose no delivery: its settlement is refused, and the segment is not dissolved", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2));
    const [one, two] = await o.s.read();
    assert.ok(one && two);
    const now = o.s.clock.now();
    await o.s.store().settle(one, delivered(one, now));
    o.shell.exec("DELETE FROM contents");
    assert.ok(isFault(await o.s.store().settle(two, failed(two, now))));
    await o.s.prune({ delivered: 0, failed: 0, seen: 0, sparse: now + 1 }, 10);
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1", "crm waiting: 1"]);
    assert.match(String(o.s.told.at(-1)?.args[1]), /segment 1 of the outbox is damaged/);
  });

  it("that are missing do not keep a settled segment for ever", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2));
    for (const one of await o.s.read()) await o.s.store().settle(one, delivered(one, o.s.clock.now()));
    o.shell.exec("DELETE FROM contents");
    const before = { delivered: o.s.clock.now() + 1, failed: 0, seen: 0 };
    assert.equal((await o.s.prune(before, 10)).delivered, 2);
    assert.equal(await o.s.store().prune(before, 10), null);
  });
});
