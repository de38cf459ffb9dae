import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SLOW } from "../../slow.ts";
import { createExpected } from "../conformance/model.ts";
import { anySteps, play } from "../conformance/sequences.ts";
import { delivered, makeEntries, makeEntry } from "../make.ts";
import { failing, startOutbox, type TestOutbox } from "./start.ts";

/** As `crm waiting: 2`: the rows that are there, one by one. */
function counted({ sql }: TestOutbox): readonly string[] {
  const rows = sql("SELECT destination, state, count(*) AS count FROM deliveries GROUP BY destination, state");
  return rows.map(({ destination, state, count }) => `${destination} ${state}: ${count}`).sort();
}

describe("the counts", () => {
  it("are those of the rows, after any sequence of operations and restarts", SLOW, async () => {
    await fc.assert(
      fc.asyncProperty(anySteps, async (steps) => {
        await using o = await startOutbox();
        const expected = createExpected();
        for (const step of steps) {
          await play(step, o.s, expected);
          assert.deepEqual(await o.s.counts(), counted(o));
        }
      }),
      { numRuns: 40 },
    );
  });

  it("are those of the rows, also when some of what came at once could not be stored", SLOW, async () => {
    const anyGroup = fc.array(fc.record({ fails: fc.boolean(), settles: fc.boolean() }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(anyGroup, { maxLength: 4 }), async (groups) => {
        await using o = await startOutbox();
        o.shell.exec(failing("contents", "new.tail LIKE '%\"full\"%'"));
        for (const [nth, group] of groups.entries()) {
          const waiting = await o.s.read();
          await Promise.all(
            group.map(async ({ fails, settles }, index) => {
              const [delivery] = waiting.slice(index);
              if (settles && delivery) await o.s.store().settle(delivery, delivered(delivery, o.s.clock.now()));
              const messageId = `m${nth} ${index}`;
              const answer = await o.s.append(makeEntry({ messageId, deliverTo: fails ? ["crm", "full"] : ["crm"] }));
              assert.deepEqual(answer, [fails ? "store_failed" : "accepted"]);
            }),
          );
          assert.deepEqual(await o.s.counts(), counted(o));
        }
      }),
      { numRuns: 25 },
    );
  });

  it("are in the file with the rows, and not only in memory", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3, { deliverTo: ["crm", "warehouse"] }));
    await o.fold();
    assert.deepEqual(o.sql("SELECT * FROM counts ORDER BY destination"), [
      { destination: "crm", state: "waiting", count: 3 },
      { destination: "warehouse", state: "waiting", count: 3 },
    ]);
  });
});
