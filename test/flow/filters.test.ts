import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toWords } from "../../src/cli/explain.ts";
import { trail } from "../../src/wire/deliveries.ts";
import { isReceived } from "../../src/wire/fields.ts";
import { filterOf } from "../route/make.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, makeSource, URL_A, URL_B } from "./make.ts";

const ORDERS = filterOf(`events: [Order *, "!Order Viewed"]`);
const LARGE = filterOf("where: { properties.total: { gte: 100 } }");
const NOBODY = filterOf("sample: 0.001%");

const crm = (filter = ORDERS) => makeDestination({ filter });
const lake = makeDestination({ name: "lake", urls: [URL_B] });

async function explain(d: TestDaemon, messageId: string): Promise<string> {
  const { json } = await d.admin("GET", `/api/events/${messageId}`);
  return isReceived(trail, json) ? toWords(json, d.clock.now()) : assert.fail(JSON.stringify(json));
}

/** What each webhook got: the name of its event, or its type. */
function sentTo(d: TestDaemon, url: string): readonly string[] {
  return d.sent
    .filter((one) => one.url === url)
    .map(({ body }) => JSON.parse(body))
    .map(({ event, type }) => event ?? type);
}

const track = (d: TestDaemon, event: string, more: object = {}) =>
  d.call("/v1/track", { userId: "u1", event, messageId: event, ...more });

describe("a destination with filters", () => {
  it("gets what passes them, and others get all", async () => {
    await using d = await startDaemon({ config: { destinations: [crm(), lake] } });
    for (const event of ["Order Completed", "Order Viewed", "Signed Up"]) await track(d, event);
    await d.call("/v1/page", { userId: "u1", name: "Home" });
    assert.deepEqual(sentTo(d, URL_A), ["Order Completed", "page"]);
    assert.deepEqual(sentTo(d, URL_B), ["Order Completed", "Order Viewed", "Signed Up", "page"]);
  });

  it("has each skip stored with its rule, which is explained", async () => {
    const destinations = [
      crm(),
      makeDestination({ name: "large", filter: LARGE }),
      makeDestination({ name: "few", filter: NOBODY }),
      lake,
    ];
    await using d = await startDaemon({ config: { destinations } });
    await track(d, "Signed Up", { properties: { total: 42 } });
    const text = await explain(d, "Signed Up");
    for (const line of [
      "crm: does not get it, because its `events` do not match the name of this call.",
      "large: does not get it, because the call does not meet its `where`.",
      "few: does not get it, because its `sample` leaves out this user.",
    ]) {
      assert.ok(text.split("\n").includes(`  ${line}`), `${line} is not in\n${text}`);
    }
    assert.match(text, /^ {2}lake: delivered /m);
  });

  it("is told and counted when nobody takes an event", async () => {
    await using d = await startDaemon({
      config: { destinations: [crm(), makeDestination({ name: "x", filter: LARGE })] },
    });
    await track(d, "Signed Up");
    assert.deepEqual(
      d.told.filter(({ what }) => what === "eventUnrouted").map(({ args }) => args),
      [["website", ["event_not_selected", "condition_not_met"]]],
    );
    await track(d, "Order Completed");
    assert.equal(d.told.filter(({ what }) => what === "eventUnrouted").length, 1);
  });

  it("gets the notice that a user is to be deleted, whatever they say", async () => {
    await using d = await startDaemon({
      config: { destinations: [crm(LARGE), makeDestination({ name: "few", filter: NOBODY, urls: [URL_B] })] },
    });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.rest();
    assert.deepEqual([sentTo(d, URL_A), sentTo(d, URL_B)], [["delete"], ["delete"]]);
  });

  it("gets a test call, whatever they say", async () => {
    await using d = await startDaemon({ config: { destinations: [crm(LARGE)] } });
    await d.admin("POST", "/api/destinations/crm/test", { body: {} });
    await d.clock.rest();
    assert.deepEqual(sentTo(d, URL_A), ["Fairlead Test"]);
  });

  it("gets the calls of audiences that pass them, as any identify call", async () => {
    const named = filterOf(
      "where: { any: [{ properties.total: { gte: 100 } }, { context.personas.computation_key: vip }] }",
    );
    await using d = await startDaemon({
      config: { destinations: [crm(named), makeDestination({ name: "orders", filter: ORDERS, urls: [URL_B] })] },
    });
    for (const name of ["VIP", "Others"]) {
      const path = `/api/sources/website/audiences/${name}`;
      assert.equal((await d.admin("PUT", path, { body: ["u1"] })).status, 200);
      await d.clock.rest();
      await d.admin("POST", `${path}/members`, { body: { remove: ["u1"] } });
      await d.clock.rest();
    }
    const traits = (url: string) => d.sent.filter((one) => one.url === url).map(({ body }) => JSON.parse(body).traits);
    assert.deepEqual(traits(URL_A), [{ vip: true }, { vip: false }]);
    // Names are those of track calls.
    assert.deepEqual(traits(URL_B), [{ vip: true }, { vip: false }, { others: true }, { others: false }]);
  });

  it("has other filters from the next call on after a reload, and what waits is not filtered again", async () => {
    await using d = await startDaemon({
      answers: ({ nth }) => (nth === 1 ? 503 : 200),
      config: { destinations: [crm()] },
    });
    await track(d, "Order Completed");
    const { changes } = await d.app.reload({ ...d.config, destinations: [crm(LARGE)] });
    assert.deepEqual(changes, ["destination crm: events changed, where changed"]);
    await track(d, "Order Cancelled", { properties: { total: 99 } });
    await track(d, "Signed Up", { properties: { total: 100 } });
    await d.clock.advance("10s");
    assert.deepEqual(sentTo(d, URL_A), ["Order Completed", "Signed Up", "Order Completed"]);
    assert.deepEqual((await d.app.reload({ ...d.config, destinations: [crm(LARGE)] })).changes, []);
    const open = await d.app.reload({ ...d.config, destinations: [makeDestination()] });
    assert.deepEqual(open.changes, ["destination crm: where changed"]);
  });
});

describe("an example call", () => {
  const sources = [makeSource({ name: "off", enabled: false }), makeSource(), makeSource({ name: "app" })];
  const config = makeConfig({
    sources,
    destinations: [crm(LARGE), makeDestination({ name: "lake", sources: ["app"] })],
  });
  const call = { type: "track", userId: "u1", event: "Order Completed", properties: { total: 42 } };

  it("is routed by the config in force, and neither stored nor sent", async () => {
    await using d = await startDaemon({ config });
    const { status, json } = await d.admin("POST", "/api/route", { body: { call } });
    assert.equal(status, 200);
    assert.deepEqual(json, {
      source: "website",
      results: [
        {
          destination: "crm",
          gets: false,
          rule: "condition_not_met",
          why: "properties.total is 42: at least 100 is wanted",
          body: null,
        },
        {
          destination: "lake",
          gets: false,
          rule: "source_not_selected",
          why: "the source is website: app is wanted",
          body: null,
        },
      ],
    });
    await d.clock.rest();
    assert.deepEqual([await d.rows(), d.sent.length], [[], 0]);
    await d.app.reload({ ...d.config, destinations: [crm()] });
    const again = await d.admin("POST", "/api/route", { body: { call, source: "app" } });
    assert.deepEqual(again.json, {
      source: "app",
      results: [{ destination: "crm", gets: true, rule: null, why: "it meets `events`", body: null }],
    });
  });

  it("keeps all digits of its numbers", async () => {
    await using d = await startDaemon({
      config: { destinations: [crm(filterOf("where: { properties.a: '12345678901234567890' }"))] },
    });
    const text = `{"call":{"type":"page","userId":"u1","properties":{"a":12345678901234567891}}}`;
    const { json } = await d.admin("POST", "/api/route", { text });
    assert.match(JSON.stringify(json), /properties\.a is 12345678901234567891: /);
  });

  it("is refused as the daemon would refuse it, and if nobody could send it", async () => {
    await using d = await startDaemon({ config });
    const codeOf = async (body: object) => {
      const { status, json } = await d.admin("POST", "/api/route", { body });
      return [status, json.code];
    };
    assert.deepEqual(await codeOf({ call: { type: "track", userId: "u1" } }), [400, "missing_event"]);
    assert.deepEqual(await codeOf({ call: { userId: "u1" } }), [400, "unknown_type"]);
    assert.deepEqual(await codeOf({ call: [call] }), [400, "invalid_call"]);
    assert.deepEqual(await codeOf({}), [400, "invalid_request"]);
    assert.deepEqual(await codeOf({ call, source: "" }), [400, "invalid_request"]);
    assert.deepEqual(await codeOf({ call, source: "websit" }), [404, "unknown_source"]);
    assert.deepEqual(await codeOf({ call, source: "off" }), [401, "source_disabled"]);
    assert.deepEqual(await codeOf({ call: { ...call, properties: { a: "x".repeat(40_000) } } }), [
      400,
      "call_too_large",
    ]);
  });

  it("has no source in a config without one that is enabled", async () => {
    await using d = await startDaemon({ config: { sources: [makeSource({ enabled: false })] } });
    const { status, json } = await d.admin("POST", "/api/route", { body: { call } });
    assert.deepEqual([status, json.code], [404, "unknown_source"]);
  });
});
