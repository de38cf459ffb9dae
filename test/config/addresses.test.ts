import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { NETWORK_PATTERN, parseNetwork } from "../../src/config/addresses.ts";

describe("parseNetwork", () => {
  it("reads addresses and networks, and writes them in their shortest form", () => {
    const forms: readonly [text: string, cidr: string][] = [
      ["127.0.0.1", "127.0.0.1/32"],
      ["10.0.0.0/8", "10.0.0.0/8"],
      ["0.0.0.0/0", "0.0.0.0/0"],
      ["::1", "::1/128"],
      ["FD00:0:0::0/8", "fd00::/8"],
      ["::/0", "::/0"],
    ];
    for (const [text, cidr] of forms) assert.equal(cidrOf(text), cidr);
  });

  it("takes IPv4 that was written as IPv6 for IPv4, as an address is seen on a socket for both", () => {
    assert.equal(cidrOf("::ffff:10.0.0.1"), "10.0.0.1/32");
    assert.equal(cidrOf("::ffff:a00:0/104"), "10.0.0.0/8");
    assert.equal(cidrOf("::ffff:0:0/96"), "0.0.0.0/0");
  });

  it("refuses a network with bits beyond its length, and names both that may be meant", () => {
    assert.equal(
      parseNetwork("10.0.0.1/8"),
      "has bits beyond its first 8: write 10.0.0.0/8 for the whole network, or 10.0.0.1 for the one address",
    );
    assert.match(`${parseNetwork("fd00::1/8")}`, /write fd00::\/8 for the whole network, or fd00::1 for/);
    assert.match(`${parseNetwork("::ffff:10.0.0.1/104")}`, /write 10\.0\.0\.0\/8 for/);
  });

  it("refuses lengths that no address has", () => {
    assert.equal(parseNetwork("10.0.0.0/33"), "must have a number of bits from 0 to 32 after the slash");
    assert.equal(parseNetwork("fd00::/129"), "must have a number of bits from 0 to 128 after the slash");
  });

  it("refuses a zone, which no network has", () => {
    assert.equal(parseNetwork("fe80::1%eth0"), "must not have a zone: leave out % and what follows it");
  });

  const others = ["", "localhost", "10.0.0", "010.0.0.1", "0x7f.1", "10.0.0.0/255.0.0.0", "10.0.0.0/", "127.0.0.1:80"];
  for (const text of [...others, "[::1]", "10.0.0.0/8/8", " 10.0.0.1", "10.0.0.0/-1", "10.0.0.0/8.0", "1::2::3"]) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.match(`${parseNetwork(text)}`, /^must be an address or a network in CIDR form, as in 127\.0\.0\.1/);
    });
  }

  it("reads again what it has written, and takes nothing that an editor would mark", () => {
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4().map((text) => `::ffff:${text}`),
    );
    fc.assert(
      fc.property(address, fc.nat(128), (text, bits) => {
        for (const written of [text, `${text}/${bits}`]) {
          const network = parseNetwork(written);
          if (typeof network === "string") continue;
          assert.deepEqual(parseNetwork(network.cidr), network);
          assert.match(written, NETWORK_PATTERN);
        }
      }),
    );
  });
});

function cidrOf(text: string): string {
  const network = parseNetwork(text);
  return typeof network === "string" ? network : network.cidr;
}
