// `fairlead/browser` with a page that is made up. In a real one: test/browser/own-client.browser.ts.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPageClient, type PageOptions } from "../../src/client/browser/client.ts";
import { anonymousId, type Page, page } from "../../src/client/browser/page.ts";
import type { SentCall } from "../../src/client/calls.ts";
import { CallTooLargeError, ClosedError, InvalidOptionError, type LostCallError } from "../../src/client/errors.ts";
import type { FetchInit } from "../../src/client/platform.ts";
import { createFalseClock } from "../flow/clock.ts";
import { createFalseIds } from "./world.ts";

type Behaviour = number | Error | { readonly status: number; readonly body?: object; readonly retryAfter?: string };

type Start = PageOptions & {
  readonly answers?: (nth: number) => Behaviour;
  /** Whether the browser takes a beacon. */
  readonly takes?: (nth: number) => boolean;
};

function start({ answers = () => 200, takes = () => true, ...options }: Start = {}) {
  const clock = createFalseClock();
  const requests: (FetchInit & { readonly url: string; readonly json: Sent })[] = [];
  const beacons: { readonly url: string; readonly body: string; readonly json: Sent }[] = [];
  const lines: string[] = [];
  const lost: LostCallError[] = [];
  let leave = (): void => {};
  let offered = 0;
  const made: Page = {
    wall: clock.wall,
    after: clock.after,
    fraction: () => 0.5,
    uuid: createFalseIds(),
    log: (line) => lines.push(line),
    origin: () => "https://shop.example",
    beacon(url, body) {
      offered += 1;
      if (!takes(offered)) return false;
      beacons.push({ url, body, json: JSON.parse(body) });
      return true;
    },
    onLeaving(run) {
      leave = run;
    },
    async fetch(url, init) {
      requests.push({ ...init, url, json: JSON.parse(init.body) });
      await clock.nextTurn();
      const behaviour = answers(requests.length);
      if (behaviour instanceof Error) throw behaviour;
      const {
        status,
        body = { success: status === 200 },
        retryAfter,
      } = typeof behaviour === "number" ? { status: behaviour } : behaviour;
      const headers = new Headers(retryAfter === undefined ? {} : { "Retry-After": retryAfter });
      return { status, statusText: "", headers, text: async () => JSON.stringify(body) };
    },
  };
  const client = createPageClient("key", { onError: (error) => lost.push(error), ...options }, made);
  const track = (event: string, more: object = {}): string => client.call("track", { userId: "u", event, ...more });
  return { client, clock, requests, beacons, lines, lost, track, leave: () => leave() };
}

type Sent = {
  readonly writeKey: string;
  readonly context: object;
  readonly sentAt?: string;
  readonly batch: readonly SentCall[];
};

function events(sent: readonly { readonly json: Sent }[]): readonly (readonly (string | undefined)[])[] {
  return sent.map(({ json }) => json.batch.map(({ event }) => event));
}

describe("a client in a page", () => {
  it("sends to the page's own origin, with the key in the body and no header that asks for a preflight", async () => {
    const c = start({ context: { locale: "de" } });
    c.track("E", { context: { ip: null } });
    await c.client.flush();
    const [request] = c.requests;
    assert.deepEqual([request?.url, request?.headers], ["https://shop.example/v1/batch", {}]);
    assert.equal(request?.json.writeKey, "key");
    assert.match(JSON.stringify(request?.json.context), /"name":"fairlead-browser"/);
    assert.deepEqual(request?.json.batch[0]?.context, { locale: "de", ip: null });
  });

  it("sends after 5 s, or 20 calls, and in their order", async () => {
    const c = start();
    c.track("0");
    await c.clock.advance("4999ms");
    assert.deepEqual(events(c.requests), []);
    await c.clock.advance("1ms");
    const names = Array.from({ length: 25 }, (_, nth) => String(nth));
    for (const name of names) c.track(name);
    await c.clock.rest();
    assert.deepEqual(events(c.requests), [["0"], names.slice(0, 20), names.slice(20)]);
  });

  it("tells what became of each call: delivered, rejected, or lost with its batch", async () => {
    const rejected = [{ index: 1, code: "too_deep", message: "nested" }];
    const c = start({ answers: (nth) => (nth === 1 ? { status: 200, body: { success: true, rejected } } : 401) });
    const first = c.track("1");
    c.track("2");
    const report = await c.client.flush();
    assert.deepEqual([report.delivered, report.lost.map(({ code }) => code)], [[first], ["too_deep"]]);
    c.track("3");
    await c.client.flush();
    assert.deepEqual(
      c.lost.map(({ call, reason, status }) => [call.event, reason, status]),
      [
        ["2", "rejected", 200],
        ["3", "refused", 401],
      ],
    );
  });

  it("retries as the client for servers does, and a flush waits for the calls that were there", async () => {
    const answers = [new Error("away"), 503, { status: 429, retryAfter: "7" }, 200];
    const c = start({ answers: (nth) => answers[nth - 1] ?? 200 });
    c.track("1");
    const flushed = c.client.flush();
    await c.clock.advance("500ms");
    c.track("2");
    await c.clock.advance("1s");
    assert.equal(c.requests.length, 3);
    await c.clock.advance("6999ms");
    assert.equal(c.requests.length, 3);
    await c.clock.advance("1ms");
    assert.equal((await flushed).delivered.length, 1);
    await c.clock.advance("5s");
    assert.deepEqual(events(c.requests).at(-1), ["2"]);
  });

  it("tries again where a network sends it to its login: browsers show no more of a redirect than a status of 0", async () => {
    const c = start({ answers: (nth) => (nth === 1 ? 0 : 200) });
    const id = c.track("1");
    const flushed = c.client.flush();
    await c.clock.advance("1s");
    assert.deepEqual((await flushed).delivered, [id]);
    const away = start({ answers: () => 0, retries: 0 });
    away.track("1");
    await away.client.flush();
    assert.match(away.lost[0]?.message ?? "", /is lost: no answer: redirected; check endpoint$/);
  });

  it("gives back integers as they were", async () => {
    const delivered: SentCall[] = [];
    const c = start({ answers: (nth) => (nth === 1 ? 200 : 503), onDelivered: (call) => delivered.push(call) });
    c.track("1", { properties: { id: 12345678901234567890n } });
    await c.client.flush();
    c.track("2", { properties: { id: 12345678901234567891n } });
    const closed = c.client.close(1_000);
    await c.clock.advance("1s");
    const [returned] = (await closed).undelivered;
    assert.deepEqual(
      [delivered[0]?.properties?.id, returned?.properties?.id],
      [12345678901234567890n, 12345678901234567891n],
    );
  });

  it("gives back at close what is not delivered in time, and takes no more", async () => {
    const c = start({ answers: () => 503 });
    c.track("1");
    const closed = c.client.close(2_000);
    assert.throws(() => c.track("2"), ClosedError);
    await c.clock.advance("2s");
    assert.deepEqual(
      (await closed).undelivered.map(({ event }) => event),
      ["1"],
    );
    const { length } = c.requests;
    await c.clock.advance("1h");
    assert.deepEqual([c.requests.length, c.lost], [length, []]);
  });

  it("keeps a thousand calls, and drops the oldest", async () => {
    const c = start({ answers: () => 503 });
    for (let nth = 0; nth < 1_001; nth += 1) c.track(String(nth));
    assert.deepEqual(
      c.lost.map(({ call, code }) => [call.event, code]),
      [["0", "dropped"]],
    );
  });

  it("keeps no more where onError makes a call for each that is dropped", () => {
    let losses = 0;
    const c = start({
      answers: () => 503,
      onError() {
        losses += 1;
        c.track("told");
      },
    });
    for (let nth = 0; nth < 1_300; nth += 1) c.track(String(nth));
    assert.equal(losses, 300);
    assert.match(c.lines[0] ?? "", /a callback threw: QueueFullError/);
  });

  it("survives functions of the page that throw, and writes losses that nobody listens to", async () => {
    const throws = (): never => {
      throw new Error("mine");
    };
    const c = start({ onDelivered: throws });
    c.track("1");
    assert.equal((await c.client.flush()).delivered.length, 1);
    assert.match(c.lines.join(), /a callback threw: Error: mine/);
    const deaf = start({ onError: undefined, answers: () => 400 });
    deaf.track("1");
    await deaf.client.flush();
    assert.match(deaf.lines.join(), /^analytics: track \S+ is lost: 400$/);
  });

  it("refuses calls that are wrong or too large, a missing key and a wrong endpoint", () => {
    const c = start();
    assert.throws(() => c.client.call("track", { event: "E" }), /You must pass either/);
    assert.throws(() => c.track("E", { properties: { pad: "x".repeat(32_768) } }), CallTooLargeError);
    assert.throws(() => createPageClient("", {}, {} as Page), InvalidOptionError);
    assert.throws(() => start({ endpoint: "events.example.com" }), InvalidOptionError);
    assert.throws(() => start({ flushAt: 0 }), /InvalidOptionError: flushAt must be 1 or more/);
  });
});

describe("a page that is left", () => {
  it("hands all calls to the browser, those under way as well", async () => {
    const c = start({ flushAt: 2, answers: () => 503 });
    for (const name of ["1", "2", "3"]) c.track(name);
    await c.clock.rest();
    c.leave();
    assert.deepEqual(events(c.beacons), [["1", "2", "3"]]);
    assert.deepEqual([c.beacons[0]?.url, c.beacons[0]?.json.writeKey], ["https://shop.example/v1/batch", "key"]);
  });

  it("hands over in parts that a browser takes", () => {
    const c = start({ flushAt: 100 });
    const pad = "ü".repeat(10_000);
    for (let nth = 0; nth < 7; nth += 1) c.track(String(nth), { properties: { pad } });
    c.leave();
    assert.deepEqual(events(c.beacons), [["0", "1"], ["2", "3"], ["4", "5"], ["6"]]);
    assert.ok(c.beacons.every(({ body }) => Buffer.byteLength(body) < 65_536));
  });

  it("hands each call over once, and again what the browser did not take", () => {
    const c = start({ takes: (nth) => nth !== 2 });
    c.track("1");
    c.leave();
    c.track("2");
    c.leave();
    assert.deepEqual(events(c.beacons), [["1"]]);
    c.leave();
    assert.deepEqual(events(c.beacons), [["1"], ["2"]]);
  });

  it("sends as usual if it lives on: the server knows the calls by their messageId", async () => {
    const c = start();
    const id = c.track("1");
    c.leave();
    await c.clock.advance("5s");
    assert.deepEqual(
      [...c.beacons, ...c.requests].map(({ json }) => json.batch[0]?.messageId),
      [id, id],
    );
  });

  it("has nothing to hand over when all is settled", async () => {
    const c = start();
    c.track("1");
    await c.client.flush();
    c.leave();
    assert.deepEqual(c.beacons, []);
  });
});

describe("a time that is longer than a timer can hold", () => {
  it("does not pass at once", async () => {
    const passed: string[] = [];
    const cancel = page.after(Infinity, () => passed.push("for ever"));
    await new Promise<void>((resolve) => page.after(10, resolve));
    cancel();
    assert.deepEqual(passed, []);
  });
});

describe("an id for a visitor", () => {
  it("is the same for all calls of a page, also where nothing can be stored", () => {
    assert.match(anonymousId(), /^[\da-f-]{32,36}$/);
    assert.equal(anonymousId(), anonymousId());
  });
});
