import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { delivered, makeEntries, makeEntry } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

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
    assert.deepEqual(o.sql("SELECT * FROM events"), [
      {
        ...{ id: 1, segment: 1, source: "website", type: "track", message_id: "m1", user_id: "u1", skipped: null },
        ...{ accepted_at: now, body: '{"type":"track"}' },
      },
      {
        ...{ id: 2, segment: 1, source: "app", type: "page", message_id: "m2", user_id: null, accepted_at: now },
        ...{ skipped: '[{"destination":"crm","rule":"type_not_selected"}]', body: '{"messageId":"m2"}' },
      },
    ]);
    assert.deepEqual(o.sql("SELECT event, destination, state, message_id FROM deliveries"), [
      { event: 1, destination: "crm", state: "waiting", message_id: "m1" },
      { event: 1, destination: "warehouse", state: "waiting", message_id: "m1" },
    ]);
  });

  it("keeps NUL in its text, and has replacement characters for half of a surrogate pair", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "a\0b", userId: "x\ud800", source: "\udfff" }));
    const [{ source, message_id: messageId, user_id: userId } = {}] = o.sql("SELECT * FROM events");
    assert.match(String(source), /^\ufffd+$/);
    assert.match(String(userId), /^x\ufffd+$/);
    assert.equal(messageId, "a\0b");
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "a\0b", source: "\udfff" })), ["duplicate"]);
  });

  it("names its own deliveries, also when the last of them were pruned before a restart", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ deliverTo: ["crm", "warehouse"] }), makeEntry({ messageId: "m2" }));
    const now = o.s.clock.now();
    for (const destination of ["crm", "warehouse"]) {
      for (const one of await o.s.read({ destination })) await o.s.store().settle(one, delivered(one, now));
    }
    await o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 10);
    assert.deepEqual(o.sql("SELECT * FROM meta WHERE name = 'next_event'"), [{ name: "next_event", value: 3 }]);
    await o.s.reopen();
    await o.s.append(makeEntry({ messageId: "m3" }));
    assert.deepEqual(o.sql("SELECT id, message_id FROM events"), [{ id: 3, message_id: "m3" }]);
    assert.deepEqual(o.sql("SELECT event, message_id FROM deliveries"), [{ event: 3, message_id: "m3" }]);
  });

  it("has a number of its own after a commit that failed", async () => {
    await using o = await startOutbox();
    o.shell.exec(`CREATE TRIGGER failing BEFORE INSERT ON progress WHEN new.destination = 'warehouse'
      BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END`);
    await Promise.all([...makeEntries(3), makeEntry({ messageId: "bad", deliverTo: ["warehouse"] })].map(appendTo(o)));
    await o.s.append(makeEntry({ messageId: "m4" }));
    const expected = ["m1", "m2", "m3", "m4"].map((id, nth) => ({ id: nth + 1, message_id: id }));
    assert.deepEqual(o.sql("SELECT id, message_id FROM events ORDER BY id"), expected);
    assert.deepEqual(o.sql("SELECT event AS id, message_id FROM deliveries ORDER BY event"), expected);
    assert.deepEqual(
      (await o.s.read()).map(({ id, messageId }) => ({ id, message_id: messageId })),
      expected,
    );
  });
});

function appendTo({ s }: TestOutbox): (entry: ReturnType<typeof makeEntry>) => Promise<readonly string[]> {
  return (entry) => s.append(entry);
}
