import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { baseOf, readBase } from "../../src/cli/reach.ts";

function reach(host: string, port = 8080): string | null {
  return baseOf({ kind: "tcp", host, port });
}

describe("a listener, as a command on the same machine reaches it", () => {
  it("is at its address", () => {
    assert.equal(reach("127.0.0.1"), "http://127.0.0.1:8080");
    assert.equal(reach("events.example.com"), "http://events.example.com:8080");
    assert.equal(reach("fe80::1"), "http://[fe80::1]:8080");
    assert.equal(baseOf({ kind: "unix", path: "/run/f.sock" }), "unix:/run/f.sock");
  });

  it("is on loopback if it listens on all addresses", () => {
    assert.equal(reach("0.0.0.0"), "http://127.0.0.1:8080");
    for (const any of ["::", "::0", "0:0:0:0:0:0:0:0"]) assert.equal(reach(any), "http://[::1]:8080");
    assert.equal(reach("::1"), "http://[::1]:8080");
  });

  it("is nowhere if the system chooses its port", () => {
    assert.equal(reach("127.0.0.1", 0), null);
  });
});

describe("where a daemon is, as a person writes it", () => {
  it("is an address, a path below a proxy, or a socket", () => {
    assert.equal(readBase("http://127.0.0.1:8081/"), "http://127.0.0.1:8081");
    assert.equal(readBase("https://example.com/fairlead/"), "https://example.com/fairlead");
    assert.equal(readBase("unix:/run/f.sock"), "unix:/run/f.sock");
  });

  it("is nothing else, and holds no password", () => {
    for (const text of [
      "127.0.0.1:8081",
      "ftp://a",
      "http://",
      "unix:f",
      "http://a/?b",
      "http://a/#b",
      "http://u:p@a/",
    ]) {
      assert.equal(readBase(text), null, text);
    }
  });
});
