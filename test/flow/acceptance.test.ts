import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { SLOW } from "../slow.ts";
import { startDaemon } from "./daemon.ts";
import { makeDestination, makeSource } from "./make.ts";
import { ONLY_SQLITE } from "./outbox.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m1" };

describe("acceptance", () => {
  it("answers only when the call is in the file", ONLY_SQLITE, async () => {
    await using d = await startDaemon();
    const answering = d.ask("/v1/track", TRACK);
    const db = await openDatabase(d.config.outbox.path);
    const count = () => db.prepare<[], { n: number }>("SELECT count(*) AS n FROM events").get()?.n;
    assert.equal(count(), 0);
    await answering;
    assert.equal(count(), 1);
    db.close();
  });

  it("takes each of the six calls by its path, and by its type in a batch", async () => {
    await using d = await startDaemon();
    const call = { userId: "u", event: "e", groupId: "g", previousId: "p" };
    const types = ["identify", "track", "page", "screen", "group", "alias"];
    for (const type of types) await d.call(`/v1/${type}`, call);
    await d.call("/v1/batch", { batch: types.map((type) => ({ ...call, type })) });
    assert.deepEqual(d.sent.map(({ body }) => JSON.parse(body).type).sort(), [...types, ...types].sort());
  });

  it("gives a verdict for each call of a batch: one bad call costs the others nothing", async () => {
    await using d = await startDaemon();
    const good = { type: "track", userId: "u1", event: "A", messageId: "good" };
    const bad = { type: "track", userId: "u1", messageId: "bad" };
    const { status, json } = await d.call("/v1/batch", { batch: [good, bad, good, 7] });
    assert.equal(status, 200);
    assert.deepEqual(json, {
      success: true,
      accepted: 1,
      duplicate: 1,
      rejected: [
        { index: 1, messageId: "bad", code: "missing_event", message: "You must pass 'event'." },
        {
          index: 3,
          messageId: null,
          code: "invalid_call",
          message: "a call must be a JSON object (got a number)",
        },
      ],
    });
    assert.equal(d.sent.length, 1);
  });

  it("acknowledges a repeat within 24 h, and does not deliver it again", SLOW, async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", TRACK);
    await d.clock.advance("23h59m");
    assert.deepEqual((await d.call("/v1/track", TRACK)).json, { success: true, accepted: 0, duplicate: 1 });
    assert.equal(d.sent.length, 1);
  });

  it("takes the same messageId again after 24 h", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", TRACK);
    await d.clock.advance("24h1m");
    assert.deepEqual((await d.call("/v1/track", TRACK)).json, { success: true, accepted: 1, duplicate: 0 });
  });

  it("takes the same messageId from two sources", async () => {
    const app = makeSource({ name: "app", writeKey: new Secret("app-key") });
    await using d = await startDaemon({ config: { sources: [makeSource(), app] } });
    await d.call("/v1/track", TRACK);
    const authorization = `Basic ${Buffer.from("app-key:").toString("base64")}`;
    const { json } = await d.ask("/v1/track", TRACK, { authorization });
    assert.deepEqual(json, { success: true, accepted: 1, duplicate: 0 });
  });

  it("recognises a repeat after a crash", async () => {
    await using first = await startDaemon();
    await first.call("/v1/track", TRACK);
    await using second = await first.crash();
    assert.equal((await second.call("/v1/track", TRACK)).json.duplicate, 1);
  });

  it("corrects the time of an event for a client whose clock is wrong", async () => {
    await using d = await startDaemon();
    const hour = 3_600_000;
    const iso = (at: number) => new Date(at).toISOString();
    const ahead = d.clock.wall() + 5 * hour;
    await d.call("/v1/track", { ...TRACK, timestamp: iso(ahead - 60_000), sentAt: iso(ahead) });
    const body = JSON.parse(d.sent[0]?.body ?? "");
    assert.equal(body.timestamp, iso(d.clock.wall() - 60_000));
    assert.equal(body.originalTimestamp, iso(ahead - 60_000));
  });

  it("leaves the time of an event as it is where the client's clock is right: transit is no skew", async () => {
    await using d = await startDaemon();
    const said = "2009-11-10T23:00:00.028Z";
    for (const [nth, transit] of [28, 29_000, 60_000].entries()) {
      const sentAt = new Date(d.clock.wall() - transit).toISOString();
      const batch = [{ ...TRACK, type: "track", messageId: `m${nth}`, timestamp: said }];
      await d.call("/v1/batch", { batch, sentAt });
      await d.clock.rest();
      assert.equal(JSON.parse(d.sent[nth]?.body ?? "").timestamp, said);
    }
  });

  it("takes what PHP, Java and Python write: empty lists for objects, and ids of 64 bits", async () => {
    await using d = await startDaemon();
    const call =
      '{"type":"track","userId":9007199254740993,"event":"E","properties":{"order":12345678901234567890},"context":[],"integrations":[]}';
    const answer = await d.ask("/v1/batch", `{"batch":[${call}],"context":[],"integrations":[]}`);
    assert.deepEqual(answer.json, { success: true, accepted: 1, duplicate: 0 });
    await d.clock.rest();
    const { body } = d.sent[0] ?? assert.fail();
    assert.ok(body.includes('"userId":"9007199254740993"'), body);
    assert.ok(body.includes('"properties":{"order":12345678901234567890}'), body);
    assert.ok(body.includes('"context":{}') && body.includes('"integrations":{}'), body);
  });

  it("says where a body stops being JSON, and by which name of Python's", async () => {
    await using d = await startDaemon();
    const { status, json } = await d.ask("/v1/track", '{"userId":"u",\n"event":"E","properties":{"score":NaN}}');
    assert.deepEqual([status, json.code], [400, "invalid_json"]);
    assert.match(String(json.message), /at line 2, column 35 \(got NaN, which JSON does not have/);
  });

  it("stamps an event without a timestamp with the time of the server (SPEC.md 4.3 rule 5)", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", TRACK);
    assert.equal(JSON.parse(d.sent[0]?.body ?? "").timestamp, new Date(d.clock.wall()).toISOString());
  });

  it("keeps the timestamp of a historical import (SPEC.md 4.3 rule 5)", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", { ...TRACK, timestamp: "2009-11-10T23:00:00+0000" });
    assert.equal(JSON.parse(d.sent[0]?.body ?? "").timestamp, "2009-11-10T23:00:00.000Z");
  });

  it("tells of an event that no destination takes, and keeps it with the rules that decided", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", { ...TRACK, integrations: { All: false } });
    assert.equal(d.sent.length, 0);
    const told = d.told.find(({ what }) => what === "eventUnrouted");
    assert.deepEqual(told?.args, ["website", ["all_integrations_disabled"]]);
    const { json } = await d.admin("GET", "/api/events/m1");
    assert.partialDeepStrictEqual(json, {
      events: [{ skipped: [{ destination: "crm", rule: "all_integrations_disabled" }] }],
    });
  });

  it("routes by integrations as the call says (SPEC.md 4.3 rule 4)", async () => {
    const destinations = [makeDestination(), makeDestination({ name: "warehouse", urls: ["https://w.example.com/"] })];
    await using d = await startDaemon({ config: { destinations } });
    await d.call("/v1/track", { ...TRACK, integrations: { All: false, warehouse: true } });
    assert.deepEqual(
      d.sent.map(({ url }) => url),
      ["https://w.example.com/"],
    );
  });
});

describe("limits (SPEC.md 8)", () => {
  /** A call of exactly so many bytes. */
  function callOf(bytes: number): object {
    const call = { userId: "u1", event: "E", messageId: "m1", properties: { text: "" } };
    const padding = "x".repeat(bytes - Buffer.byteLength(JSON.stringify(call)));
    return { ...call, properties: { text: padding } };
  }

  it("takes a call of 32 KB, and refuses one of a byte more", async () => {
    await using d = await startDaemon();
    assert.equal((await d.call("/v1/track", callOf(32_768))).status, 200);
    const { status, json } = await d.call("/v1/track", callOf(32_769));
    assert.equal(status, 400);
    assert.equal(json.code, "call_too_large");
  });

  it("refuses only that call when it came in a batch", async () => {
    await using d = await startDaemon();
    const small = { type: "track", userId: "u1", event: "A" };
    const { status, json } = await d.call("/v1/batch", { batch: [small, { type: "track", ...callOf(32_769) }] });
    assert.equal(status, 200);
    assert.equal(json.accepted, 1);
    assert.equal((json.rejected as { code: string }[])[0]?.code, "call_too_large");
  });

  it("counts what the envelope adds to a call", async () => {
    await using d = await startDaemon();
    const context = { library: { name: "x".repeat(20_000) } };
    const { json } = await d.call("/v1/batch", { batch: [{ type: "track", ...callOf(20_000) }], context });
    assert.equal((json.rejected as { code: string }[])[0]?.code, "call_too_large");
  });

  it("refuses a batch of more than 500 KB", async () => {
    await using d = await startDaemon();
    const batch = Array.from({ length: 20 }, (_, n) => ({ ...callOf(26_000), messageId: `m${n}`, type: "track" }));
    const { status, json } = await d.call("/v1/batch", { batch });
    assert.equal(status, 400);
    assert.equal(json.code, "body_too_large");
    assert.equal(d.sent.length, 0);
  });

  it("refuses calls while the outbox is full, says when to come back, and goes on delivering", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    await d.call("/v1/track", TRACK);
    const { outbox } = d.config;
    await d.app.reload({ ...d.config, outbox: { ...outbox, maxSize: 1 } });
    const { status, headers, json } = await d.call("/v1/track", { ...TRACK, messageId: "m2" });
    assert.equal(status, 503);
    assert.equal(json.code, "store_full");
    assert.equal(headers.get("retry-after"), "10");
    assert.equal(headers.get("x-ratelimit-reset"), "10");
    await d.clock.advance("3s");
    const [, settlement] = d.told.findLast(({ what }) => what === "settled")?.args ?? [];
    assert.partialDeepStrictEqual(settlement, { state: "delivered", attempts: 2 });
  });
});
