import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { sign } from "../../src/webhook/signature.ts";
import { deliveryDetail, deliveryList } from "../../src/wire/deliveries.ts";
import { isReceived, type Received } from "../../src/wire/fields.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, makeSource, URL_A } from "./make.ts";

const CALL = { userId: "u1", event: "Order Completed" };

async function list(d: TestDaemon, query = ""): Promise<Received<typeof deliveryList>> {
  const { status, json } = await d.admin("GET", `/api/deliveries${query}`);
  assert.equal(status, 200, JSON.stringify(json));
  assert.ok(isReceived(deliveryList, json));
  return json;
}

async function show(d: TestDaemon, id: string): Promise<Received<typeof deliveryDetail>> {
  const { json } = await d.admin("GET", `/api/deliveries/${id}`);
  return isReceived(deliveryDetail, json) ? json : assert.fail(JSON.stringify(json));
}

describe("GET /api/deliveries", () => {
  it("finds what has expired, four hours after it came, by when it expired", async () => {
    await using d = await startDaemon({ answers: ({ body }) => (body.includes("bad") ? 503 : 200) });
    await d.call("/v1/track", { ...CALL, messageId: "bad" });
    await d.call("/v1/track", { ...CALL, messageId: "good" });
    await d.clock.advance("4h 30m");
    const expired = await list(d, "?state=expired&since=1h");
    assert.deepEqual(
      expired.deliveries.map(({ id, state, messageId }) => [id, state, messageId]),
      [["1-crm", "expired", "bad"]],
    );
    assert.match(expired.deliveries[0]?.reason ?? "", /^no success within 4h; last answer 503/);
    assert.deepEqual((await list(d, "?state=expired&until=1h")).deliveries, []);
  });

  it("hands out pages", async () => {
    await using d = await startDaemon();
    for (const n of [1, 2, 3]) await d.call("/v1/track", { ...CALL, messageId: `m${n}` });
    const first = await list(d, "?limit=2");
    const second = await list(d, `?limit=2&cursor=${first.cursor}`);
    assert.deepEqual(
      [first, second].map(({ deliveries }) => deliveries.map(({ messageId }) => messageId)),
      [["m3", "m2"], ["m1"]],
    );
    assert.equal(second.cursor, null);
  });

  it("does not know a destination or a source that is neither in the config nor in the outbox", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", CALL);
    for (const [query, code, hint] of [
      ["?destination=cmr", "unknown_destination", 'there is no destination "cmr"; did you mean crm?'],
      ["?source=webiste", "unknown_source", 'there is no source "webiste"; did you mean website?'],
      ["?source=nobody&state=failed", "unknown_source", 'there is no source "nobody"; known are website'],
    ]) {
      const { status, json } = await d.admin("GET", `/api/deliveries${query}`);
      assert.deepEqual([status, json.code, json.message], [404, code, hint]);
    }
    const filter = { destination: "cmr" };
    const { status, json } = await d.admin("POST", "/api/replay", { body: { filter, dryRun: true } });
    assert.deepEqual([status, json.code], [404, "unknown_destination"]);
  });

  it("knows a destination and a source that were removed, as long as something of them is kept", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", CALL);
    await d.app.reload({
      ...d.config,
      ...{ sources: [makeSource({ name: "other" })], destinations: [makeDestination({ name: "other" })] },
    });
    assert.equal((await list(d, "?destination=crm")).deliveries.length, 1);
    assert.equal((await list(d, "?source=website")).deliveries.length, 1);
    assert.equal((await list(d, "?source=website&state=failed")).deliveries.length, 0);
    await d.clock.advance("3d");
    for (const query of ["?destination=crm", "?source=website"]) {
      assert.equal((await d.admin("GET", `/api/deliveries${query}`)).status, 404, query);
    }
  });

  const wrong: readonly [string, RegExp][] = [
    ["?state=lost", /^state must be one of waiting, delivered, failed, expired \(got "lost"\)$/],
    ["?limit=0", /^limit must be a whole number from 1 to 1000 \(got "0"\)$/],
    ["?since=yesterday", /^since must be a time with its zone, .*, or how long ago, such as 2h \(got "yesterday"\)$/],
    ["?since=2026-01-02T10:00", /^since must be a time with its zone/],
    ["?since=2009-02-31", /^since must be a time with its zone, .* \(got "2009-02-31"\)$/],
    ["?until=2026-02-29T10:00:00Z", /^until must be a time with its zone/],
    ["?user=", /^user must not be empty/],
    ["?colour=red", /^colour is unknown; known are state, /],
    ["?cursor=abc", /^cursor must come from an answer to the same query/],
  ];
  for (const [query, message] of wrong) {
    it(`refuses ${query}, and says why`, async () => {
      await using d = await startDaemon();
      const { status, json } = await d.admin("GET", `/api/deliveries${query}`);
      assert.deepEqual([status, json.code], [400, "invalid_request"]);
      assert.match(String(json.message), message);
    });
  }
});

describe("GET /api/deliveries/:id", () => {
  it("tells all of one: what is sent, without secrets, and what came of it", async () => {
    const destination = makeDestination({
      ...{ name: "my-crm", urls: [`${URL_A}?token=t0ken`], headers: { Authorization: "Bearer s3cret" } },
      sharedSecrets: [new Secret("key")],
    });
    await using d = await startDaemon({
      answers: ({ nth }) => (nth === 1 ? { status: 503, body: "closed" } : 200),
      config: makeConfig({ destinations: [destination] }),
    });
    await d.call("/v1/track", { ...CALL, messageId: "m1" });
    const waiting = await show(d, "1-my-crm");
    assert.equal(waiting.state, "waiting");
    assert.equal(waiting.dueAt, new Date(Date.parse(waiting.log.first[0]?.at ?? "") + 1_000).toISOString());
    await d.clock.advance("2s");
    const { body, requests, log, url, status, ...rest } = await show(d, "1-my-crm");
    assert.deepEqual([rest.state, url, status, rest.attempts], ["delivered", URL_A, 200, 2]);
    assert.equal(body, d.sent[0]?.body);
    assert.deepEqual(requests, [
      {
        url: URL_A,
        headers: {
          "User-Agent": "Fairlead/1.0",
          "Content-Type": "application/json",
          Authorization: "***",
          "X-Signature": sign(body, "key"),
        },
      },
    ]);
    assert.deepEqual(
      log.first.map((one) => [one.trigger, one.outcome, one.status, one.answer]),
      [
        ["first", "retry", 503, "closed"],
        ["retry", "delivered", 200, null],
      ],
    );
    const text = JSON.stringify((await d.admin("GET", "/api/deliveries/1-my-crm")).json);
    assert.doesNotMatch(text, /s3cret|t0ken/);
  });

  it("sends nothing for a destination that is gone", async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", CALL);
    await d.app.reload({ ...d.config, destinations: [makeDestination({ name: "other" })] });
    assert.deepEqual((await show(d, "1-crm")).requests, []);
  });

  for (const id of ["7-crm", "1-lake", "crm", "1", "%2e%2e", "9999999999999999-crm"]) {
    it(`does not know ${id}`, async () => {
      await using d = await startDaemon();
      await d.call("/v1/track", CALL);
      const { status, json } = await d.admin("GET", `/api/deliveries/${id}`);
      assert.equal(status, 404);
      assert.ok(json.code === "unknown_delivery" || id === "%2e%2e", JSON.stringify(json));
    });
  }
});
