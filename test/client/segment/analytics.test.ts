// What programs know of @segment/analytics-node: the same assertions for it, and for the facade that takes its place.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Answer, type Asked, LIBRARIES, type Library, type Settings, type Settlement } from "./libraries.ts";

const OK: Answer = { status: 200, statusText: "OK" };
const BAD: Answer = { status: 400, statusText: "Bad Request" };
const DOWN: Answer = { status: 503, statusText: "Service Unavailable" };
const USER = { userId: "user-42" };

type Arrived = { readonly url: string; readonly headers: Record<string, string>; readonly batch: readonly Sent[] };
type Sent = { readonly [field: string]: unknown };

for (const { name, make } of LIBRARIES) {
  /** A library whose requests are answered so, the last answer again and again. */
  const start = ({ answers = [OK], ...settings }: Partial<Settings> & { answers?: readonly Answer[] } = {}) => {
    const arrived: Arrived[] = [];
    const httpClient: Settings["httpClient"] = async (url, { headers, body }) => {
      arrived.push({ url, headers, batch: JSON.parse(body).batch });
      return answers[arrived.length - 1] ?? answers.at(-1) ?? OK;
    };
    const host = "http://127.0.0.1:9";
    return { arrived, analytics: make({ writeKey: "website-key", host, httpClient, ...settings }) };
  };

  describe(`${name}: settings`, () => {
    it("need a write key", () => {
      assert.throws(() => make({ writeKey: "" }), /writeKey is missing\./);
    });

    it("host and path are where requests go, and the key is in Basic authorization", async () => {
      for (const [path, expected] of [
        [undefined, "http://127.0.0.1:9/v1/batch"],
        ["/events/in", "http://127.0.0.1:9/events/in"],
        ["/v1/batch/", "http://127.0.0.1:9/v1/batch"],
      ] as const) {
        const { analytics, arrived } = start(path === undefined ? {} : { path });
        analytics.track({ ...USER, event: "E" });
        await analytics.flush();
        assert.equal(arrived[0]?.url, expected);
        assert.equal(arrived[0]?.headers.Authorization, `Basic ${btoa("website-key:")}`);
        assert.equal(arrived[0]?.headers["Content-Type"], "application/json");
      }
    });

    it("flushAt, and its former name, are how many calls go out at once", async () => {
      for (const settings of [{ flushAt: 2 }, { maxEventsInBatch: 2 }, { flushAt: 2, maxEventsInBatch: 9 }]) {
        const { analytics, arrived } = start(settings);
        for (const event of ["1", "2", "3"]) analytics.track({ ...USER, event });
        await analytics.flush();
        assert.deepEqual(sizes(arrived), [2, 1]);
      }
    });

    it("flushAt is fifteen by default, and 0 counts as 1", async () => {
      for (const [settings, expected] of [
        [{}, [15, 1]],
        [{ flushAt: 0 }, new Array(16).fill(1)],
      ] as const) {
        const { analytics, arrived } = start(settings);
        for (let nth = 1; nth <= 16; nth += 1) analytics.track({ ...USER, event: "E" });
        await analytics.flush();
        assert.deepEqual(sizes(arrived), expected);
      }
    });

    it("flushInterval sends what waits", async () => {
      const { analytics, arrived } = start({ flushInterval: 10 });
      await new Promise<void>((resolve) => analytics.track({ ...USER, event: "E" }, () => resolve()));
      assert.deepEqual(sizes(arrived), [1]);
    });

    it("maxRetries is how often a batch is tried again", async () => {
      const { analytics, arrived } = start({ maxRetries: 0, answers: [DOWN] });
      const failed = failure(analytics);
      analytics.track({ ...USER, event: "E" });
      await analytics.flush();
      assert.equal((await failed).code, "delivery_failure");
      assert.equal(arrived.length, 1);
    });

    it("disable sends nothing, and calls count as delivered", async () => {
      const { analytics, arrived } = start({ disable: true });
      const called = calledBack(analytics);
      await analytics.closeAndFlush();
      assert.equal((await called).error, undefined);
      assert.deepEqual(arrived, []);
    });

    it("httpClient may be an object with makeRequest", async () => {
      const asked: Asked[] = [];
      const makeRequest = async (request: Asked): Promise<Answer> => {
        asked.push(request);
        return OK;
      };
      const { analytics } = start({ httpClient: { makeRequest }, httpRequestTimeout: 1_234 });
      analytics.track({ ...USER, event: "E" });
      await analytics.flush();
      assert.deepEqual(
        asked.map(({ url, method, httpRequestTimeout }) => [url, method, httpRequestTimeout]),
        [["http://127.0.0.1:9/v1/batch", "POST", 1_234]],
      );
    });
  });

  describe(`${name}: calls`, () => {
    it("return nothing, and arrive with what they were given", async () => {
      const { analytics, arrived } = start();
      const context = { ip: "203.0.113.7" };
      const rest = { messageId: "m-1", timestamp: new Date("2012-12-02T00:30:12.984Z"), context };
      assert.equal(analytics.identify({ ...USER, traits: { plan: "pro" }, ...rest }), undefined);
      analytics.track({ ...USER, anonymousId: "a", event: "E", properties: { total: 1 } });
      analytics.page({ ...USER, category: "Docs", name: "Home", properties: { url: "/" } });
      analytics.screen({ ...USER, category: "App", name: "Start", properties: { dark: true } });
      analytics.group({ ...USER, groupId: "g", traits: { seats: 5 }, integrations: { All: false, crm: true } });
      analytics.alias({ userId: "new", previousId: "old" });
      await analytics.flush();
      const [identify, track, page, screen, group, alias] = arrived[0]?.batch ?? [];
      const when = "2012-12-02T00:30:12.984Z";
      like(identify, { type: "identify", ...USER, traits: { plan: "pro" }, messageId: "m-1", timestamp: when });
      assert.match(JSON.stringify(identify?.context), /"ip":"203\.0\.113\.7"/);
      like(track, { type: "track", ...USER, anonymousId: "a", event: "E", properties: { total: 1 } });
      const properties = { url: "/", category: "Docs" };
      like(page, { type: "page", ...USER, category: "Docs", name: "Home", properties });
      like(screen, { type: "screen", ...USER, category: "App", name: "Start", properties: { dark: true } });
      like(group, { type: "group", groupId: "g", traits: { seats: 5 }, integrations: { All: false, crm: true } });
      like(alias, { type: "alias", userId: "new", previousId: "old" });
      assert.equal(typeof track?.messageId, "string");
      assert.match(String(track?.timestamp), /^\d{4}-.*Z$/);
    });

    it("throw where they are made if they lack an id or a name", () => {
      const { analytics, arrived } = start();
      const track = analytics.track as (call: object) => void;
      assert.throws(() => track({ event: "E" }), /userId/);
      assert.throws(() => track({ ...USER }), /event/);
      assert.throws(() => track({ ...USER, event: 5 }), /event/);
      assert.throws(() => track({ ...USER, event: "E", properties: "none" }), /properties/);
      assert.deepEqual(arrived, []);
    });

    it("work without their object", async () => {
      const { analytics, arrived } = start();
      const { track, flush } = analytics;
      track({ ...USER, event: "E" });
      await flush();
      assert.deepEqual(sizes(arrived), [1]);
    });
  });

  describe(`${name}: what becomes of a call`, () => {
    it("its callback gets no error and the context, and then the event of its type is emitted", async () => {
      const { analytics } = start();
      const heard: string[] = [];
      const emitted = new Promise<Settlement>((resolve) => {
        analytics.on("track", (ctx) => {
          heard.push("event");
          resolve(ctx);
        });
      });
      analytics.track({ ...USER, event: "E", messageId: "m-1" }, (error, ctx) => {
        heard.push(`callback ${String(error)} ${ctx?.event.messageId} ${String(ctx?.failedDelivery())}`);
      });
      await analytics.flush();
      assert.equal((await emitted).event.messageId, "m-1");
      assert.deepEqual(heard, ["callback undefined m-1 undefined", "event"]);
    });

    it("a refusal is passed to its callback, and then emitted as an error", async () => {
      const { analytics } = start({ answers: [BAD] });
      const failed = failure(analytics);
      const called = calledBack(analytics);
      await analytics.flush();
      const { error, ctx } = await called;
      assert.match(String(error), /400/);
      assert.equal(ctx?.failedDelivery()?.reason, error);
      const { code, reason, ctx: same } = await failed;
      assert.deepEqual([code, reason, same?.event.messageId], ["delivery_failure", error, ctx?.event.messageId]);
    });

    it("a call that is too large fails so, and does not throw", async () => {
      const { analytics, arrived } = start();
      const called = calledBack(analytics, { properties: { pad: "é".repeat(40_000) } });
      await analytics.flush();
      assert.ok((await called).error instanceof Error);
      assert.deepEqual(arrived, []);
    });

    it("a batch that was refused for now is sent again, with a header that says so", async () => {
      const { analytics, arrived } = start({ answers: [DOWN, OK] });
      const called = calledBack(analytics);
      await analytics.flush();
      assert.equal((await called).error, undefined);
      assert.deepEqual(
        arrived.map(({ headers }) => headers["X-Retry-Count"]),
        [undefined, "1"],
      );
    });

    it("a callback that throws, or never ends, keeps nothing from going on", async () => {
      const { analytics, arrived } = start();
      analytics.track({ ...USER, event: "E" }, () => {
        throw new Error("of the program");
      });
      analytics.track({ ...USER, event: "E" }, () => new Promise(() => {}));
      await analytics.closeAndFlush();
      assert.deepEqual(sizes(arrived), [2]);
    });
  });

  describe(`${name}: events`, () => {
    it("tell of requests and their answers", async () => {
      const { analytics } = start({ answers: [{ ...OK, headers: { "X-Answered-By": "test" } }] });
      const requests: { url: string; method: string; body: string }[] = [];
      const responses: { status: number; body: string; headers: Record<string, string> }[] = [];
      analytics.on("http_request", (request) => void requests.push(request));
      analytics.on("http_response", (response) => void responses.push(response));
      analytics.track({ ...USER, event: "E" });
      await analytics.flush();
      assert.deepEqual(
        requests.map(({ url, method }) => [url, method]),
        [["http://127.0.0.1:9/v1/batch", "POST"]],
      );
      const [{ status, body, headers } = assert.fail("no answer")] = responses;
      assert.deepEqual([status, body, headers["x-answered-by"]], [200, requests[0]?.body, "test"]);
    });

    it("once hears the first only, and off ends it", async () => {
      const { analytics } = start({ flushAt: 1 });
      const heard: string[] = [];
      const listen = (): void => void heard.push("on");
      analytics.once("track", () => heard.push("once"));
      analytics.on("track", listen);
      for (const event of ["1", "2"]) {
        analytics.track({ ...USER, event });
        await analytics.flush();
      }
      analytics.off("track", listen);
      analytics.track({ ...USER, event: "3" });
      await analytics.closeAndFlush();
      assert.deepEqual(heard, ["once", "on", "on"]);
    });

    it("drained comes when no call is open", async () => {
      const { analytics } = start();
      const drained = new Promise<void>((resolve) => analytics.on("drained", resolve));
      for (const event of ["1", "2"]) analytics.track({ ...USER, event });
      await analytics.flush();
      await drained;
    });
  });

  describe(`${name}: the end`, () => {
    it("closeAndFlush resolves after the callbacks, and the promises that they return", async () => {
      const { analytics } = start();
      const heard: string[] = [];
      analytics.track({ ...USER, event: "E" }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        heard.push("callback");
      });
      await analytics.closeAndFlush();
      assert.deepEqual(heard, ["callback"]);
    });

    it("a call after it is not made, and told of", async () => {
      const { analytics, arrived } = start();
      const late: { readonly type: string }[] = [];
      analytics.on("call_after_close", (call) => late.push(call));
      await analytics.closeAndFlush();
      assert.equal(analytics.identify(USER), undefined);
      await analytics.closeAndFlush();
      assert.deepEqual(
        late.map(({ type }) => type),
        ["identify"],
      );
      assert.deepEqual(arrived, []);
    });

    it("flush({ close: true }) closes, too", async () => {
      const { analytics, arrived } = start();
      analytics.track({ ...USER, event: "E" });
      await analytics.flush({ close: true });
      analytics.track({ ...USER, event: "E" });
      await analytics.flush();
      assert.deepEqual(sizes(arrived), [1]);
    });

    it("closeAndFlush ends at its timeout, and what was not delivered by then fails", async () => {
      const { analytics } = start({ answers: [DOWN] });
      const failed = failure(analytics);
      const called = calledBack(analytics);
      await analytics.closeAndFlush({ timeout: 50 });
      assert.ok((await called).error instanceof Error);
      assert.equal((await failed).code, "delivery_failure");
    });

    it("is ready at once, names its version, and deregisters what is not there", async () => {
      const { analytics } = start();
      await analytics.ready;
      await analytics.deregister("nothing");
      assert.match(analytics.VERSION, /^\d+\.\d+\.\d+$/);
    });
  });
}

function sizes(arrived: readonly Arrived[]): number[] {
  return arrived.map(({ batch }) => batch.length);
}

function like(sent: Sent | undefined, expected: Sent): void {
  const there = Object.fromEntries(Object.keys(expected).map((field) => [field, sent?.[field]]));
  assert.deepEqual(there, expected);
}

function failure(analytics: Library): Promise<{ code: string; reason?: unknown; ctx?: Settlement }> {
  return new Promise((resolve) => analytics.on("error", resolve));
}

function calledBack(analytics: Library, more: object = {}): Promise<{ error: unknown; ctx: Settlement | undefined }> {
  return new Promise((resolve) => {
    analytics.track({ ...USER, event: "E", ...more }, (error, ctx) => resolve({ error, ctx }));
  });
}
