import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkAccess } from "../../src/admin/access.ts";
import type { Listen } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";

const LOOPBACK: Listen = { kind: "tcp", host: "127.0.0.1", port: 8081 };

type Ask = { readonly path?: string; readonly method?: string; readonly headers?: Record<string, string> };

/** The code of the refusal, or null for a request that may pass. */
function ask(request: Ask, { listen = LOOPBACK, token = null as string | null } = {}): string | null {
  const { path = "/metrics", method = "GET", headers = {} } = request;
  const all = { host: "127.0.0.1:8081", ...headers };
  const admin = { listen, token: token === null ? null : new Secret(token) };
  return checkAccess(new Request(`http://127.0.0.1:8081${path}`, { method, headers: all }), admin)?.code ?? null;
}

describe("a web page in the operator's browser", () => {
  it("is refused by its Origin, whatever it asks for and whatever token it has", () => {
    for (const origin of ["https://evil.example.com", "http://127.0.0.1:8081", "null", ""]) {
      for (const path of ["/metrics", "/healthz", "/api/deletions"]) {
        assert.equal(ask({ path, headers: { origin } }), "forbidden_origin");
        const headers = { origin, authorization: "Bearer t" };
        assert.equal(ask({ path, headers }, { token: "t" }), "forbidden_origin");
      }
    }
  });

  it("is refused by its Host, when it has given its own name the address of loopback", () => {
    for (const host of [
      "evil.example.com",
      "evil.example.com:8081",
      "127.0.0.1.evil.example.com",
      "localhost.evil.com",
    ]) {
      assert.equal(ask({ headers: { host } }), "forbidden_host", host);
    }
  });

  it("cannot send a POST that is not JSON, which it could send unasked", () => {
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonp"];
    for (const type of [...types, "text/plain; application/json", "application/json-patch+json"]) {
      const headers = { "content-type": type };
      assert.equal(ask({ method: "POST", headers }), "unsupported_media_type", type);
    }
    assert.equal(ask({ method: "POST" }), "unsupported_media_type");
  });
});

describe("a request with a Host that no URL can have", () => {
  it("is checked like any other: where all addresses are listened on, by its token", () => {
    const headers = { host: "a:99999" };
    const at = (url: string): Request => ({ url, method: "GET", headers: new Headers(headers) }) as Request;
    const admin = { listen: { ...LOOPBACK, host: "0.0.0.0" }, token: new Secret("t") };
    assert.equal(checkAccess(at("http://a:99999/metrics"), admin)?.code, "unauthorized");
    assert.equal(checkAccess(at("http://a:99999/healthz"), admin), null);
  });
});

describe("a POST", () => {
  it("is JSON by its Content-Type, with or without more to it", () => {
    for (const type of [
      "application/json",
      "Application/JSON",
      "application/json; charset=utf-8",
      "application/json ;x",
    ]) {
      assert.equal(ask({ method: "POST", headers: { "content-type": type } }), null, type);
    }
  });
});

describe("the Host of a request", () => {
  function passes(host: string | null, name: string): boolean {
    const listen: Listen = { kind: "tcp", host: name, port: 8081 };
    const headers: Record<string, string> = host === null ? {} : { host };
    const request = new Request("http://127.0.0.1:8081/metrics", { headers });
    return checkAccess(request, { listen, token: null }) === null;
  }

  it("is the listener's, with its port, another, or none: a tunnel has one of its own", () => {
    for (const host of ["127.0.0.1:8081", "127.0.0.1", "127.0.0.1:9999"]) assert.ok(passes(host, "127.0.0.1"), host);
    assert.ok(passes("admin.internal:8081", "admin.internal"));
  });

  it("is any name of loopback for a listener on loopback", () => {
    for (const name of ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"]) {
      for (const host of ["localhost:8081", "127.0.0.1:8081", "127.9.8.7", "[::1]:8081", "[::1]", "LOCALHOST"]) {
        assert.ok(passes(host, name), `${host} on ${name}`);
      }
    }
  });

  it("is not a name of loopback for any other listener", () => {
    for (const host of ["localhost:8081", "127.0.0.1:8081", "[::1]:8081"]) {
      assert.equal(passes(host, "192.0.2.7"), false);
      assert.equal(passes(host, "2001:db8::7"), false);
    }
  });

  it("has brackets around an IPv6 address", () => {
    assert.ok(passes("[2001:db8::7]:8081", "2001:db8::7"));
    assert.ok(passes("[2001:DB8::7]", "2001:db8::7"));
    for (const host of ["2001:db8::7", "[2001:db8::8]:8081", "[2001:db8::7"]) {
      assert.equal(passes(host, "2001:db8::7"), false, host);
    }
  });

  it("may be in any case of letters", () => {
    assert.ok(passes("Admin.Internal:8081", "admin.internal"));
    assert.ok(passes("admin.internal", "ADMIN.internal"));
  });

  it("is refused when it is missing, empty, or almost the listener's", () => {
    for (const host of [
      null,
      "",
      ":8081",
      "127.0.0.1:",
      "127.0.0.1:x",
      "127.0.0.256",
      "127.0.0.1.1",
      "127.1",
      "x127.0.0.1",
      "127.0.0.1.",
      "::1",
    ]) {
      assert.equal(passes(host, "127.0.0.1"), false, String(host));
    }
  });

  it("is anything for a listener on all addresses: the token guards that", () => {
    for (const name of ["0.0.0.0", "::", "[::]"]) assert.ok(passes("anything.example.com", name));
  });

  describe("over a Unix socket", () => {
    const listen: Listen = { kind: "unix", path: "/run/fairlead/admin.sock" };
    const over = (host: string, token: string | null = null) => ask({ headers: { host } }, { listen, token });

    it("is a name of loopback, which curl, nginx and the commands send", () => {
      for (const host of ["localhost", "localhost:8081", "LOCALHOST", "127.0.0.1:9000", "127.1.2.3", "[::1]:9000"]) {
        assert.equal(over(host), null, host);
      }
    });

    it("is the socket's path as clients write it, or nothing: no page can have such a name", () => {
      const { path } = listen;
      for (const host of ["", path, encodeURIComponent(path), encodeURIComponent(path).toLowerCase()]) {
        assert.equal(over(host), null, host);
      }
      const request = new Request("http://localhost/metrics");
      request.headers.delete("host");
      assert.equal(checkAccess(request, { listen, token: null }), null);
    });

    it("is no other name: a page could have given it to loopback, and come through a tunnel", () => {
      const names = [
        "evil.example.com",
        "evil.example.com:8081",
        "unix",
        "admin.sock",
        "localhost.evil.com",
        "192.0.2.7",
      ];
      for (const host of [...names, "/run/other.sock", "localhost, evil.example.com", "evil.example.com:localhost"]) {
        assert.equal(over(host), "forbidden_host", host);
        assert.equal(over(host, "t0ken"), "forbidden_host", host);
      }
    });

    it("is said in the refusal, and what to do", () => {
      const request = new Request("http://localhost/metrics", { headers: { host: "evil.example.com" } });
      assert.equal(
        checkAccess(request, { listen, token: null })?.message,
        'the Host header ("evil.example.com") is no name of this Unix socket; send localhost, as in http://localhost/',
      );
    });
  });
});

describe("the token", () => {
  const token = "t0ken";

  it("opens everything", () => {
    for (const path of ["/metrics", "/api/deletions", "/anything"]) {
      assert.equal(ask({ path, headers: { authorization: "Bearer t0ken" } }, { token }), null);
    }
  });

  it("is needed as soon as there is one: missing or wrong, nothing else is answered", () => {
    for (const authorization of [
      "",
      "Bearer",
      "Bearer T0ken",
      "Bearer t0ke",
      "Bearer t0kenn",
      "Basic t0ken",
      "t0ken",
    ]) {
      assert.equal(ask({ headers: { authorization } }, { token }), "unauthorized", authorization);
    }
    assert.equal(ask({}, { token }), "unauthorized");
    assert.equal(ask({ method: "POST", headers: { "content-type": "text/plain" } }, { token }), "unauthorized");
  });

  it("is not needed to ask whether the daemon is well", () => {
    for (const path of ["/healthz", "/readyz", "/healthz?x=1"]) assert.equal(ask({ path }, { token }), null);
  });

  it("is needed for every path that only looks like those", () => {
    for (const path of ["/healthz/metrics", "/healthzz", "//healthz", "/metrics?/healthz", "/metrics#/healthz"]) {
      assert.equal(ask({ path }, { token }), "unauthorized", path);
    }
    assert.equal(ask({ path: "/healthz/../metrics" }, { token }), "unauthorized");
  });
});
