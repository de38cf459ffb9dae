import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bearerToken, isSameToken, pathOf } from "../../src/http/request.ts";
import { Secret } from "../../src/model/secret.ts";

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

describe("a token", () => {
  it("is the same only when every character is", () => {
    const secret = new Secret("s3cret-é");
    assert.equal(isSameToken("s3cret-é", secret), true);
    for (const other of ["", "s3cret-e", "S3cret-é", "s3cret-é ", "s3cret", "s3cret-éé"]) {
      assert.equal(isSameToken(other, secret), false, other);
    }
  });
});

describe("the token of a request", () => {
  function tokenOf(authorization: string | null): string | null {
    const headers: Record<string, string> = authorization === null ? {} : { authorization };
    return bearerToken(new Request("http://127.0.0.1/", { headers }));
  }

  it("stands behind Bearer, in any case of letters", () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) assert.equal(tokenOf(`${scheme} t0ken`), "t0ken");
  });

  it("is nowhere else", () => {
    for (const header of [null, "", "Bearer", "Bearer ", "t0ken", "Basic t0ken", "Token t0ken", "Bearert0ken"]) {
      assert.equal(tokenOf(header), null, String(header));
    }
  });
});
