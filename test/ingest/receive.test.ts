import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { fault } from "../../src/model/fault.ts";
import { KEY } from "../flow/make.ts";
import { startUpload } from "../http/make.ts";
import { basic, startIngest } from "./make.ts";

const TRACK = { type: "track", userId: "u1", event: "E" };

type Rejected = { readonly index: number; readonly messageId: string | null; readonly code: string };

function rejectedIn(json: Record<string, unknown>): readonly Rejected[] {
  return json.rejected as readonly Rejected[];
}

describe("a body", () => {
  const deep = `{"batch":${"[".repeat(250_000)}`;

  it("is not read when the key beside it is unknown or disabled, wherever that stands", async () => {
    const beside: readonly (readonly [path: string, headers: Record<string, string>])[] = [
      ["/v1/batch", { authorization: basic("no-key:") }],
      ["/v1/batch", { authorization: basic("old-key:") }],
      ["/v1/batch", { "x-write-key": "no-key" }],
      ["/v1/batch?writeKey=no-key", {}],
      ["/beacon/v1/batch?writeKey=old-key", {}],
    ];
    for (const [path, headers] of beside) {
      const ingest = startIngest();
      const request = new Request(`http://127.0.0.1:8080${path}`, { method: "POST", headers, body: deep });
      const { status } = await ingest.send(request);
      assert.deepEqual([status, request.bodyUsed, ingest.refused.length], [401, false, 1], path);
    }
  });

  it("that nests too deeply is not parsed to look for a key, and is refused and counted", async () => {
    for (const authorization of [null, "Bearer somebody-elses", basic(`${KEY}:`)]) {
      const ingest = startIngest();
      const { status, json } = await ingest.ask("/v1/batch", deep, { headers: { authorization } });
      assert.deepEqual([status, json.code], [400, "too_deep"]);
      assert.deepEqual(
        ingest.refused.map(({ fault }) => fault.code),
        ["too_deep"],
      );
    }
  });
});

describe("a single call", () => {
  it("is accepted for the source of its write key, and answered with 200 and the counts", async () => {
    const ingest = startIngest();
    const { status, json } = await ingest.ask("/v1/track", TRACK);
    assert.equal(status, 200);
    assert.deepEqual(json, { success: true, accepted: 1, duplicate: 0 });
    assert.deepEqual(
      ingest.accepted.map(({ source, events }) => [source, events.length]),
      [["website", 1]],
    );
    assert.equal(ingest.refused.length, 0);
  });

  it("that was there before is acknowledged as a duplicate", async () => {
    const ingest = startIngest({ accept: async () => [{ kind: "duplicate" }] });
    const { status, json } = await ingest.ask("/v1/track", TRACK);
    assert.deepEqual([status, json], [200, { success: true, accepted: 0, duplicate: 1 }]);
  });

  it("is not answered before it is accepted", async () => {
    const accepting = Promise.withResolvers<[{ kind: "accepted"; deliveries: [] }]>();
    const ingest = startIngest({ accept: () => accepting.promise });
    let answered = false;
    const asking = ingest.ask("/v1/track", TRACK).finally(() => {
      answered = true;
    });
    await ingest.clock.rest();
    assert.deepEqual([ingest.accepted.length, answered], [1, false]);
    accepting.resolve([{ kind: "accepted", deliveries: [] }]);
    assert.equal((await asking).status, 200);
  });

  it("without userId and anonymousId is answered 400, and reported to the operator", async () => {
    const ingest = startIngest();
    const { status, json } = await ingest.ask("/v1/track", { event: "E", messageId: "m1" });
    const message = "You must pass either an 'anonymousId' or 'userId'.";
    assert.deepEqual([status, json], [400, { success: false, code: "missing_id", message, error: message }]);
    assert.deepEqual(ingest.refused, [
      { source: "website", type: "track", messageId: "m1", fault: { code: "missing_id", message } },
    ]);
    assert.equal(ingest.accepted.length, 0);
  });

  it("over 32 KB is answered 400", async () => {
    const { status, json } = await startIngest().ask("/v1/track", { ...TRACK, name: "x".repeat(32_768) });
    assert.deepEqual([status, json.code], [400, "call_too_large"]);
  });

  it("with a number that JSON cannot carry on is answered 400", async () => {
    const text = '{"userId":"u1","event":"E","properties":{"a":1e999}}';
    const { status, json } = await startIngest().ask("/v1/track", text);
    assert.deepEqual([status, json.code], [400, "number_out_of_range"]);
  });

  it("that is not JSON is answered 400", async () => {
    for (const body of ["", "{", "userId=u1&event=E", "\u0000"]) {
      const ingest = startIngest();
      const { status, json } = await ingest.ask("/v1/track", body);
      assert.deepEqual([status, json.code], [400, "invalid_json"]);
      assert.equal(ingest.refused[0]?.source, "website");
    }
  });

  it("may be compressed, and of any Content-Type", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "image/png"]) {
      const headers = { "content-type": type, "content-encoding": "gzip" };
      const zipped = gzipSync(JSON.stringify(TRACK));
      const all = { ...headers, "content-length": String(zipped.byteLength) };
      assert.equal((await startIngest().ask("/v1/track", zipped, { headers: all })).status, 200);
    }
  });

  it("gets an id that begins with the time, and no id twice", async () => {
    const ingest = startIngest();
    await ingest.ask("/v1/batch", { batch: [TRACK, TRACK] });
    const ids = ingest.accepted.flatMap(({ events }) => events.map(({ messageId }) => messageId));
    const time = ingest.clock.wall().toString(16).padStart(12, "0");
    assert.deepEqual(ids, [`fl-${time}-${"0".repeat(20)}`, `fl-${time}-${"0".repeat(19)}1`]);
  });
});

describe("a batch", () => {
  it("is answered with the counts of its calls", async () => {
    const ingest = startIngest({
      accept: async (_, events) =>
        events.map((_, n) => (n % 2 ? { kind: "duplicate" } : { kind: "accepted", deliveries: [] })),
    });
    const { status, json } = await ingest.ask("/v1/batch", { batch: [TRACK, TRACK, TRACK] });
    assert.deepEqual([status, json], [200, { success: true, accepted: 2, duplicate: 1 }]);
  });

  it("is accepted at once, in its order", async () => {
    const ingest = startIngest();
    const batch = ["a", "b", "c"].map((messageId) => ({ ...TRACK, messageId }));
    await ingest.ask("/v1/batch", { batch });
    assert.deepEqual(
      ingest.accepted.map(({ events }) => events.map(({ messageId }) => messageId)),
      [["a", "b", "c"]],
    );
  });

  for (const batch of [null, []]) {
    it(`may be ${JSON.stringify(batch)}`, async () => {
      const { status, json } = await startIngest().ask("/v1/batch", { batch, sentAt: "2026-11-20T12:00:00Z" });
      assert.deepEqual([status, json], [200, { success: true, accepted: 0, duplicate: 0 }]);
    });
  }

  it("loses only its bad calls: each is named by its place, its messageId, a code and a sentence", async () => {
    const ingest = startIngest();
    const batch = [TRACK, { ...TRACK, event: null, messageId: "bad" }, null, { type: "purchase", messageId: 7 }, TRACK];
    const { status, json } = await ingest.ask("/v1/batch", { batch });
    assert.deepEqual([status, json.accepted], [200, 2]);
    assert.deepEqual(json.rejected, [
      { index: 1, messageId: "bad", code: "missing_event", message: "You must pass 'event'." },
      { index: 2, messageId: null, code: "invalid_call", message: "a call must be a JSON object (got null)" },
      {
        ...{ index: 3, messageId: "7", code: "unknown_type" },
        message: 'type must be one of identify, track, page, screen, group, alias (got "purchase")',
      },
    ]);
    assert.deepEqual(
      ingest.refused.map(({ source, type, messageId, fault }) => [source, type, messageId, fault.code]),
      [
        ["website", "track", "bad", "missing_event"],
        ["website", null, null, "invalid_call"],
        ["website", null, "7", "unknown_type"],
      ],
    );
  });

  it("is answered 200 even when every call is bad", async () => {
    const { status, json } = await startIngest().ask("/v1/batch", { batch: [{}, {}] });
    assert.deepEqual([status, json.accepted, rejectedIn(json).length], [200, 0, 2]);
  });

  it("loses the calls after its 2,500th", async () => {
    const ingest = startIngest();
    const call = { type: "page", userId: "u" };
    const batch = Array.from({ length: 2_503 }, (_, n) => (n === 2_502 ? { ...call, messageId: "last" } : call));
    const { status, json } = await ingest.ask("/v1/batch", { batch });
    assert.deepEqual([status, json.accepted], [200, 2_500]);
    assert.deepEqual(
      rejectedIn(json).map(({ index, messageId, code }) => [index, messageId, code]),
      [
        [2_500, null, "too_many_events"],
        [2_501, null, "too_many_events"],
        [2_502, "last", "too_many_events"],
      ],
    );
  });

  it("is answered with 5,000 of its bad calls at most, and the number of the others", async () => {
    const ingest = startIngest();
    const call = `{"userId":"${"u".repeat(28)}"}`;
    const { json } = await ingest.ask("/v1/batch", `{"batch":[${`${call},`.repeat(9_999)}${call}]}`);
    assert.equal(rejectedIn(json).length, 5_000);
    assert.equal(json.unlisted, 5_000);
    const counted = ingest.refused.reduce((sum, { count = 1 }) => sum + count, 0);
    assert.equal(counted, 10_000);
  });

  it("is answered with at most four times its size, and 4 KB: of bare numbers only some are named, and all counted", async () => {
    for (const [calls, entry] of [
      [5_000, "1"],
      [5_000, "{}"],
      [60_000, "1"],
      [300, "[]"],
    ] as const) {
      const ingest = startIngest();
      const body = `{"batch":[${`${entry},`.repeat(calls - 1)}${entry}]}`;
      const { json, text } = await ingest.ask("/v1/batch", body);
      assert.ok(text.length < 4 * body.length + 4_200, `${text.length} bytes for ${body.length}`);
      const listed = rejectedIn(json).length;
      assert.ok(listed > 20 && listed < calls);
      assert.equal(listed + Number(json.unlisted), calls);
      const counted = ingest.refused.reduce((sum, { count = 1 }) => sum + count, 0);
      assert.equal(counted, calls);
    }
  });

  it("has all of its bad calls named when they have what each call of a library has", async () => {
    const batch = Array.from({ length: 2_500 }, (_, n) => ({ type: "track", messageId: `m-${n}`, userId: "u" }));
    const { json } = await startIngest().ask("/v1/batch", { batch });
    assert.deepEqual([rejectedIn(json).length, json.unlisted], [2_500, undefined]);
  });

  it("has an envelope that cannot make much of little", async () => {
    const batch = Array.from({ length: 2_500 }, () => ({ type: "page", userId: "u" }));
    const { status, json } = await startIngest().ask("/v1/batch", { batch, context: { a: "x".repeat(30_000) } });
    assert.deepEqual([status, json.accepted], [200, 0]);
    assert.deepEqual(
      new Set((json.rejected as { code: string }[]).map(({ code }) => code)),
      new Set(["envelope_too_large"]),
    );
  });

  it("may hold 2,500 calls", async () => {
    const batch = Array.from({ length: 2_500 }, () => ({ type: "page", userId: "u" }));
    const { json } = await startIngest().ask("/v1/batch", { batch });
    assert.deepEqual(json, { success: true, accepted: 2_500, duplicate: 0 });
  });

  it("is at most 500 KB, compressed or not (SPEC.md 8)", async () => {
    const padded = (bytes: number): string => `{"batch":[],"x":"${"x".repeat(bytes - 19)}"}`;
    assert.equal(Buffer.byteLength(padded(512_000)), 512_000);
    assert.equal((await startIngest().ask("/v1/batch", padded(512_000))).status, 200);
    const { status, json } = await startIngest().ask("/v1/batch", padded(512_001));
    assert.deepEqual([status, json.code], [400, "body_too_large"]);
    const zipped = gzipSync(padded(512_001));
    const headers = { "content-encoding": "gzip", "content-length": String(zipped.byteLength) };
    assert.equal((await startIngest().ask("/v1/batch", zipped, { headers })).json.code, "body_too_large");
  });
});

describe("a store that cannot take calls", () => {
  const full = fault("store_full", "the outbox is full", 10_000);

  it("is answered 503, and when to come back", async () => {
    for (const [path, body] of [["/v1/track", TRACK] as const, ["/v1/batch", { batch: [TRACK, {}] }] as const]) {
      const ingest = startIngest({ accept: async () => full });
      const { status, headers, json } = await ingest.ask(path, body);
      assert.deepEqual([status, json.code, json.success], [503, "store_full", false]);
      assert.deepEqual([headers.get("retry-after"), headers.get("x-ratelimit-reset")], ["10", "10"]);
      const about = { source: "website", type: null, messageId: null, count: 1 };
      assert.deepEqual(ingest.refused.at(-1), { ...about, fault: full });
    }
  });
});

describe("a body that comes too slowly", () => {
  it("is answered 408, which clients try again", async () => {
    const ingest = startIngest();
    const { request, send } = startUpload({ authorization: basic(`${KEY}:`) });
    const asking = ingest.send(new Request("http://127.0.0.1:8080/v1/track", request));
    send("{");
    await ingest.clock.advance("65s");
    const { status, json } = await asking;
    assert.deepEqual([status, json.code], [408, "body_too_slow"]);
  });
});

describe("the envelope of a batch", () => {
  it("gives its calls what they have in common", async () => {
    const ingest = startIngest();
    const common = { context: { a: 1 }, integrations: { All: false }, sentAt: "2026-11-20T12:00:00.000Z" };
    await ingest.ask("/v1/batch", { batch: [TRACK], ...common, writeKey: "k", sequence: 7 });
    const [event] = ingest.accepted[0]?.events ?? [];
    assert.deepEqual({ context: event?.context, integrations: event?.integrations, sentAt: event?.sentAt }, common);
  });

  it("may have nothing to give, or nothing of the right type", async () => {
    for (const value of [undefined, null, 7, [], {}]) {
      const ingest = startIngest();
      await ingest.ask("/v1/batch", { batch: [TRACK], context: value, integrations: value, sentAt: value });
      const [event] = ingest.accepted[0]?.events ?? [];
      assert.deepEqual([event?.context, event?.integrations, event?.sentAt], [undefined, undefined, undefined]);
    }
  });

  it("is refused without a batch in it", async () => {
    const bodies: readonly (readonly [unknown, string])[] = [
      [{ calls: [] }, "batch must be an array of calls (got nothing)"],
      [{ batch: {} }, "batch must be an array of calls (got an object)"],
      [{ batch: "[]" }, "batch must be an array of calls (got a string)"],
      [[], "a batch must be a JSON object (got an array)"],
      [null, "a batch must be a JSON object (got null)"],
      ["x", "a batch must be a JSON object (got a string)"],
    ];
    for (const [body, message] of bodies) {
      const { status, json } = await startIngest().ask("/v1/batch", JSON.stringify(body));
      assert.deepEqual([status, json.code, json.message], [400, "invalid_request", message]);
    }
  });
});
