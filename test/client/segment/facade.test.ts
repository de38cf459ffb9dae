// What the facade does by itself: it refuses what is not there, and loses nothing where the other library does.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { memoryTransport } from "../../../src/client/memory-transport.ts";
import {
  Analytics,
  type AnalyticsSettings,
  FetchHTTPClient,
  type HTTPFetchFn,
} from "../../../src/client/segment/analytics.ts";
import { SCRATCH } from "../../scratch.ts";

const SETTINGS = { writeKey: "website-key", host: "http://127.0.0.1:9" };
const CALL = { userId: "user-42", event: "E" };

/** In JavaScript, programs give anything. */
function make(more: object): Analytics {
  return new Analytics({ ...SETTINGS, ...more } as AnalyticsSettings);
}

describe("what @segment/analytics-node has and Fairlead has not", () => {
  it("is refused where it is set, with what to use instead", () => {
    for (const [name, expected] of [
      ["oauthSettings", "oauthSettings is not supported: Fairlead identifies its callers by the write key"],
      [
        "maxTotalBackoffDuration",
        "maxTotalBackoffDuration is not supported: use maxRetries, or closeAndFlush({ timeout })",
      ],
      ["maxRateLimitDuration", "maxRateLimitDuration is not supported: use closeAndFlush({ timeout })"],
    ] as const) {
      assert.throws(() => make({ [name]: {} }), { name: "InvalidOptionError", message: expected });
    }
  });

  it("plugins: register throws", async () => {
    const analytics = make({});
    const register = analytics.register as (...plugins: object[]) => unknown;
    assert.throws(() => register({ name: "enrich" }), {
      code: "invalid_option",
      message: /^plugins are not supported: /,
    });
    await analytics.register();
  });

  it("a setting that cannot be used is named as it is called there, or here", () => {
    for (const [settings, expected] of [
      [{ host: "fairlead.example" }, /^host must be an http or https URL, and path a path/],
      [{ host: "ftp://fairlead.example" }, /^host must be an http or https URL, and path a path/],
      [{ host: "http://me:secret@fairlead.example" }, /^host must not contain a user or a password/],
      [{ maxRetries: -1 }, /^maxRetries must be a whole number of at least 0 \(got -1\)/],
      [{ flushAt: 1.5 }, /^flushAt must be a whole number/],
      [{ flushInterval: "5s" }, /^flushInterval must be a whole number/],
      [{ httpRequestTimeout: 0 }, /^httpRequestTimeout must be a whole number/],
      [{ fairlead: { queue: { limit: 0 } } }, /^queue\.limit must be a whole number/],
    ] as const) {
      assert.throws(() => make(settings), { name: "InvalidOptionError", message: expected });
    }
    assert.throws(() => new Analytics("website-key" as never), /^InvalidOptionError: new Analytics needs an object/);
  });
});

describe("a call through the facade", () => {
  it("is not thrown out for its data, which only shows when the program runs", async () => {
    const transport = memoryTransport();
    const analytics = make({ httpClient: transport.fetch });
    const failures: string[] = [];
    analytics.on("error", ({ reason, ctx }) => failures.push(`${ctx.event.messageId} ${codeOf(reason)}`));
    const circular: { [name: string]: unknown } = {};
    circular.self = circular;
    analytics.track({ ...CALL, messageId: "1", properties: circular });
    analytics.track({ ...CALL, messageId: "2", timestamp: "yesterday" });
    analytics.track({ ...CALL, messageId: "3", properties: { pad: "x".repeat(40_000) } });
    analytics.track({ ...CALL, messageId: "4" });
    await analytics.closeAndFlush();
    assert.deepEqual(failures, ["1 not_serialisable", "2 invalid_timestamp", "3 call_too_large"]);
    assert.deepEqual(
      transport.calls.map(({ messageId }) => messageId),
      ["4"],
    );
  });

  it("has each of its callbacks called once, also where ids repeat", async () => {
    const analytics = make({ httpClient: memoryTransport().fetch });
    const heard: number[] = [];
    for (const nth of [1, 2, 3]) analytics.track({ ...CALL, messageId: "same" }, () => heard.push(nth));
    await analytics.closeAndFlush();
    assert.deepEqual(heard, [1, 2, 3]);
  });

  it("fails if the server rejects it, and the rest of its batch does not", async () => {
    const body = { rejected: [{ index: 1, messageId: "2", code: "invalid_event", message: "no" }] };
    const transport = memoryTransport(() => ({ status: 200, body }));
    const analytics = make({ httpClient: transport.fetch });
    const heard: string[] = [];
    for (const messageId of ["1", "2"]) {
      analytics.track({ ...CALL, messageId }, (error) => heard.push(`${messageId} ${error ? codeOf(error) : "taken"}`));
    }
    await analytics.flush();
    assert.deepEqual(heard, ["1 taken", "2 invalid_event"]);
  });

  it("stays in the queue when the time of a flush is over, and goes out later", async () => {
    let answer = (_status: number): void => {};
    const transport = memoryTransport(() => new Promise<number>((resolve) => (answer = resolve)));
    const analytics = make({ httpClient: transport.fetch });
    const heard: unknown[] = [];
    analytics.track(CALL, (error) => heard.push(error));
    await analytics.flush({ timeout: 5 });
    assert.deepEqual(heard, []);
    answer(200);
    await analytics.flush();
    assert.deepEqual(heard, [undefined]);
  });

  it("stays in a spool if closeAndFlush ends before it is delivered, and the next start sends it", async () => {
    const directory = mkdtempSync(join(SCRATCH, "fairlead-facade-"));
    const fairlead = { spool: { directory } };
    const heard: string[] = [];
    const first = make({ httpClient: () => new Promise(() => {}), fairlead });
    first.on("error", ({ reason }) => heard.push(`failed: ${String(reason)}`));
    first.track({ ...CALL, messageId: "m-1" }, () => heard.push("called back"));
    await first.closeAndFlush({ timeout: 5 });
    const transport = memoryTransport();
    const next = make({ httpClient: transport.fetch, fairlead });
    const sent = new Promise<void>((resolve) => {
      next.on("track", ({ id }) => {
        heard.push(`sent ${id}`);
        resolve();
      });
    });
    await sent;
    await next.closeAndFlush();
    rmSync(directory, { recursive: true });
    assert.deepEqual(heard, ["sent m-1"]);
  });

  it("is given back in its error if closeAndFlush ends before it is delivered", async () => {
    const analytics = make({ httpClient: () => new Promise(() => {}) });
    const failed: string[] = [];
    analytics.on("error", ({ reason, ctx }) => failed.push(`${ctx.event.event}: ${(reason as Error).message}`));
    analytics.track(CALL);
    await analytics.closeAndFlush({ timeout: 5 });
    assert.deepEqual(failed, ["E: the call was not delivered within 0.005 s; make it again with the same messageId"]);
  });
});

describe("an HTTP client of the program's own", () => {
  it("is believed if its 2xx has no body, and read if it has one", async () => {
    const answers = [{ status: 200, statusText: "OK", text: async () => "<h1>Welcome</h1>" }, TAKEN];
    let requests = 0;
    const httpClient: HTTPFetchFn = async () => answers[requests++] ?? TAKEN;
    const analytics = make({ httpClient });
    analytics.track(CALL);
    await analytics.flush();
    assert.equal(requests, 2);
  });

  it("may name its headers in any case, and have a body that only text() can read", async () => {
    let requests = 0;
    const httpClient: HTTPFetchFn = async () => {
      requests += 1;
      const text = async (): Promise<string> => '{"success":true}';
      return requests === 1
        ? { status: 429, statusText: "", headers: { "RETRY-AFTER": "1" } }
        : Object.assign({ status: 200, statusText: "OK", text }, { body: { pipe() {} } });
    };
    const analytics = make({ httpClient, maxRetries: 0 });
    const heard: unknown[] = [];
    analytics.track(CALL, (error) => heard.push(error));
    await analytics.flush();
    assert.deepEqual([requests, heard], [2, [undefined]]);
  });

  it("may be a FetchHTTPClient around a fetch", async () => {
    const transport = memoryTransport();
    const analytics = make({ httpClient: new FetchHTTPClient(transport.fetch) });
    analytics.track(CALL);
    await analytics.flush();
    assert.equal(transport.calls.length, 1);
  });
});

describe("listeners", () => {
  it("that throw keep neither others nor the request from going on", async (t) => {
    const lines = t.mock.method(console, "error", () => {});
    const transport = memoryTransport();
    const analytics = make({ httpClient: transport.fetch });
    let heard = 0;
    analytics.on("http_request", () => {
      throw new Error("of the program");
    });
    analytics.on("http_request", () => {
      heard += 1;
    });
    analytics.track(CALL);
    await analytics.flush();
    assert.deepEqual([heard, transport.calls.length], [1, 1]);
    assert.match(String(lines.mock.calls[0]?.arguments[0]), /^analytics: a listener of http_request threw: Error: of/);
  });

  it("where there are none, and no callback, a loss is written to standard error", async (t) => {
    const lines = t.mock.method(console, "error", () => {});
    const analytics = make({ httpClient: memoryTransport(() => 401).fetch });
    analytics.track({ ...CALL, messageId: "m-1" });
    await analytics.closeAndFlush();
    assert.match(
      String(lines.mock.calls[0]?.arguments[0]),
      /^analytics: track m-1 is lost: the server refused the batch/,
    );
  });
});

const TAKEN = { status: 200, statusText: "OK" };

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}
