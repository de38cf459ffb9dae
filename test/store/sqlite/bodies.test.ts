import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { packBodies, unpackBodies } from "../../../src/store/sqlite/bodies.ts";
import { anyText, noise } from "../../model/make.ts";
import { makeEntries } from "../make.ts";
import { startOutbox } from "./start.ts";

describe("the bodies of a segment", () => {
  it("come back as they were, whatever is in them and however many there are", () => {
    const anyBody = fc.tuple(anyText, fc.nat(3_000)).map(([text, more]) => JSON.stringify({ text, more: noise(more) }));
    fc.assert(
      fc.property(fc.array(anyBody, { minLength: 1, maxLength: 20 }), (bodies) => {
        assert.deepEqual(unpackBodies(packBodies(bodies)), bodies);
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

  it("that are damaged are an error, and not other bodies", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2, { body: JSON.stringify({ text: noise(4_000) }) }));
    o.shell.exec("UPDATE contents SET bodies = substr(bodies, 1, length(bodies) - 10)");
    await assert.rejects(o.s.read(), /damaged/);
  });

  it("that are too few are an error, also where they are text", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2, { body: "{}" }));
    o.shell.exec("UPDATE contents SET bodies = '{}'");
    await assert.rejects(o.s.read(), /the segment 1 of the outbox is damaged: it lacks event 2/);
  });
});
