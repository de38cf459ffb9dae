import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fault } from "../../src/model/fault.ts";
import type { Rejection, Rejections } from "../../src/model/refusal.ts";
import { startAdmin } from "./make.ts";

const PATH = "/api/rejected";

function makeRejection(rejection: Partial<Rejection> = {}): Rejection {
  return {
    at: Date.UTC(2026, 1, 3, 4, 5, 6, 7),
    source: "website",
    type: "track",
    messageId: "m1",
    fault: fault("missing_event", "a track call needs an event"),
    from: { address: "203.0.113.7", userAgent: "curl/8.5.0", origin: null },
    request: "POST /v1/track",
    sample: '{"userId":"u1"}',
    ...rejection,
  };
}

/** As the real ones: the newest first, and no more than are asked for. */
function keep(...newestFirst: readonly Rejection[]): { readonly rejections: Rejections } {
  return { rejections: { newest: (limit) => newestFirst.slice(0, limit) } };
}

async function list(query: string, ...newestFirst: readonly Rejection[]): Promise<readonly Record<string, unknown>[]> {
  const { status, text } = await startAdmin(keep(...newestFirst)).get(`${PATH}${query}`);
  assert.equal(status, 200, text);
  return JSON.parse(text).rejected;
}

const many = (count: number): readonly Rejection[] =>
  Array.from({ length: count }, (_, n) => makeRejection({ messageId: `m${n}` }));

describe("GET /api/rejected", () => {
  it("says of a call who sent it, when, why it was refused, and how it begins", async () => {
    const { status, text } = await startAdmin(keep(makeRejection())).get(PATH);
    assert.equal(status, 200);
    const one = {
      at: "2026-02-03T04:05:06.007Z",
      source: "website",
      type: "track",
      messageId: "m1",
      code: "missing_event",
      message: "a track call needs an event",
      count: 1,
      from: { address: "203.0.113.7", userAgent: "curl/8.5.0", origin: null },
      request: "POST /v1/track",
      sample: '{"userId":"u1"}',
    };
    assert.equal(text, JSON.stringify({ rejected: [one] }));
  });

  it("says of a whole request what is known of it, and how many calls it held", async () => {
    const from = { address: null, userAgent: null, origin: "https://shop.example.com" };
    const unknown = { source: null, type: null, messageId: null, from, count: 12 };
    const [one] = await list("", makeRejection(unknown));
    assert.partialDeepStrictEqual(one, unknown);
  });

  it("is empty while nothing was refused", async () => {
    assert.deepEqual(await list(""), []);
  });

  it("keeps the order: the newest first", async () => {
    const ids = (await list("", ...many(3))).map(({ messageId }) => messageId);
    assert.deepEqual(ids, ["m0", "m1", "m2"]);
  });

  it("lists 20, or as many as are asked for, up to 100", async () => {
    assert.equal((await list("", ...many(150))).length, 20);
    assert.equal((await list("?limit=1", ...many(150))).length, 1);
    assert.equal((await list("?limit=100", ...many(150))).length, 100);
  });

  it("finds those of a source, and those with a code, behind any number of others", async () => {
    const unknownKey = fault("unknown_write_key", "no source has this write key");
    const all = [
      ...many(150),
      makeRejection({ source: "app", messageId: "a1" }),
      makeRejection({ source: null, fault: unknownKey, messageId: "x1" }),
      makeRejection({ source: "app", fault: unknownKey, messageId: "a2" }),
    ];
    const idsOf = async (query: string) => (await list(query, ...all)).map(({ messageId }) => messageId);
    assert.deepEqual(await idsOf("?source=app"), ["a1", "a2"]);
    assert.deepEqual(await idsOf("?code=unknown_write_key"), ["x1", "a2"]);
    assert.deepEqual(await idsOf("?source=app&code=unknown_write_key"), ["a2"]);
    assert.deepEqual(await idsOf("?source=app&limit=1"), ["a1"]);
    assert.deepEqual(await idsOf("?source=website&code=unknown_write_key"), []);
  });

  it("does not know a source that is neither in the config nor in what was refused, and says which was meant", async () => {
    const { status, text } = await startAdmin(keep(makeRejection({ source: "removed" }))).get(`${PATH}?source=webiste`);
    const { code, message } = JSON.parse(text);
    assert.deepEqual([status, code], [404, "unknown_source"]);
    assert.equal(message, 'there is no source "webiste"; did you mean website?');
    assert.equal((await list("?source=removed", makeRejection({ source: "removed" }))).length, 1);
  });

  const LIMIT = "limit must be a whole number from 1 to 100";
  const wrong: Readonly<Record<string, string>> = {
    "?limit=0": `${LIMIT} (got "0")`,
    "?limit=101": `${LIMIT} (got "101")`,
    "?limit=-1": `${LIMIT} (got "-1")`,
    "?limit=1.5": `${LIMIT} (got "1.5")`,
    "?limit=ten": `${LIMIT} (got "ten")`,
    "?limit=": `${LIMIT} (got "")`,
    "?limit=9999999999": `${LIMIT} (got "9999999999")`,
    "?source=": 'source must not be empty; leave it out for all (got "")',
    "?code=no_such_code": 'code must be a code of a refused call (got "no_such_code")',
    "?code=toString": 'code must be a code of a refused call (got "toString")',
    "?sorce=website": "sorce is unknown; known are limit, source and code",
  };
  for (const [query, message] of Object.entries(wrong)) {
    it(`refuses ${query}`, async () => {
      const { status, text } = await startAdmin(keep(...many(1))).get(`${PATH}${query}`);
      const refusal = { success: false, code: "invalid_request", message, error: message };
      assert.deepEqual([status, JSON.parse(text)], [400, refusal]);
    });
  }

  it("is not open to web pages", async () => {
    const { status, text } = await startAdmin(keep(...many(1))).get(PATH, { origin: "https://evil.example.com" });
    assert.deepEqual([status, JSON.parse(text).code], [403, "forbidden_origin"]);
  });
});
