import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Delivery, Settlement } from "../../../src/model/delivery.ts";
import { SLOW } from "../../slow.ts";
import { createExpected, type Expected, type Tried } from "../conformance/model.ts";
import { anySteps, play } from "../conformance/sequences.ts";
import { makeEntries } from "../make.ts";
import { type Row, startOutbox, type TestOutbox } from "./start.ts";

describe("the views", () => {
  it("show the others where what the tail says of a segment cannot be read", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(1));
    await o.s.append(...makeEntries(2, { deliverTo: [] }));
    await o.s.append(...makeEntries(3));
    o.shell.exec("UPDATE contents SET tail = substr(tail, 2) WHERE segment = 1");
    assert.deepEqual(o.sql("SELECT event FROM deliveries"), [{ event: 3 }]);
    assert.deepEqual(o.sql("SELECT id FROM events WHERE accepted_at IS NOT NULL"), [{ id: 2 }, { id: 3 }]);
    await o.fold();
    assert.deepEqual(o.sql("SELECT event FROM deliveries"), [{ event: 1 }, { event: 3 }]);
  });

  it("show what there is, after any sequence of operations and restarts", SLOW, async () => {
    await fc.assert(
      fc.asyncProperty(anySteps, async (steps) => {
        await using o = await startOutbox();
        const expected = createExpected();
        for (const step of steps) {
          await play(step, o.s, expected);
          if (step.do === "read") continue;
          compareViews(o, expected);
          if (step.do !== "wait") continue;
          await o.fold();
          compareViews(o, expected);
          compareTables(o, expected);
        }
      }),
      { numRuns: 40 },
    );
  });
});

function compareViews({ sql }: TestOutbox, expected: Expected): void {
  assert.deepEqual(sql("SELECT * FROM events ORDER BY id"), eventsOf(expected));
  assert.deepEqual(sql("SELECT * FROM deliveries ORDER BY event, destination"), deliveriesOf(expected));
}

function compareTables({ sql }: TestOutbox, expected: Expected): void {
  assert.deepEqual(
    sql("SELECT first, events, accepted_at, open, settled_at FROM segments ORDER BY first"),
    segmentsOf(expected),
  );
  assert.deepEqual(sql("SELECT event FROM tried WHERE about ->> 2 <> body ->> 'messageId'"), []);
  const orphans = "WHERE segment NOT IN (SELECT first FROM segments)";
  assert.deepEqual(sql(`SELECT segment FROM contents ${orphans} UNION SELECT segment FROM progress ${orphans}`), []);
  assert.deepEqual(
    sql("SELECT * FROM progress WHERE waiting <> length(replace(states, 'w', 'ww')) - length(states)"),
    [],
  );
}

function eventsOf({ segments }: Expected): readonly Row[] {
  return [...segments.values()].flatMap(({ first, acceptedAt, entries }) =>
    entries.map(({ source, event, body }, nth) => ({
      ...{ id: first + nth, segment: first, source, type: event.type, message_id: event.messageId },
      ...{ user_id: event.userId, skipped: null, accepted_at: acceptedAt, body },
    })),
  );
}

function segmentsOf({ segments }: Expected): readonly Row[] {
  return [...segments.values()].map(({ first, acceptedAt, entries, waiting, settledAt }) => {
    return { first, events: entries.length, accepted_at: acceptedAt, open: waiting.size, settled_at: settledAt };
  });
}

function deliveriesOf(expected: Expected): readonly Row[] {
  const { segments, tried, handed } = expected;
  const rows = [...tried.values()].map(rowOfTried);
  for (const { waiting, delivered } of segments.values()) {
    for (const key of waiting) rows.push(rowOf(handed.get(key), null));
    for (const [key, settlement] of delivered) rows.push(rowOf(handed.get(key), settlement));
  }
  return rows.sort(
    (a, b) => Number(a.event) - Number(b.event) || (String(a.destination) < String(b.destination) ? -1 : 1),
  );
}

/** One that waits for its first attempt, or was delivered by it. */
function rowOf(delivery: Delivery | undefined, by: Settlement | null): Row {
  assert.ok(delivery);
  const [url, status] = by?.state === "delivered" ? [by.url, by.status] : [null, null];
  return {
    ...{ event: delivery.id, destination: delivery.destination, state: by ? "delivered" : "waiting" },
    ...{ due_at: by ? null : delivery.dueAt, attempts: by ? 1 : 0, first_attempt_at: null, attempted_at: null },
    ...{ stood_still: 0, settled_at: by?.attemptedAt ?? null, url, status, reason: null, finals: null },
    ...{ accepted_at: delivery.acceptedAt, message_id: delivery.messageId },
  };
}

function rowOfTried({ delivery, last }: Tried): Row {
  const untried = rowOf(delivery, null);
  if (last === null) return untried;
  const waits = last.state === "waiting";
  const [url, status] = last.state === "delivered" ? [last.url, last.status] : [null, null];
  return {
    ...untried,
    ...{ state: last.state, due_at: waits ? delivery.dueAt : null, attempts: last.attempts },
    ...{
      first_attempt_at: last.firstAttemptAt,
      attempted_at: delivery.attemptedAt,
      stood_still: last.stoodStill,
      url,
      status,
    },
    ...{ settled_at: waits ? null : last.attemptedAt, reason: last.state === "delivered" ? null : last.reason },
    finals: last.finals.length === 0 ? null : JSON.stringify(last.finals),
  };
}
