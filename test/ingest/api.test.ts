import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CALL_TYPES } from "../../src/model/event.ts";
import { startIngest, type TestIngest } from "./make.ts";

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

  it("that do not exist are reported to the operator after a POST, not after a GET", async () => {
    const ingest = startIngest();
    await ingest.ask("/favicon.ico", "", { method: "GET" });
    assert.deepEqual(ingest.refused, []);
    await ingest.ask("/v1/tracks", CALL);
    assert.deepEqual(
      ingest.rejections.newest(9).map(({ fault }) => fault.code),
      ["not_found"],
    );
  });

  it("are listed in the answer to another path, which is cut", async () => {
    const { json } = await startIngest().ask(`/${"x".repeat(500)}`, CALL);
    assert.equal(
      json.message,
      `there is nothing at /${"x".repeat(99)}; send calls to /v1/identify, /v1/track, /v1/page, /v1/screen, ` +
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

  it("are timed until their events are stored", async () => {
    const ingest: TestIngest = startIngest({
      async accept(_source, events) {
        ingest.clock.skip("40ms");
        return events.map(() => ({ kind: "accepted", deliveries: [] }));
      },
    });
    await ingest.ask("/v1/track", CALL);
    await ingest.ask("/v1/track", {});
    assert.deepEqual(ingest.timed, [40, 0]);
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
});

type Api = { readonly apiKey: string; readonly apiHost: string; readonly protocol: string };

async function apiOf(headers: Record<string, string>, ingest: TestIngest = startIngest()): Promise<Api> {
  const { status, json } = await ingest.ask("/v1/projects/website-key/settings", "", { method: "GET", headers });
  assert.equal(status, 200);
  return (json.integrations as Record<string, Api>)["Segment.io"] ?? assert.fail();
}

const TRUSTING = { trustedProxies: ["192.0.2.1"] };

describe("the settings of a source", () => {
  it("are all that a browser library needs to begin", async () => {
    const ingest = startIngest();
    for (const path of ["/v1/projects/website-key/settings", "/v1/projects/website-key/settings/"]) {
      const { status, json } = await ingest.ask(path, "", {
        method: "GET",
        headers: { host: "events.example.com", authorization: null },
      });
      assert.equal(status, 200);
      assert.deepEqual(json, {
        integrations: {
          "Segment.io": { apiKey: "website-key", apiHost: "events.example.com/v1", protocol: "http" },
        },
        plan: { track: { __default: { enabled: true } } },
        metrics: { sampleRate: 0 },
      });
    }
  });

  it("are not for a key that no source has", async () => {
    const ingest = startIngest();
    const ask = (key: string) => ingest.ask(`/v1/projects/${key}/settings`, "", { method: "GET" });
    assert.deepEqual([(await ask("nobody")).status, (await ask("old-key")).status], [401, 401]);
    assert.deepEqual(
      ingest.refused.map(({ fault }) => fault.code),
      ["unknown_write_key", "source_disabled"],
    );
  });

  it("may have an escaped key", async () => {
    const { status } = await startIngest().ask("/v1/projects/app%3Akey/settings", "", { method: "GET" });
    assert.equal(status, 200);
  });
});

describe("the host in the settings", () => {
  it("is the one that was asked, with its port", async () => {
    assert.equal((await apiOf({ host: "10.0.0.5:8080" })).apiHost, "10.0.0.5:8080/v1");
    assert.equal((await apiOf({ host: "[::1]:8080" })).apiHost, "[::1]:8080/v1");
  });

  it("is the one that a trusted proxy forwards, and no one else", async () => {
    const headers = { host: "127.0.0.1:8080", "x-forwarded-host": "events.example.com, 10.0.0.1" };
    assert.equal((await apiOf(headers, startIngest(TRUSTING))).apiHost, "events.example.com/v1");
    assert.equal((await apiOf(headers)).apiHost, "127.0.0.1:8080/v1");
  });

  it("is never something else than a host", async () => {
    for (const host of ['a"b', "a/b", "a b", "a@b", "x".repeat(300)]) {
      assert.equal((await apiOf({ "x-forwarded-host": host }, startIngest(TRUSTING))).apiHost, "localhost/v1", host);
    }
  });
});

describe("the protocol in the settings", () => {
  const HOST = { host: "events.example.com" };

  it("is https with a certificate", async () => {
    const tls = { certFile: "", keyFile: "", cert: "", key: null as never };
    assert.equal((await apiOf(HOST, startIngest({ tls }))).protocol, "https");
  });

  it("is what a trusted proxy says, and no one else", async () => {
    const headers = { ...HOST, "x-forwarded-proto": "https" };
    assert.equal((await apiOf(headers, startIngest(TRUSTING))).protocol, "https");
    assert.equal((await apiOf(headers)).protocol, "http");
  });

  it("is https for a page that came by https: it could not have asked in another way", async () => {
    assert.equal((await apiOf({ ...HOST, origin: "https://shop.example" })).protocol, "https");
    assert.equal((await apiOf({ ...HOST, referer: "https://shop.example/page" })).protocol, "https");
    assert.equal((await apiOf({ ...HOST, origin: "http://shop.example" })).protocol, "http");
  });

  it("is http for such a page on the developer's own machine", async () => {
    for (const host of ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"]) {
      assert.equal((await apiOf({ host, origin: "https://shop.example" })).protocol, "http", host);
    }
  });
});
