import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startIngest, type TestIngest } from "./make.ts";

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

  it("is what a trusted proxy says that was asked, and nobody else", async () => {
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

  it("is what a trusted proxy says, and nobody else", async () => {
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
