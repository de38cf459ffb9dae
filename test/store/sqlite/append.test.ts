import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { delivered, makeEntries, makeEntry } from "../make.ts";
import { startOutbox } from "./start.ts";

describe("an event's row", () => {
  it("can be read by an operator in a shell", async () => {
    await using o = await startOutbox();
    await o.s.append(
      makeEntry({ messageId: "m1", userId: "u1", body: '{"type":"track"}', deliverTo: ["crm", "warehouse"] }),
      makeEntry({
        ...{ messageId: "m2", userId: undefined, type: "page", source: "app", deliverTo: [] },
        skipped: [{ destination: "crm", rule: "type_not_selected" }],
      }),
    );
    const now = o.s.clock.now();
    const times = { received_at: now, accepted_at: now };
    assert.deepEqual(o.sql("SELECT * FROM events"), [
      {
        ...{ id: 1, source: "website", type: "track", message_id: "m1", user_id: "u1", ...times },
        ...{ first_delivery: 1, deliveries: 2, skipped: null, body: '{"type":"track"}' },
      },
      {
        ...{ id: 2, source: "app", type: "page", message_id: "m2", user_id: null, ...times },
        ...{ first_delivery: 3, deliveries: 0, body: '{"messageId":"m2"}' },
        skipped: '[{"destination":"crm","rule":"type_not_selected"}]',
      },
    ]);
    assert.deepEqual(o.sql("SELECT id, event_id, destination, state FROM deliveries"), [
      { id: 1, event_id: 1, destination: "crm", state: "waiting" },
      { id: 2, event_id: 1, destination: "warehouse", state: "waiting" },
    ]);
  });

  it("keeps NUL in its text, and has a replacement character for half of a surrogate pair", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "a\0b", userId: "x\ud800", source: "\udfff" }));
    assert.deepEqual(o.sql("SELECT source, message_id, user_id FROM events"), [
      { source: "\ufffd", message_id: "a\0b", user_id: "x\ufffd" },
    ]);
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "a\0b", source: "\udfff" })), ["duplicate"]);
  });

  it("names its own deliveries, also when the last of them were pruned before a restart", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ deliverTo: ["crm", "warehouse"] }));
    const [first] = await o.s.read({ destination: "warehouse" });
    assert.ok(first);
    const now = o.s.clock.now();
    await o.s.store().settle(first, delivered(first, now));
    await o.s.store().prune({ delivered: now + 1, failed: 0, seen: 0 }, 10);
    await o.s.reopen();
    await o.s.append(makeEntry({ messageId: "m2" }));
    assert.deepEqual(o.sql("SELECT id, event_id FROM deliveries"), [
      { id: 1, event_id: 1 },
      { id: 3, event_id: 2 },
    ]);
    assert.deepEqual(o.sql("SELECT first_delivery, deliveries FROM events"), [
      { first_delivery: 1, deliveries: 2 },
      { first_delivery: 3, deliveries: 1 },
    ]);
  });

  it("has an id of its own after a commit that failed", async () => {
    await using o = await startOutbox();
    o.shell.exec(`CREATE TRIGGER failing BEFORE INSERT ON deliveries WHEN new.destination = 'warehouse'
      BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END`);
    await Promise.all([...makeEntries(3), makeEntry({ messageId: "bad", deliverTo: ["warehouse"] })].map(appendTo(o)));
    await o.s.append(makeEntry({ messageId: "m4" }));
    const joined = "SELECT e.message_id AS id FROM deliveries d JOIN events e ON e.id = d.event_id ORDER BY d.id";
    assert.deepEqual(
      o.sql(joined).map(({ id }) => id),
      ["m1", "m2", "m3", "m4"],
    );
    const apart = "SELECT count(*) AS wrong FROM events e JOIN deliveries d ON d.event_id = e.id";
    assert.deepEqual(o.sql(`${apart} WHERE d.id <> e.first_delivery`), [{ wrong: 0 }]);
  });
});

type Outbox = Awaited<ReturnType<typeof startOutbox>>;

function appendTo({ s }: Outbox): (entry: ReturnType<typeof makeEntry>) => Promise<readonly string[]> {
  return (entry) => s.append(entry);
}
