import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import type { Template } from "../../src/model/template.ts";
import { templateOf } from "../webhook/make.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";

const SHORT = templateOf({ text: "{{ user }}: {{ event }}", total: "{{ properties.total }}" });
const OTHER = templateOf({ changed: "{{ event }}" });

const chat = (template: Template | null = SHORT) => makeDestination({ name: "chat", template });
const lake = makeDestination({ name: "lake", urls: [URL_B] });
const CALL = { userId: "u1", event: "Order", messageId: "m1", properties: { total: 12345678901234567890n } };
const PAYLOAD = '{"text":"u1: Order","total":12345678901234567890}';

const order = (d: TestDaemon, more: object = {}) =>
  d.call("/v1/track", JSON.parse(JSON.stringify({ ...CALL, properties: { total: 5 }, ...more })));
const ORDERED = '{"text":"u1: Order","total":5}';

function bodiesTo(d: TestDaemon, url: string): readonly string[] {
  return d.sent.filter((one) => one.url === url).map(({ body }) => body);
}

describe("a destination with a template", () => {
  it("gets its payload, signed, and others get the body of the specification", async () => {
    const signed = { ...chat(), sharedSecrets: [new Secret("s")] };
    await using d = await startDaemon({ config: { destinations: [signed, lake] } });
    await d.ask(
      "/v1/track",
      JSON.stringify({ ...CALL, properties: null }).replace("null", '{"total":12345678901234567890}'),
    );
    await d.clock.rest();
    const [sent] = d.sent.filter(({ url }) => url === URL_A);
    assert.equal(sent?.body, PAYLOAD);
    assert.equal(sent?.headers["Content-Type"], "application/json");
    assert.equal(sent?.headers["X-Signature"], createHmac("sha1", "s").update(PAYLOAD).digest("hex"));
    const [body = ""] = bodiesTo(d, URL_B);
    assert.match(body, /^\{"version":1,"type":"track","userId":"u1","event":"Order"/);
  });

  it("gets the same bytes at a retry, after a reload that changes the template, and after a crash", async () => {
    const answers = ({ url }: { readonly url: string }) => (url === URL_A ? 503 : 200);
    await using d = await startDaemon({ answers, config: { destinations: [chat(), lake] } });
    await order(d);
    await d.app.reload({ ...d.config, destinations: [chat(OTHER), lake] });
    await d.clock.advance("3s");
    assert.ok(bodiesTo(d, URL_A).length > 1);
    await using next = await d.crash({ config: { destinations: [chat(null), lake] } });
    await next.clock.advance("1m");
    const bodies = [...bodiesTo(d, URL_A), ...bodiesTo(next, URL_A)];
    assert.deepEqual(new Set(bodies), new Set([ORDERED]));
    assert.ok(bodiesTo(next, URL_A).length > 0);
    await order(next, { messageId: "m2" });
    assert.match(bodiesTo(next, URL_A).at(-1) ?? "", /^\{"version":1/);
  });

  it("gets what was stored for it when it comes back from a pause and a restart", async () => {
    await using d = await startDaemon({ config: { destinations: [chat(), lake] } });
    await d.admin("POST", "/api/destinations/chat/pause");
    for (const messageId of ["a", "b"]) await order(d, { messageId });
    await using next = await d.crash({ config: { destinations: [chat(OTHER), lake] } });
    await next.admin("POST", "/api/destinations/chat/resume");
    await next.clock.advance("1m");
    assert.deepEqual(bodiesTo(next, URL_A), [ORDERED, ORDERED]);
  });

  it("is shown with its payload, and replayed with it", async () => {
    await using d = await startDaemon({ config: { destinations: [chat(), lake] } });
    await order(d);
    const shown = async (id: string) => (await d.admin("GET", `/api/deliveries/${id}`)).json.body;
    assert.equal(await shown("1-chat"), ORDERED);
    assert.match(String(await shown("1-lake")), /^\{"version":1/);
    await d.app.reload({ ...d.config, destinations: [chat(OTHER), lake] });
    for (const id of ["1-chat", "1-lake"])
      assert.equal((await d.admin("POST", `/api/deliveries/${id}/retry`)).status, 200);
    await d.clock.advance("1m");
    assert.deepEqual(bodiesTo(d, URL_A), [ORDERED, ORDERED]);
    const [first, second] = bodiesTo(d, URL_B);
    assert.ok(first !== undefined && first === second);
    assert.equal(await shown("1-chat"), ORDERED);
  });

  it("gets its own payload of what is moved to it, whether that was tried or not", async () => {
    const answers = ({ url, body }: { readonly url: string; readonly body: string }) =>
      url === URL_B && body.includes('"tried"') ? 503 : 200;
    await using d = await startDaemon({ answers, config: { destinations: [lake] } });
    await order(d, { messageId: "tried" });
    await d.admin("POST", "/api/destinations/lake/pause");
    await order(d, { messageId: "untried" });
    await d.app.reload({ ...d.config, destinations: [chat(), lake] });
    const { json } = await d.admin("POST", "/api/destinations/lake/move", { body: { to: "chat" } });
    assert.equal(json.moved, 2);
    await d.clock.advance("1m");
    assert.deepEqual(bodiesTo(d, URL_A), [ORDERED, ORDERED]);
  });

  it("does not leave its payload to a destination that its deliveries move to", async () => {
    await using d = await startDaemon({
      answers: ({ url }) => (url === URL_A ? 503 : 200),
      config: { destinations: [chat()] },
    });
    await order(d, { messageId: "tried" });
    await d.admin("POST", "/api/destinations/chat/pause");
    await order(d, { messageId: "untried" });
    await d.app.reload({ ...d.config, destinations: [chat(), lake] });
    await d.admin("POST", "/api/destinations/chat/move", { body: { to: "lake" } });
    await d.clock.advance("1m");
    assert.equal(bodiesTo(d, URL_B).length, 2);
    for (const body of bodiesTo(d, URL_B)) assert.match(body, /^\{"version":1/);
  });

  it("gets the test call by its template, and deletion notices as the specification has them", async () => {
    await using d = await startDaemon({ config: { destinations: [chat()] } });
    await d.admin("POST", "/api/destinations/chat/test", { body: {} });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.rest();
    const [test, notice = ""] = bodiesTo(d, URL_A);
    assert.equal(test, '{"text":"fairlead:test: Fairlead Test","total":null}');
    assert.deepEqual(Object.keys(JSON.parse(notice)), ["type", "userId", "timestamp"]);
  });

  it("gets deletion notices by a template of their own, if it has one", async () => {
    const told = { ...chat(), noticeTemplate: templateOf({ text: "delete {{ userId }}" }) };
    await using d = await startDaemon({ config: { destinations: [told, lake] } });
    await order(d);
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.rest();
    assert.deepEqual(bodiesTo(d, URL_A), [ORDERED, '{"text":"delete u1"}']);
    assert.match(bodiesTo(d, URL_B)[1] ?? "", /^\{"type":"delete","userId":"u1"/);
  });

  it("gets by a new template what an old one has spoilt, if that is moved to it", async () => {
    const answers = ({ url }: { readonly url: string }) => (url === URL_A ? 400 : 200);
    await using d = await startDaemon({ answers, config: { destinations: [chat(OTHER)] } });
    await order(d);
    const fixed = makeDestination({ name: "chat-2", urls: [URL_B], template: SHORT });
    await d.app.reload({ ...d.config, destinations: [chat(OTHER), fixed] });
    await d.admin("POST", "/api/destinations/chat/pause");
    assert.equal(
      (await d.admin("POST", "/api/replay", { body: { filter: { destination: "chat" } } })).json.replayed,
      1,
    );
    assert.equal((await d.admin("POST", "/api/destinations/chat/move", { body: { to: "chat-2" } })).json.moved, 1);
    await d.clock.advance("1m");
    assert.deepEqual(bodiesTo(d, URL_B), [ORDERED]);
  });

  it("has nothing of a user left once they are erased", async () => {
    const answers = ({ body }: { readonly body: string }) => (/^\{"(text|version)/.test(body) ? 400 : 200);
    await using d = await startDaemon({ answers, config: { destinations: [chat(), lake] } });
    await order(d, { userId: "erase-me" });
    await d.call("/v1/alias", { userId: "u9", previousId: "erase-me", messageId: "m2" });
    await order(d, { event: "Kept", messageId: "m3" });
    assert.notDeepEqual(await d.outbox.findText("erase-me"), []);
    await d.admin("POST", "/api/deletions", { body: { userIds: ["erase-me"], erase: true } });
    await d.clock.advance("3s");
    assert.deepEqual(await d.outbox.findText("erase-me"), []);
    assert.match(String((await d.admin("GET", "/api/deliveries/3-chat")).json.body), /^\{"text":"u1: Kept"/);
  });

  it("is shown with what it would get of an example call", async () => {
    await using d = await startDaemon({ config: { destinations: [chat(), lake] } });
    const call = { type: "track", userId: "u1", event: "Order", properties: { total: 5 } };
    const { json } = await d.admin("POST", "/api/route", { body: { call } });
    assert.deepEqual(
      (json.results as { body: unknown }[]).map(({ body }) => body),
      [ORDERED, null],
    );
    assert.equal(d.sent.length, 0);
  });

  it("says so when a payload would be too long", async () => {
    const long = templateOf({ all: Array.from({ length: 60 }, () => "{{ properties.text }}") });
    await using d = await startDaemon({ config: { destinations: [chat(long)] } });
    await order(d, { properties: { text: "x".repeat(10_000) } });
    assert.deepEqual(
      d.told.filter(({ what }) => what === "payloadShortened").map(({ args }) => args),
      [["chat", "m1"]],
    );
    const [body = ""] = bodiesTo(d, URL_A);
    assert.equal(JSON.parse(body).all[59], `${"x".repeat(499)}…`);
  });
});
