import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { MB } from "../../src/model/units.ts";
import { makeSource } from "../flow/make.ts";
import { basic, SOURCES, startIngest } from "./make.ts";

const TRACK = { type: "track", userId: "u1", event: "E" };

/** Bytes in use once all garbage is gone, where the runtime can be told to look. */
function memory(): number {
  if (typeof Bun === "undefined") return 0;
  Bun.gc(true);
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
}

describe("a refusal", () => {
  it("can be looked up: when, why, from whom, and how it began", async () => {
    const ingest = startIngest();
    const headers = { "user-agent": "agent/1.0", origin: "https://shop.example" };
    await ingest.ask("/v1/track/?beacon=1", { userId: "u1", messageId: "m1" }, { headers });
    assert.deepEqual(ingest.rejections.newest(10), [
      {
        ...{ source: "website", type: "track", messageId: "m1", at: ingest.clock.wall() },
        fault: { code: "missing_event", message: "You must pass 'event'." },
        from: { address: "192.0.2.1", userAgent: "agent/1.0", origin: "https://shop.example" },
        request: "POST /v1/track",
        sample: '{"userId":"u1","messageId":"m1"}',
      },
    ]);
  });

  it("is what each bad call of a batch holds, and not the good ones", async () => {
    const ingest = startIngest();
    await ingest.ask("/v1/batch", { batch: [TRACK, { type: "x" }, TRACK, { type: "page" }] });
    assert.deepEqual(
      ingest.rejections.newest(10).map(({ sample, type, fault }) => [sample, type, fault.code]),
      [
        ['{"type":"page"}', "page", "missing_id"],
        ['{"type":"x"}', null, "unknown_type"],
      ],
    );
  });

  it("is the beginning of a body that could not be read", async () => {
    const ingest = startIngest();
    await ingest.ask("/v1/track", `{"event": ${"x".repeat(5_000)}`);
    const [{ sample = "" } = {}] = ingest.rejections.newest(1);
    assert.equal(sample.length, 1_024);
    assert.ok(sample.startsWith('{"event": xxx'));
  });

  it("comes the newest first, and so many as are asked for", async () => {
    const ingest = startIngest();
    for (const messageId of ["m1", "m2", "m3"]) await ingest.ask("/v1/track", { messageId });
    assert.deepEqual(
      ingest.rejections.newest(2).map(({ messageId }) => messageId),
      ["m3", "m2"],
    );
  });

  it("is kept for the last hundred, of which one request has ten at most", async () => {
    const ingest = startIngest();
    await ingest.ask("/v1/batch", { batch: Array.from({ length: 500 }, () => ({})) });
    assert.equal(ingest.rejections.newest(1_000).length, 10);
    assert.equal(ingest.refused.length, 500);
    for (let count = 0; count < 120; count++) await ingest.ask("/v1/track", {});
    assert.equal(ingest.rejections.newest(1_000).length, 100);
  });

  it("shows no write key that stands in a path, a User-Agent or any other place where it does not belong", async () => {
    const sources = [...SOURCES, makeSource({ name: "odd", writeKey: new Secret("odd key/ü-4711") })];
    for (const key of ["website-key", "old-key", "odd key/ü-4711"]) {
      const ingest = startIngest({ sources });
      const inUrl = encodeURIComponent(key);
      const headers = {
        authorization: null,
        "user-agent": `curl/8 ${inUrl} ${basic(key).slice(6)} ${basic(`${key}:`)}`,
      };
      for (const method of ["POST", "PUT", "GET"]) {
        for (const path of [
          `/v1/${inUrl}/track`,
          `/${inUrl}`,
          `/v1/track/${inUrl}`,
          `/v1/projects2/${inUrl}/settings`,
        ]) {
          await ingest.ask(path, { userId: "u1", oops: key }, { method, headers });
        }
      }
      await ingest.ask("/v1/track", { key, userId: "u1" }, { headers });
      await ingest.ask("/v1/track", `{"userId":"${key}", broken`, { headers });
      await ingest.ask("/v1/track", {}, { headers: { ...headers, origin: `https://${inUrl}.example.com` } });
      const kept = ingest.rejections.newest(100);
      assert.equal(kept.length, 7);
      const told = decodeURIComponent(JSON.stringify([kept, ingest.refused]).replaceAll("%3A", ":"));
      assert.ok(!told.includes(key) && !told.includes(basic(`${key}:`).slice(6, 16)), told);
      assert.ok(kept.every(({ from }) => from.userAgent?.startsWith("curl/8 ***")));
      assert.match(told, /POST \/v1\/\*\*\*\/track/);
    }
  });

  it("shows no key that no source has either, where the same request sends it as its own, or a path ends in it", async () => {
    const ingest = startIngest();
    const key = "hunter2-hunter2";
    await ingest.ask(`/v1/track?writeKey=${key}`, {}, { headers: { authorization: null, "user-agent": `app ${key}` } });
    await ingest.ask("/v1/track", {}, { headers: { authorization: basic(`${key}:`), "user-agent": `app ${key}` } });
    await ingest.ask("/v1/track", {}, { headers: { authorization: null, "x-write-key": key, "user-agent": key } });
    await ingest.ask(`/v1/track/${key}`, {}, { headers: { authorization: null } });
    await ingest.ask("/v1/tracks/of-users", {}, { headers: { authorization: null } });
    const kept = ingest.rejections.newest(100);
    assert.equal(kept.length, 5);
    assert.doesNotMatch(JSON.stringify([kept, ingest.refused]), /hunter2/);
    assert.deepEqual(
      kept.slice(0, 2).map(({ request }) => request),
      ["POST /v1/tracks/of-users", "POST /v1/track/***"],
    );
  });

  it("never shows a write key, wherever it is and however the body is broken", async () => {
    const ingest = startIngest();
    const key = "hunter2-hunter2";
    await ingest.ask("/v1/batch", { writeKey: key, batch: 7 }, { headers: { authorization: null } });
    await ingest.ask("/v1/track", { writeKey: "website-key", userId: "u1" }, { headers: { authorization: null } });
    await ingest.ask("/v1/track", `{"writeKey":"${key}", broken`, { headers: { authorization: null } });
    await ingest.ask("/v1/track", `{'write_key' : '${key}' broken`, { headers: { authorization: null } });
    await ingest.ask("/v1/track", {}, { headers: { authorization: basic(`${key}:`) } });
    await ingest.ask(`/v1/pixel/track?writeKey=${key}&data=~`, "", { method: "GET", headers: { authorization: null } });
    await ingest.ask(`/v1/nowhere?writeKey=${key}`, {});
    await ingest.ask("/v1/track", `{\\"writeKey\\":\\"${key}\\", broken`, { headers: { authorization: null } });
    await ingest.ask("/v1/track", `writeKey%22%3A%22${key}%22`, { headers: { authorization: null } });
    for (const method of ["GET", "POST", "PUT"]) {
      for (const path of ["", "/settings", "/settings/", "/other"]) {
        await ingest.ask(`/v1/projects/${key}${path}`, {}, { method, headers: { authorization: null } });
      }
    }
    const inData = [
      { writeKey: key, event: "E" },
      { writeKey: "old-key", event: "E" },
    ].map((call) => JSON.stringify(call));
    for (const data of [...inData, inData[0]?.slice(0, -1) ?? ""]) {
      await ingest.ask(`/v1/pixel/track?data=${btoa(data)}`, "", { method: "GET", headers: { authorization: null } });
    }
    const told = JSON.stringify([ingest.rejections.newest(100), ingest.refused]);
    assert.ok(ingest.rejections.newest(100).length > 18);
    assert.ok(!told.includes("old-key") && !told.includes(btoa(key).slice(4, 12)), told);
    assert.ok(!told.includes(key) && !told.includes("website-key"), told);
    assert.ok(told.includes('writeKey\\":\\"***'));
  });

  it("shows no address that its source must not pass on", async () => {
    const sources = [
      makeSource({ ip: "truncate" }),
      makeSource({ name: "app", writeKey: new Secret("k2"), ip: "drop" }),
    ];
    const ingest = startIngest({ sources });
    await ingest.ask("/v1/track", {});
    await ingest.ask("/v1/track", {}, { headers: { authorization: basic("k2:") } });
    assert.deepEqual(
      ingest.rejections.newest(2).map(({ from }) => from.address),
      [null, "192.0.2.0"],
    );
    const call = { context: { ip: "198.51.100.7" } };
    await ingest.ask("/v1/track", call);
    await ingest.ask("/v1/track", call, { headers: { authorization: basic("k2:") } });
    // Nobody knows whose it is, so that it is treated as the strictest source wants.
    await ingest.ask("/v1/track", `${JSON.stringify(call)} broken`, { headers: { authorization: null } });
    assert.deepEqual(
      ingest.rejections.newest(3).map(({ from, sample }) => [from.address, sample]),
      [
        [null, '{"context":{"ip":"***"}} broken'],
        [null, '{"context":{"ip":null}}'],
        ["192.0.2.0", '{"context":{"ip":"198.51.100.0"}}'],
      ],
    );
  });

  it("holds no more of a body than it shows", async () => {
    const ingest = startIngest();
    const before = memory();
    // With a character beyond Latin-1 a text takes twice the space.
    for (let count = 0; count < 100; count++) await ingest.ask("/v1/track", `{${"a".repeat(510_000)}€${count}`);
    assert.equal(ingest.rejections.newest(100).length, 100);
    assert.ok(memory() - before < 20 * MB, `${Math.round((memory() - before) / MB)} MB more`);
  });

  it("is written out only so far, however deep it is", async () => {
    const ingest = startIngest();
    await ingest.ask("/v1/track", `{"userId":"u","event":"E","properties":${'{"a":'.repeat(500)}1${"}".repeat(501)}`);
    const [{ fault, sample = "" } = {}] = ingest.rejections.newest(1);
    assert.equal(fault?.code, "too_deep");
    assert.match(sample, /\{"a":"…"\}+$/);
  });
});

describe("a daemon that stops", () => {
  it("refuses calls on open connections, and says when to retry", async () => {
    const ingest = startIngest();
    ingest.stopping = true;
    const { status, headers, json } = await ingest.ask("/v1/track", TRACK);
    assert.deepEqual([status, json.code], [503, "stopping"]);
    assert.deepEqual([headers.get("retry-after"), headers.get("connection")], ["1", "close"]);
    assert.deepEqual(ingest.accepted, []);
  });
});
