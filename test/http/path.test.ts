import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pathOf } from "../../src/http/request.ts";

describe("the path of a URL", () => {
  it("ends before the query, and has no slash at its end", () => {
    const paths = {
      "http://a/v1/track": "/v1/track",
      "https://a:8080/v1/track/": "/v1/track",
      "http://[::1]:8080/v1/track?writeKey=a/b": "/v1/track",
      "http://a/v1/track/?x": "/v1/track",
      "http://a/": "",
    };
    for (const [url, path] of Object.entries(paths)) assert.equal(pathOf(url), path, url);
  });

  it("can be had of a URL that cannot be parsed", () => {
    assert.equal(pathOf("http://a:99999/metrics"), "/metrics");
  });
});
