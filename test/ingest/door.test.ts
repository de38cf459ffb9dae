import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createAllowsOrigin, createProxies } from "../../src/ingest/door.ts";
import { startIngest } from "./make.ts";

type From = { readonly peer?: string | null; readonly overSocket?: boolean; readonly forwarded?: string };

function addressOf(trusted: readonly string[], from: From): string | null {
  const { peer = "10.0.0.1", overSocket = false, forwarded } = from;
  const headers: Record<string, string> = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  const request = new Request("http://a/", { headers });
  return createProxies(trusted, () => {}).addressOf(request, { address: peer, overSocket });
}

const PROXIES = ["10.0.0.0/8", "2001:db8:1::/48"];

describe("the address of a client", () => {
  it("is that of its connection where there is no proxy", () => {
    assert.equal(addressOf([], {}), "10.0.0.1");
    assert.equal(addressOf(PROXIES, {}), "10.0.0.1");
  });

  it("is never what it says itself", () => {
    assert.equal(addressOf([], { forwarded: "203.0.113.7" }), "10.0.0.1");
    assert.equal(addressOf(PROXIES, { peer: "198.51.100.1", forwarded: "203.0.113.7" }), "198.51.100.1");
  });

  it("is the right-most that no trusted proxy has", () => {
    const forwarded = "1.1.1.1, 203.0.113.7, 10.1.1.1,10.2.2.2";
    assert.equal(addressOf(PROXIES, { forwarded }), "203.0.113.7");
    assert.equal(addressOf(["10.0.0.1"], { forwarded }), "10.2.2.2");
  });

  it("is the left-most where all are trusted proxies", () => {
    assert.equal(addressOf(PROXIES, { forwarded: "10.9.9.9, 10.1.1.1" }), "10.9.9.9");
  });

  it("is unknown where a proxy does not know it, and never that of the proxy", () => {
    for (const forwarded of [
      "unknown",
      "203.0.113.7, unknown",
      "203.0.113.7, 1",
      "203.0.113.7, 0x7f.1",
      "x, 10.1.1.1",
    ]) {
      assert.equal(addressOf(PROXIES, { forwarded }), null, forwarded);
    }
  });

  it("is found beside empty items, and is the proxy's own if it names none", () => {
    assert.equal(addressOf(PROXIES, { forwarded: "203.0.113.7, , " }), "203.0.113.7");
    assert.equal(addressOf(PROXIES, { forwarded: ", " }), "10.0.0.1");
  });

  it("may be IPv6, and may come with a port", () => {
    assert.equal(addressOf(PROXIES, { forwarded: "2001:DB8:0:0::7" }), "2001:db8::7");
    assert.equal(addressOf(PROXIES, { forwarded: "[2001:db8::7]:4711" }), "2001:db8::7");
    assert.equal(addressOf(PROXIES, { forwarded: "[2001:db8::7]" }), "2001:db8::7");
    assert.equal(addressOf(PROXIES, { forwarded: "203.0.113.7:4711" }), "203.0.113.7");
    assert.equal(addressOf(PROXIES, { peer: "2001:db8:1:2::3", forwarded: "203.0.113.7" }), "203.0.113.7");
  });

  it("is IPv4 where IPv4 came over an IPv6 socket", () => {
    assert.equal(addressOf(PROXIES, { forwarded: "::ffff:203.0.113.7, ::ffff:10.1.1.1" }), "203.0.113.7");
  });

  it("is what a proxy on a Unix socket says, and else unknown", () => {
    assert.equal(addressOf([], { peer: null, overSocket: true, forwarded: "203.0.113.7" }), "203.0.113.7");
    assert.equal(addressOf([], { peer: null, overSocket: true }), null);
  });

  it("is unknown once a connection is gone, which is then no proxy", () => {
    assert.equal(addressOf([], { peer: null, forwarded: "203.0.113.7" }), null);
    assert.equal(addressOf(PROXIES, { peer: null, forwarded: "203.0.113.7" }), null);
  });

  it("is that of a proxy that is not listed, which is reported once", () => {
    const doubted: string[] = [];
    const proxies = createProxies(["10.0.0.0/8"], (address) => void doubted.push(address));
    const forwarded = new Request("http://a/", { headers: { "x-forwarded-for": "203.0.113.7" } });
    const plain = new Request("http://a/");
    const asked = [
      ...([
        [plain, "127.0.0.1"],
        [forwarded, "198.51.100.1"],
        [forwarded, "10.0.0.1"],
        [forwarded, null],
      ] as const),
      ...([
        [forwarded, "192.168.1.7"],
        [forwarded, "127.0.0.1"],
      ] as const),
    ];
    const addresses = asked.map(([request, address]) =>
      proxies.addressOf(request, { address, overSocket: address === null }),
    );
    assert.deepEqual(addresses, [
      "127.0.0.1",
      "198.51.100.1",
      "203.0.113.7",
      "203.0.113.7",
      "192.168.1.7",
      "127.0.0.1",
    ]);
    assert.deepEqual(doubted, ["192.168.1.7"]);
  });

  it("is one of those that were named, whatever the header says", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string())), (hops) => {
        const forwarded = hops.join(", ").replace(/[^\x20-\x7e]/g, "");
        const address = addressOf(PROXIES, { forwarded }) ?? "";
        assert.match(address, /^[\d.]+$|^[\da-f:.]+$|^$/);
      }),
    );
  });
});

const ORIGIN = "https://shop.example.com";
const CALL = { userId: "u1", event: "E" };

describe("a browser that asks before it sends", () => {
  it("is answered 204 on each path, with all that the libraries send", async () => {
    const ingest = startIngest();
    for (const path of ["/v1/t", "/v1/batch", "/v1/m", "/v1/projects/website-key/settings", "/beacon/v1/batch", "/x"]) {
      const { status, headers, text } = await ingest.ask(path, "", { method: "OPTIONS", headers: { origin: ORIGIN } });
      assert.deepEqual([status, text], [204, ""], path);
      assert.equal(headers.get("access-control-allow-origin"), ORIGIN);
      assert.equal(headers.get("access-control-allow-methods"), "GET, POST");
      const allowed = headers.get("access-control-allow-headers")?.split(", ") ?? [];
      for (const header of ["authorization", "content-type", "x-retry-count"]) assert.ok(allowed.includes(header));
      assert.equal(headers.get("access-control-max-age"), "86400");
      assert.equal(headers.get("vary"), "Origin");
      // navigator.sendBeacon with a typed body asks for it.
      assert.equal(headers.get("access-control-allow-credentials"), "true");
    }
  });

  it("gets no leave for a page that may not send", async () => {
    const ingest = startIngest({ corsOrigins: ["https://other.example.com"] });
    const { status, headers } = await ingest.ask("/v1/t", "", { method: "OPTIONS", headers: { origin: ORIGIN } });
    assert.deepEqual([status, headers.get("access-control-allow-origin")], [204, null]);
  });

  it("may be a program that only looks which methods there are", async () => {
    const { status, headers } = await startIngest().ask("/v1/t", "", { method: "OPTIONS" });
    assert.deepEqual([status, headers.get("allow")], [204, "POST"]);
  });
});

describe("a page", () => {
  it("can read every answer, errors too, and when to come again", async () => {
    const ingest = startIngest();
    const headers = { origin: ORIGIN };
    const answers = [
      await ingest.ask("/v1/t", CALL, { headers }),
      await ingest.ask("/v1/t", "{", { headers }),
      await ingest.ask("/v1/t", CALL, { headers: { ...headers, authorization: null } }),
      await ingest.ask("/nowhere", CALL, { headers }),
      await ingest.ask("/v1/projects/website-key/settings", "", { method: "GET", headers }),
      await ingest.ask("/v1/m", "", { headers }),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400, 401, 404, 200, 200],
    );
    for (const { headers: got } of answers) {
      assert.equal(got.get("access-control-allow-origin"), ORIGIN);
      assert.equal(got.get("access-control-expose-headers"), "Retry-After, X-RateLimit-Reset");
      assert.match(got.get("vary") ?? "", /Origin/);
    }
  });

  it("that may not send is refused, counted, and named to the operator", async () => {
    const ingest = startIngest({ corsOrigins: ["https://other.example.com"] });
    const { status, headers, json } = await ingest.ask("/v1/t", CALL, { headers: { origin: ORIGIN } });
    assert.deepEqual([status, json.code], [403, "forbidden_origin"]);
    assert.equal(headers.get("access-control-allow-origin"), null);
    assert.equal(json.message, `pages of "${ORIGIN}" may not send calls; list their origin in ingest.corsOrigins`);
    assert.equal(ingest.rejections.newest(1)[0]?.from.origin, ORIGIN);
    assert.deepEqual(ingest.accepted, []);
  });

  it("is what the rule is about: a program sends no origin, and gets no such headers", async () => {
    const { status, headers } = await startIngest({ corsOrigins: [] }).ask("/v1/t", CALL);
    assert.deepEqual([status, headers.get("access-control-allow-origin")], [200, null]);
  });
});

describe("the origins that may send", () => {
  const allows = (origins: readonly string[], origin: string): boolean => createAllowsOrigin(origins)(origin);

  it("are all of them with a star", () => {
    for (const origin of [ORIGIN, "null", "capacitor://localhost"]) assert.ok(allows(["*"], origin));
  });

  it("are those that are listed, in any case of letters", () => {
    const origins = ["https://a.example", "http://localhost:3000", "null"];
    for (const origin of [...origins, "HTTPS://A.example"]) assert.ok(allows(origins, origin), origin);
    for (const origin of ["http://a.example", "https://a.example:8443", "https://b.a.example", "https://a.example.b"]) {
      assert.ok(!allows(origins, origin), origin);
    }
  });

  it("are all hosts below a domain with a star before it, but not the domain itself", () => {
    const origins = ["https://*.example.com"];
    for (const origin of ["https://a.example.com", "https://a.b.example.com"])
      assert.ok(allows(origins, origin), origin);
    for (const origin of [
      ...["https://example.com", "https://.example.com", "https://aexample.com", "http://a.example.com"],
      ...["https://a.example.com.evil.org", "https://a.example.com:8443"],
    ]) {
      assert.ok(!allows(origins, origin), origin);
    }
  });

  it("are none if none is listed", () => assert.ok(!allows([], ORIGIN)));
});
