import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ORIGIN } from "../../src/config/text-rules.ts";

describe("an origin", () => {
  const right = [
    "*",
    "null",
    "https://example.com",
    "https://Example.com",
    "http://localhost:3000",
    "http://[::1]:80a",
  ];
  const apps = ["capacitor://localhost", "ionic://localhost", "chrome-extension://abc", "app://a.b:1", "file://"];
  const patterns = ["https://*.example.com", "http://*.localhost:8080", "https://xn--mller-kva.de", "https://a_b.com"];
  for (const text of [...right.slice(0, 5), "http://[::1]:3000", ...apps, ...patterns]) {
    it(`takes ${text}`, () => assert.equal(ORIGIN.fault(text), null));
  }

  const wrong: readonly [text: string, fault: RegExp][] = [
    ["example.com", /^must be "\*" or an origin, as in https:\/\/example\.com, /],
    ["*.example.com", /^must be "\*" or an origin/],
    ["localhost:3000", /^must be "\*" or an origin/],
    ["NULL", /^must be "\*" or an origin/],
    ["https://", /^must be "\*" or an origin/],
    ["https://exam ple.com", /^must be "\*" or an origin/],
    ["https://example.com/", /^must not have a path: leave out all that follows the host, a slash too/],
    ["https://example.com/a", /^must not have a path/],
    ["https://example.com?a", /^must not have a path/],
    ["capacitor://localhost/", /^must not have a path/],
    ["https://example.com\n", /^must/],
    ["https://a:b@example.com", /^must not contain a user name or password/],
    ["https://example.com:443", /^must not have the default port of its scheme/],
    ["http://example.com:80", /^must not have the default port/],
    ["https://*.example.com:443", /^must not have the default port/],
    ["https://müller.de", /^must have its host as browsers send it: in ASCII/],
    ["http://127.1", /^must have its host as browsers send it/],
    ["http://[0:0::1]", /^must have its host as browsers send it/],
    ["https://*", /^may have a \* only for all subdomains of a host, as in https:\/\/\*\.example\.com/],
    ["https://*.", /^may have a \* only/],
    ["https://*example.com", /^may have a \* only/],
    ["https://a.*.com", /^may have a \* only/],
    ["https://*.*.com", /^may have a \* only/],
    ["https://*.127.0.0.1", /^must be "\*" or an origin/],
    ["app://", /^must have a host after :\/\//],
    ["app://*.a", /^must have a host after :\/\/, as the app sends it; a \* can only stand in https/],
  ];
  for (const [text, fault] of wrong) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.match(ORIGIN.fault(text) ?? "", fault));
  }

  it("takes the origin of any page as its browser sends it, and nothing that an editor would mark", () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ["http", "https"] }), (page) => {
        const { origin } = new URL(page);
        assert.equal(ORIGIN.fault(origin), null);
        assert.match(origin, ORIGIN.pattern);
      }),
    );
    for (const text of [...right.slice(0, 5), ...apps, ...patterns]) assert.match(text, ORIGIN.pattern);
  });
});
