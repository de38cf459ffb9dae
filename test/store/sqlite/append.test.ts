import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KB } from "../../../src/model/units.ts";
import { segmentOf } from "../../../src/store/sqlite/progress.ts";
import { delivered, makeEntries, makeEntry } from "../make.ts";
import { failing, startOutbox, type TestOutbox } from "./start.ts";

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
        ...{ skipped: '[["type_not_selected","crm"]]', body: '{"messageId":"m2"}' },
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
    o.shell.exec(failing("contents", "new.tail LIKE '%warehouse%'"));
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

async function segments({ sql, fold }: TestOutbox): Promise<readonly string[]> {
  await fold();
  const rows = sql("SELECT * FROM segments ORDER BY first");
  return rows.map(({ first, events, open }) => `${first}: ${events} events, ${open} open`);
}

async function progress({ sql, fold }: TestOutbox): Promise<readonly string[]> {
  await fold();
  const rows = sql("SELECT * FROM progress ORDER BY segment, destination");
  return rows.map(
    ({ segment, destination, waiting, states }) => `${segment} ${destination}: ${states}, ${waiting} wait`,
  );
}

describe("a segment", () => {
  it("holds the events of one commit, whoever has sent them", async () => {
    await using o = await startOutbox();
    await Promise.all([
      o.s.append(...makeEntries(2)),
      o.s.append(makeEntry({ messageId: "m3", source: "app" }), makeEntry({ messageId: "m1" })),
    ]);
    await o.s.append(makeEntry({ messageId: "m4" }));
    assert.deepEqual(await segments(o), ["1: 3 events, 3 open", "4: 1 events, 1 open"]);
    assert.deepEqual(
      (await o.s.read()).map(({ id, ref, messageId }) => [id, segmentOf(ref), messageId]),
      [
        [1, 1, "m1"],
        [2, 1, "m2"],
        [3, 1, "m3"],
        [4, 4, "m4"],
      ],
    );
  });

  it("holds 256 events: what is more begins another", async () => {
    await using o = await startOutbox();
    const entries = makeEntries(600);
    await o.s.append(...entries);
    const expected = ["1: 256 events, 256 open", "257: 256 events, 256 open", "513: 88 events, 88 open"];
    assert.deepEqual(await segments(o), expected);
    const found = await o.s.read();
    assert.deepEqual(
      found.map(({ id, ref, messageId, body }) => [id, segmentOf(ref), messageId, body]),
      entries.map(({ event, body }, nth) => [nth + 1, nth - (nth % 256) + 1, event.messageId, body]),
    );
    await o.s.append(makeEntry({ messageId: "next" }));
    assert.equal((await segments(o)).at(-1), "601: 1 events, 1 open");
  });

  it("is ended by a body with which it has 256 K characters", async () => {
    await using o = await startOutbox();
    const sizes = [100, 100, 55, 1, 300, 256, 255, 1, 1];
    await o.s.append(...makeEntries(9).map((entry, nth) => ({ ...entry, body: "x".repeat((sizes[nth] ?? 0) * KB) })));
    assert.deepEqual(await segments(o), [
      ...["1: 4 events, 4 open", "5: 1 events, 1 open", "6: 1 events, 1 open", "7: 2 events, 2 open"],
      "9: 1 events, 1 open",
    ]);
    assert.deepEqual(
      (await o.s.read()).map(({ body }) => body.length / KB),
      sizes,
    );
  });

  it("has different events of it for each destination", async () => {
    await using o = await startOutbox();
    await o.s.append(
      makeEntry({ messageId: "m1", deliverTo: ["crm"] }),
      makeEntry({ messageId: "m2", deliverTo: ["warehouse", "crm"] }),
      makeEntry({ messageId: "m3", deliverTo: ["warehouse"] }),
      makeEntry({ messageId: "m4", deliverTo: ["billing"] }),
    );
    assert.deepEqual(await segments(o), ["1: 4 events, 5 open"]);
    assert.deepEqual(await progress(o), [
      "1 billing: ---w, 1 wait",
      "1 crm: ww--, 2 wait",
      "1 warehouse: -ww-, 2 wait",
    ]);
    for (const [destination, ids] of Object.entries({ crm: "m1 m2", warehouse: "m2 m3", billing: "m4", other: "" })) {
      const found = await o.s.read({ destination });
      assert.equal(found.map(({ messageId }) => messageId).join(" "), ids);
    }
    const [second] = await o.s.read({ destination: "warehouse" });
    assert.ok(second);
    await o.s.store().settle(second, delivered(second, o.s.clock.now()));
    assert.deepEqual(await progress(o), [
      "1 billing: ---w, 1 wait",
      "1 crm: ww--, 2 wait",
      "1 warehouse: -dw-, 1 wait",
    ]);
    assert.deepEqual(await segments(o), ["1: 4 events, 4 open"]);
  });

  it("is settled at once if nothing in it goes anywhere", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    await o.s.append(...makeEntries(2, { deliverTo: [] }));
    await o.fold();
    const settled = { first: 1, events: 2, accepted_at: now, open: 0, settled_at: now };
    assert.deepEqual(o.sql("SELECT first, events, accepted_at, open, settled_at FROM segments"), [settled]);
    assert.deepEqual(await progress(o), []);
    assert.equal(o.sql("SELECT * FROM events").length, 2);
    assert.deepEqual(o.sql("SELECT * FROM deliveries"), []);
    const counts = await o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 10);
    assert.deepEqual(counts, { delivered: 0, failed: 0, expired: 0, unrouted: 2, seen: 0 });
    assert.deepEqual(o.sql("SELECT * FROM events"), []);
  });

  it("keeps what goes nowhere as long as what came with it", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    const nowhere = makeEntries(2, { deliverTo: [], ownId: true });
    await o.s.append(
      ...nowhere,
      makeEntry({ deliverTo: ["crm"] }),
      makeEntry({ messageId: "m2", deliverTo: ["other"] }),
    );
    const prune = () => o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 10);
    const none = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };
    for (const destination of ["crm", "other"]) {
      assert.deepEqual(await prune(), none);
      assert.equal(o.sql("SELECT * FROM events").length, 4);
      const [delivery] = await o.s.read({ destination });
      assert.ok(delivery);
      await o.s.store().settle(delivery, delivered(delivery, now));
    }
    assert.deepEqual(await prune(), { ...none, delivered: 2, unrouted: 2 });
    assert.deepEqual(o.sql("SELECT * FROM events"), []);
  });

  it("has every body to the byte, and so has the view", async () => {
    await using o = await startOutbox();
    const bodies = [
      '{"text":"a\u2028b\u2029c","n":1.0,"e":1e2,"big":12345678901234567890}',
      JSON.stringify({ nul: "\0", tab: "\t", line: "\r\n", half: "\ud800" }),
      JSON.stringify({ "🙂": "👩‍👩‍👧", nested: { list: [1, [2, {}], []], deep: { quote: '"\\', slash: "/" } } }),
      '{"b":1,"a":2,"b":3,"escaped":"\\u00e4\\/"}',
      "{}",
    ];
    await o.s.append(...bodies.map((body, nth) => makeEntry({ messageId: `m${nth}`, body })));
    await o.s.reopen();
    assert.deepEqual(
      (await o.s.read()).map(({ body }) => body),
      bodies,
    );
    assert.deepEqual(
      o.sql("SELECT body FROM events ORDER BY id").map(({ body }) => body),
      bodies,
    );
  });
});

describe("the numbers of events", () => {
  it("go on where they were, also when all segments were removed and the daemon started anew, twice", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    const prune = () => o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 1_000);
    for (const next of [301, 601]) {
      await o.s.append(...makeEntries(300, { deliverTo: [], ownId: true }));
      await prune();
      assert.deepEqual(await segments(o), []);
      assert.deepEqual(o.sql("SELECT value FROM meta WHERE name = 'next_event'"), [{ value: next }]);
      await o.s.reopen();
    }
    await o.s.append(makeEntry());
    assert.deepEqual(await segments(o), ["601: 1 events, 1 open"]);
  });

  it("go on where they were when the newest segment was removed before the others", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    const prune = () => o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 10);
    await o.s.append(makeEntry());
    await o.s.append(...makeEntries(3, { deliverTo: [], ownId: true }));
    await prune();
    for (const delivery of await o.s.read()) await o.s.store().settle(delivery, delivered(delivery, now));
    await prune();
    assert.deepEqual(await segments(o), []);
    await o.s.reopen();
    await o.s.append(makeEntry({ messageId: "m5" }));
    assert.deepEqual(await segments(o), ["5: 1 events, 1 open"]);
  });

  it("go on behind the newest segment when older ones were removed later", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    await o.s.append(...makeEntries(3, { deliverTo: [], ownId: true }));
    await o.s.append(...makeEntries(3));
    await o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 10);
    await o.s.reopen();
    await o.s.append(makeEntry({ messageId: "m4" }));
    assert.deepEqual(await segments(o), ["4: 3 events, 3 open", "7: 1 events, 1 open"]);
  });
});
