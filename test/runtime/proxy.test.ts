import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { proxyFor } from "../../src/runtime/post-reply.ts";

const URL_A = "https://a.example.com/hooks";
const HTTPS_PROXY = "http://user:pass@proxy.example.com:3128";

/** Whether a POST to the URL is an exception in NO_PROXY. */
function isExcepted(url: string, list: string): boolean {
  return proxyFor(url, { ALL_PROXY: HTTPS_PROXY, NO_PROXY: list }) === null;
}

describe("the proxy of a URL", () => {
  it("is the one that the environment names for its scheme, without user name and password", () => {
    assert.equal(proxyFor(URL_A, { HTTPS_PROXY }), "proxy.example.com:3128");
    assert.equal(proxyFor(URL_A, { HTTP_PROXY: HTTPS_PROXY }), null);
    assert.equal(proxyFor("http://a.example.com/", { HTTP_PROXY: HTTPS_PROXY }), "proxy.example.com:3128");
    assert.equal(proxyFor("http://a.example.com/", { HTTPS_PROXY }), null);
    assert.equal(proxyFor("http://a.example.com/", { ALL_PROXY: HTTPS_PROXY }), "proxy.example.com:3128");
    assert.equal(proxyFor(URL_A, {}), null);
  });

  it("is the one in lower case if there are two, and none of an empty one", () => {
    assert.equal(proxyFor(URL_A, { HTTPS_PROXY, https_proxy: "http://b:1" }), "b:1");
    assert.equal(proxyFor(URL_A, { HTTPS_PROXY, https_proxy: "" }), "proxy.example.com:3128");
    assert.equal(proxyFor(URL_A, { https_proxy: "c:8080" }), "c:8080");
  });

  it("is never shown as it stands if it cannot be read: there may be a password in it", () => {
    assert.equal(proxyFor(URL_A, { HTTPS_PROXY: "::user:pass" }), "of HTTPS_PROXY");
  });

  for (const [list, excepted, others] of [
    ["*", [URL_A, "http://10.0.0.1/"], []],
    ["example.com", [URL_A, "https://example.com/"], ["https://anexample.com/", "https://example.com.org/"]],
    [".example.com", [URL_A, "https://example.com/"], ["https://anexample.com/"]],
    ["*.Example.com", [URL_A], ["https://b.example.org/"]],
    ["b.example.org, a.example.com", [URL_A], ["https://c.example.org/"]],
    ["b.example.org a.example.com", [URL_A], []],
    ["a.example.com:443", [URL_A], ["https://a.example.com:8443/", "http://a.example.com/"]],
    ["a.example.com:80", ["http://a.example.com/"], [URL_A]],
    ["10.0.0.1", ["http://10.0.0.1/"], ["http://10.0.0.10/", "http://110.0.0.1/"]],
    ["10.0.0.0/8", ["http://10.9.9.9/"], ["http://11.0.0.1/", URL_A, "http://[::1]/"]],
    ["[::1]:8080,fd00::/8", ["http://[::1]:8080/", "http://[fd12::1]/"], ["http://[::1]/", "http://10.0.0.1/"]],
    ["::1", ["http://[::1]/"], ["http://[::2]/"]],
    ["10.0.0.0/64,x/y", [], ["http://10.0.0.1/", URL_A]],
    ["", [], [URL_A]],
  ] as const) {
    it(`is none for what NO_PROXY=${list} means, and for nothing else`, () => {
      for (const url of excepted) assert.ok(isExcepted(url, list), url);
      for (const url of others) assert.ok(!isExcepted(url, list), url);
    });
  }
});
