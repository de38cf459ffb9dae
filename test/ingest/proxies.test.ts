import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createProxies } from "../../src/ingest/door.ts";

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

  it("is found beside empty items, and is the proxy's own if it names nobody", () => {
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

  it("is unknown once a connection is gone, which makes nobody a proxy", () => {
    assert.equal(addressOf([], { peer: null, forwarded: "203.0.113.7" }), null);
    assert.equal(addressOf(PROXIES, { peer: null, forwarded: "203.0.113.7" }), null);
  });

  it("is that of a proxy that was forgotten, and that is told once", () => {
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
