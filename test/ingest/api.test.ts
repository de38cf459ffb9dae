import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { CALL_TYPES } from "../../src/model/event.ts";
import { FAULT_STATUS } from "../../src/model/fault.ts";
import { anyObject, anyText } from "../model/make.ts";
import { SLOW } from "../slow.ts";
import { startIngest } from "./make.ts";

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

  it("take a batch, with and without a slash at the end", async () => {
    const ingest = startIngest();
    for (const path of ["/v1/batch", "/v1/batch/"]) {
      const { status } = await ingest.ask(path, { batch: [{ ...CALL, type: "page" }] });
      assert.equal(status, 200);
    }
    assert.equal(ingest.accepted.length, 2);
  });

  for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH"]) {
    it(`take no ${method}`, async () => {
      const ingest = startIngest();
      for (const path of ["/v1/track", "/v1/track/", "/v1/batch"]) {
        const { status, json } = await ingest.ask(path, CALL, { method });
        assert.equal(status, 405);
        if (method !== "HEAD") assert.equal(json.code, "method_not_allowed");
      }
      assert.equal(ingest.accepted.length, 0);
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

  it("are named to whoever asks for another, whose own is cut", async () => {
    const { json } = await startIngest().ask(`/${"x".repeat(500)}`, CALL);
    assert.equal(
      json.message,
      `nothing is at /${"x".repeat(99)}; calls are taken at /v1/identify, /v1/track, /v1/page, /v1/screen, ` +
        "/v1/group, /v1/alias, /v1/batch",
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
    const path = fc.constantFrom("/v1/track", "/v1/identify", "/v1/batch", "/v1/page/", "/", "/v1/%", "/v1/%ff");
    const headers = fc.constantFrom({}, { "content-encoding": "gzip" }, { "content-type": "text/plain" });
    await fc.assert(
      fc.asyncProperty(path, bytes, headers, async (path, body, headers) => {
        const { status, json } = await startIngest().ask(path, body, { headers });
        assert.notEqual(status, 500);
        assert.ok(status === 200 ? json.success === true : String(json.code) in FAULT_STATUS, JSON.stringify(json));
      }),
      { numRuns: 500 },
    );
  });
});
