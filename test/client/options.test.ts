import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Analytics, InvalidOptionError, type Options } from "../../src/client/analytics.ts";
import { readOptions } from "../../src/client/options.ts";

function refusal(options: unknown, writeKey = "key"): string {
  try {
    new Analytics(writeKey, options as Options);
  } catch (error) {
    assert.ok(error instanceof InvalidOptionError);
    return error.message;
  }
  return "taken";
}

describe("the options", () => {
  it("have the defaults of the specification", () => {
    const { flushAt, flushAfterMs, maxBatchSize, maxCallSize, retries } = readOptions("key", {});
    assert.deepEqual([flushAt, flushAfterMs, maxBatchSize, maxCallSize, retries], [20, 5_000, 512_000, 32_768, 10]);
  });

  it("have two names for the same, as in the Go client", () => {
    const { flushAt, flushAfterMs } = readOptions("key", { size: 7, interval: 900 });
    assert.deepEqual([flushAt, flushAfterMs], [7, 900]);
    assert.equal(refusal({ size: 1, flushAt: 1 }), "flushAt and size are the same option: set only one of them");
  });

  for (const [endpoint, url] of [
    [undefined, "http://127.0.0.1:8080/v1/batch"],
    ["https://e.example.com", "https://e.example.com/v1/batch"],
    ["https://e.example.com/", "https://e.example.com/v1/batch"],
    ["https://e.example.com/v1/batch/", "https://e.example.com/v1/batch"],
    ["https://e.example.com/v1", "https://e.example.com/v1/batch"],
    ["https://e.example.com/in/v1/", "https://e.example.com/in/v1/batch"],
    ["https://e.example.com/env1", "https://e.example.com/env1/v1/batch"],
    ["https://e.example.com/events?x=1#y", "https://e.example.com/events/v1/batch?x=1"],
  ] as const) {
    it(`make a URL of the endpoint ${endpoint}`, () => {
      assert.equal(readOptions("key", { endpoint }).target.url, url);
    });
  }

  it("take a write key of any characters", () => {
    const { Authorization = "" } = readOptions("schlüssel", {}).target.headers;
    assert.equal(Buffer.from(Authorization.slice(6), "base64").toString(), "schlüssel:");
  });

  for (const [options, expected] of [
    [{ flushAt: 0 }, "flushAt must be a whole number from 1 to 2500 (got 0)"],
    [{ size: 2_501 }, "size must be a whole number from 1 to 2500 (got 2501)"],
    [{ interval: 0.5 }, "interval must be a whole number from 1 to 2147483647 (got 0.5)"],
    [{ timeout: "5s" }, 'timeout must be a whole number from 1 to 2147483647 (got "5s")'],
    [{ retries: -1 }, "retries must be a whole number of at least 0 (got -1)"],
    [{ queue: { limit: 0 } }, "queue.limit must be a whole number of at least 1 (got 0)"],
    [{ queue: { whenFull: "wait" } }, 'queue.whenFull must be block, reject or dropOldest (got "wait")'],
    [{ queue: { size: 1 } }, "there is no option queue.size: the options are queue.limit and queue.whenFull"],
    [{ host: "x" }, "there is no option host: use endpoint"],
    [{ onError: true }, "onError must be a function (got a boolean)"],
    [{ endpoint: "events.example.com" }, 'endpoint must be an http or https URL (got "events.example.com")'],
    [{ endpoint: "ftp://x" }, 'endpoint must be an http or https URL (got "ftp://x")'],
    [{ endpoint: "http://u:p@x" }, "endpoint must not contain a user or a password: fetch does not accept them"],
    [null, "the options must be an object (got null)"],
    ["key", "the options must be an object (got a string)"],
    [[], "the options must be an object (got an array)"],
    [{ queue: null }, "queue must be an object (got null)"],
    [{ queue: 100 }, "queue must be an object (got a number)"],
    [{ headers: null }, "headers must be an object (got null)"],
    [{ headers: new Headers({ a: "x" }) }, "headers must be a plain object: pass Object.fromEntries(headers)"],
    [{ headers: new Map([["a", "x"]]) }, "headers must be a plain object: pass Object.fromEntries(headers)"],
    [{ headers: [["a", "x"]] }, "headers must be a plain object: pass Object.fromEntries(headers)"],
    [{ debug: "analytics" }, "debug must be true, false or a function (got a string)"],
    [{ debug: 1 }, "debug must be true, false or a function (got a number)"],
    [{ debug: null }, "debug must be true, false or a function (got null)"],
    [{ context: [] }, "context must be an object (got an array)"],
    [{ context: "page" }, "context must be an object (got a string)"],
    [{ context: new Map() }, "context must be an object (got a Map)"],
    [{ fetch: null }, "fetch must be a function (got null)"],
    [{ onError: "log" }, "onError must be a function (got a string)"],
    [{ endpoint: null }, "endpoint must be an http or https URL (got null)"],
    [{ headers: { authorization: "x" } }, 'headers["authorization"] is set by the client itself'],
    [{ headers: { "a b": "x" } }, 'headers["a b"] is not a valid header name'],
    [{ headers: { a: "x\r\nb: c" } }, 'headers["a"] has a value that is not valid in a header'],
  ] as const) {
    it(`are refused when they cannot be used: ${JSON.stringify(options)}`, () => {
      assert.equal(refusal(options), expected);
    });
  }

  it("refuse a context that cannot be written as JSON", () => {
    const context: Record<string, unknown> = {};
    context.self = context;
    assert.notEqual(refusal({ context }), "taken");
  });

  it("name all there are when one is unknown", () => {
    assert.match(refusal({ flushat: 1 }), /^there is no option flushat: the options are endpoint, flushAt, size, /);
    assert.match(refusal({ toString: 1 }), /^there is no option toString: the options are endpoint, flushAt, size, /);
  });

  it("need a write key", () => {
    assert.match(refusal({}, ""), /^the first argument must be the write key of a source/);
  });
});
