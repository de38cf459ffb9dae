import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { CALL_TYPES } from "../../src/model/event.ts";
import { FAULT_STATUS } from "../../src/model/fault.ts";
import { anyObject, anyText } from "../model/make.ts";
import { SLOW } from "../slow.ts";
import { startIngest } from "./make.ts";

/** What an HTTP server lets through. */
const anyHeader = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,30}[\x21-\x7e])?$/);

const CALL = { userId: "u1", event: "E", groupId: "g1", previousId: "p1" };

describe("the paths", () => {
  for (const type of CALL_TYPES) {
    it(`take a ${type} call, with and without a slash at the end`, async () => {
      const ingest = startIngest();
      for (const path of [`/v1/${type}`, `/v1/${type}/`, `/v1/${type}?beacon=1`]) {
        const { status, json } = await ingest.ask(path, CALL);
        assert.deepEqual([status, json], [200, { success: true, accepted: 1, duplicate: 0 }]);
      }
      assert.deepEqual(
        ingest.accepted.map(({ events }) => events[0]?.type),
        [type, type, type],
      );
    });
  }

  it("have short names for browsers", async () => {
    const ingest = startIngest();
    for (const letter of ["i", "t", "p", "s", "g", "a"]) {
      assert.equal((await ingest.ask(`/v1/${letter}`, CALL)).status, 200);
    }
    assert.deepEqual(
      ingest.accepted.map(({ events }) => events[0]?.type),
      CALL_TYPES,
    );
  });

  it("take a batch under three names and RudderStack's, with and without a slash at the end", async () => {
    const ingest = startIngest();
    const paths = ["/v1/batch", "/v1/import", "/v1/b", "/beacon/v1/batch"];
    for (const path of [...paths, ...paths.map((path) => `${path}/`)]) {
      const { status, json } = await ingest.ask(path, { batch: [{ ...CALL, type: "page" }] });
      assert.deepEqual([status, json.accepted], [200, 1], path);
    }
    assert.equal(ingest.accepted.length, 8);
  });

  it("take what browser libraries measure of themselves, and throw it away", async () => {
    const ingest = startIngest();
    const { status, json } = await ingest.ask("/v1/m", { series: [] }, { headers: { authorization: null } });
    assert.deepEqual([status, json], [200, { success: true }]);
    assert.deepEqual([ingest.accepted, ingest.refused], [[], []]);
  });

  for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH"]) {
    it(`take no ${method}`, async () => {
      const ingest = startIngest();
      for (const path of ["/v1/track", "/v1/track/", "/v1/batch"]) {
        const { status, headers, json } = await ingest.ask(path, CALL, { method });
        assert.deepEqual([status, headers.get("allow")], [405, "POST"]);
        if (method !== "HEAD") assert.equal(json.code, "method_not_allowed");
      }
      assert.equal(ingest.accepted.length, 0);
      assert.equal(ingest.refused.length, 3);
    });
  }

  it("are all that there is", async () => {
    const ingest = startIngest();
    for (const path of [
      "/",
      "/v1",
      "/v1/",
      "/v1/tracks",
      "/v1/track/x",
      "/v1//track",
      "/V1/track",
      "/v2/track",
      "/v1/delete",
    ]) {
      const { status, json } = await ingest.ask(path, CALL);
      assert.deepEqual([status, json.code], [404, "not_found"], path);
    }
    assert.equal(ingest.accepted.length, 0);
  });

  it("that do not exist are told to the operator when something was sent there, not when somebody only looked", async () => {
    const ingest = startIngest();
    await ingest.ask("/favicon.ico", "", { method: "GET" });
    assert.deepEqual(ingest.refused, []);
    await ingest.ask("/v1/tracks", CALL);
    assert.deepEqual(
      ingest.rejections.newest(9).map(({ fault }) => fault.code),
      ["not_found"],
    );
  });

  it("are named to whoever asks for another, whose own is cut", async () => {
    const { json } = await startIngest().ask(`/${"x".repeat(500)}`, CALL);
    assert.equal(
      json.message,
      `nothing is at /${"x".repeat(99)}; calls are taken at /v1/identify, /v1/track, /v1/page, /v1/screen, ` +
        "/v1/group, /v1/alias and /v1/batch",
    );
  });

  it("are counted by the status of their answer", async () => {
    const ingest = startIngest();
    await ingest.ask("/v1/track", CALL);
    await ingest.ask("/v1/track", {});
    await ingest.ask("/nowhere", CALL);
    assert.deepEqual(ingest.counted, [200, 400, 404]);
  });
});

describe("an answer to what went wrong", () => {
  it("has the shape that clients know, whatever it was", async () => {
    const ingest = startIngest();
    const answers = [
      await ingest.ask("/v1/track", "{"),
      await ingest.ask("/v1/track", {}),
      await ingest.ask("/v1/track", CALL, { headers: { authorization: "" } }),
      await ingest.ask("/v1/track", CALL, { method: "GET" }),
      await ingest.ask("/nowhere", CALL),
    ];
    for (const { status, headers, json } of answers) {
      assert.ok(status >= 400);
      assert.equal(headers.get("content-type"), "application/json");
      assert.equal(json.success, false);
      assert.ok(typeof json.code === "string" && typeof json.message === "string" && json.error === json.message);
    }
  });

  it("does not come from a bug, whatever bytes are at the door: it has a code, and is never a 500", SLOW, async () => {
    const call = fc.tuple(anyText, anyObject).map(([userId, properties]) => ({ userId, event: "E", properties }));
    const json = fc.oneof(
      call,
      anyObject,
      fc.jsonValue(),
      fc.record({ batch: fc.array(fc.oneof(call, fc.jsonValue())) }),
    );
    const bytes = fc.oneof(
      json.map((value) => Buffer.from(JSON.stringify(value))),
      fc.uint8Array({ maxLength: 200 }),
    );
    const path = fc.constantFrom("/v1/track", "/v1/i", "/v1/batch", "/v1/b", "/v1/page/", "/", "/v1/%", "/v1/%ff");
    const authorization = fc.constantFrom(undefined, null, "Basic", "Bearer x");
    const headers = fc.record(
      {
        ...{ authorization, origin: anyHeader, "user-agent": anyHeader, "x-write-key": anyHeader, host: anyHeader },
        "content-encoding": fc.constantFrom("gzip", "", "identity", "br"),
        "content-type": fc.constantFrom("text/plain", "application/x-www-form-urlencoded"),
        "x-forwarded-for": fc.oneof(anyHeader, fc.ipV4(), fc.ipV6()),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(path, bytes, headers, async (path, body, headers) => {
        const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
        const { status, json } = await startIngest({ trustedProxies: ["192.0.2.0/24"] }).ask(path, body, {
          headers: given as Record<string, string | null>,
        });
        assert.notEqual(status, 500);
        assert.ok(status === 200 ? json.success === true : String(json.code) in FAULT_STATUS, JSON.stringify(json));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is an image where one was asked for, whatever the query says", SLOW, async () => {
    const key = fc.constantFrom(
      "data",
      "writeKey",
      "userId",
      "event",
      "properties.a",
      "properties.a.b",
      "__proto__.x",
      "a..b",
    );
    const query = fc.array(fc.tuple(fc.oneof(key, fc.string()), fc.oneof(fc.string(), fc.base64String())));
    await fc.assert(
      fc.asyncProperty(query, async (pairs) => {
        const { status, headers } = await startIngest().ask(`/v1/pixel/track?${new URLSearchParams(pairs)}`, "", {
          method: "GET",
        });
        assert.deepEqual([status, headers.get("content-type")], [200, "image/gif"]);
      }),
      { numRuns: 500 },
    );
  });
});
