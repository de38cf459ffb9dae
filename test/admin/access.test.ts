import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { accessOf, checkAccess, isOpen } from "../../src/admin/access.ts";
import { isPage, PAGE_FILES, PAGE_PATHS } from "../../src/admin/pages.ts";
import type { Listen } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { makeAdmin } from "../flow/make.ts";

const LOOPBACK: Listen = { kind: "tcp", host: "127.0.0.1", port: 8081 };
const SOCKET: Listen = { kind: "unix", path: "/run/fairlead/admin.sock" };

type Ask = { readonly path?: string; readonly method?: string; readonly headers?: Record<string, string> };
type Where = {
  readonly listen?: Listen;
  readonly token?: string | null;
  readonly readToken?: string | null;
  readonly dashboard?: boolean;
};

/** The refusal, or null for a request that may pass. */
function refusalOf(request: Ask, where: Where = {}) {
  const { path = "/metrics", method = "GET", headers = {} } = request;
  const { listen = LOOPBACK, token = null, readToken = null, dashboard = true } = where;
  const all = { host: "127.0.0.1:8081", ...headers };
  const secretOf = (text: string | null) => (text === null ? null : new Secret(text));
  const admin = { listen, token: secretOf(token), readToken: secretOf(readToken), dashboard };
  return checkAccess(new Request(`http://127.0.0.1:8081${path}`, { method, headers: all }), admin);
}

/** The code of the refusal, or null for a request that may pass. */
function ask(request: Ask, where: Where = {}): string | null {
  return refusalOf(request, where)?.code ?? null;
}

/** What a browser sends of a page of this listener, or of one elsewhere. */
const OWN = { origin: "http://127.0.0.1:8081", "sec-fetch-site": "same-origin" };
const FOLLOWED = {
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};

describe("a web page in the operator's browser", () => {
  it("is refused by its Origin, whatever it asks for and whatever token it has", () => {
    for (const origin of ["https://evil.example.com", "http://127.0.0.1:8081", "null", ""]) {
      for (const path of ["/metrics", "/healthz", "/api/deletions", "/"]) {
        assert.equal(ask({ path, headers: { origin } }), "forbidden_origin");
        const headers = { origin, authorization: "Bearer t" };
        assert.equal(ask({ path, headers }, { token: "t" }), "forbidden_origin");
      }
    }
  });

  it("is refused by its Sec-Fetch-Site, if it sends no Origin: an image, a script, a form, a frame", () => {
    for (const site of ["cross-site", "same-site", "Same-Origin", "same-origin, cross-site", "", "x"]) {
      for (const path of ["/metrics", "/healthz", "/api/status", "/", "/destinations/crm", "/dashboard/page.js"]) {
        for (const rest of [
          { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
          { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" },
          { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
          { "sec-fetch-mode": "cors", "sec-fetch-dest": "document" },
          {},
        ]) {
          assert.equal(ask({ path, headers: { "sec-fetch-site": site, ...rest } }), "forbidden_origin", site);
        }
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
      const headers = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
      assert.equal(ask({ headers }), "forbidden_host", host);
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

describe("the dashboard", () => {
  it("may ask everything: its Origin is the Host, and the browser says that it is the same", () => {
    for (const host of ["127.0.0.1:8081", "127.0.0.1:9999", "localhost:8081", "localhost", "[::1]:8081"]) {
      for (const scheme of ["http", "https"]) {
        const headers = { ...OWN, host, origin: `${scheme}://${host}`, "content-type": "application/json" };
        for (const path of ["/api/status", "/api/reload", "/metrics", "/", "/healthz"]) {
          for (const method of ["GET", "POST", "PUT", "DELETE"]) assert.equal(ask({ path, method, headers }), null);
        }
      }
    }
  });

  it("needs no Origin for a GET, and a browser sends none", () => {
    for (const site of ["same-origin", "none"]) assert.equal(ask({ headers: { "sec-fetch-site": site } }), null);
  });

  it("is no page of another port, scheme, user or spelling, and none without an origin", () => {
    for (const origin of [
      "http://127.0.0.1",
      "http://127.0.0.1:3000",
      "http://127.0.0.1:80810",
      "http://localhost:8081",
      "http://user@127.0.0.1:8081",
      "http://127.0.0.1:8081@evil.example.com",
      "http://127.0.0.1:8081/",
      "http://127.0.0.1:8081, http://evil.example.com",
      "HTTP://127.0.0.1:8081",
      "http:127.0.0.1:8081",
      "file://127.0.0.1:8081",
      "http://x127.0.0.1:8081",
      "127.0.0.1:8081",
      "null",
      "http://",
      "",
    ]) {
      assert.equal(ask({ headers: { ...OWN, origin } }), "forbidden_origin", origin);
    }
  });

  it("is not believed without the browser's word for it: over plain HTTP from afar it has none, and is told so", () => {
    for (const site of ["cross-site", "same-site", "none", "", "same-origin, same-origin"]) {
      assert.equal(ask({ headers: { ...OWN, "sec-fetch-site": site } }), "forbidden_origin", site);
    }
    const listen: Listen = { kind: "tcp", host: "192.0.2.7", port: 8081 };
    const headers = { host: "192.0.2.7:8081", origin: "http://192.0.2.7:8081" };
    assert.match(refusalOf({ headers }, { listen })?.message ?? "", /over HTTPS, or to localhost; open the dashboard/);
    assert.equal(ask({ headers: { ...headers, "sec-fetch-site": "same-origin" } }, { listen }), null);
  });

  it("needs the token as everybody does", () => {
    assert.equal(ask({ path: "/api/status", headers: OWN }, { token: "t" }), "unauthorized");
    assert.equal(ask({ path: "/api/status", headers: { ...OWN, authorization: "Bearer t" } }, { token: "t" }), null);
  });

  it("has the Origin of a tunnel's end over a Unix socket, which is a name of loopback", () => {
    const over = (host: string) =>
      ask({ headers: { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" } }, { listen: SOCKET });
    for (const host of ["localhost:9000", "127.0.0.1:9000", "[::1]:9000", "localhost"]) assert.equal(over(host), null);
    for (const host of ["", SOCKET.kind === "unix" ? encodeURIComponent(SOCKET.path) : ""]) {
      assert.equal(over(host), "forbidden_origin", host);
    }
    for (const host of ["evil.example.com", "localhost.evil.com:9000", "192.0.2.7"]) {
      assert.equal(over(host), "forbidden_host", host);
    }
  });

  it("is where a link from elsewhere may lead, and to nothing else", () => {
    for (const site of ["cross-site", "same-site"]) {
      const headers = { ...FOLLOWED, "sec-fetch-site": site };
      const pages = PAGE_PATHS.map((path) => path.replace(/:\w+/, "x%2Fy"));
      for (const path of [...pages, "/deliveries?state=failed", "/live/"])
        assert.equal(ask({ path, headers }), null, path);
      for (const path of [
        "/metrics",
        "/healthz",
        "/openapi.json",
        "/api/status",
        "/dashboard/page.js",
        "/destinations",
      ]) {
        assert.equal(ask({ path, headers }), "forbidden_origin", path);
      }
      assert.equal(ask({ path: "/", method: "HEAD", headers }), null);
      assert.equal(ask({ path: "/", method: "POST", headers }), "forbidden_origin");
      assert.equal(ask({ path: "/", headers: { ...headers, host: "evil.example.com" } }), "forbidden_host");
    }
  });

  it("has no exception once it is turned off", () => {
    const off = { dashboard: false };
    assert.equal(ask({ headers: OWN }, off), "forbidden_origin");
    assert.equal(ask({ path: "/", headers: FOLLOWED }, off), "forbidden_origin");
    assert.equal(ask({ path: "/" }, off), null);
    assert.equal(ask({}, off), null);
  });

  it("needs no token for its page and its files, which hold nothing secret, and for nothing else", () => {
    for (const path of ["/", "/destinations/crm", "/deliveries?state=failed", "/events/a%2Fb", "/dashboard/page.css"]) {
      assert.equal(ask({ path }, { token: "t" }), null, path);
    }
    for (const path of [
      "/destinations",
      "/destinations/crm/pause",
      "/deliveries/42-crm/retry",
      "/dashboard",
      "/dashboardx",
      "/live/x",
      "/Live",
      "//live",
      "/api/live",
      "/api/deliveries",
      "/x?/live",
    ]) {
      assert.equal(ask({ path }, { token: "t" }), "unauthorized", path);
    }
    assert.ok(isOpen(PAGE_FILES.replace("*", "page.js")));
  });
});

describe("headers that a page elsewhere can cause", () => {
  const names = [
    "127.0.0.1",
    "localhost",
    "[::1]",
    "LOCALHOST",
    "evil.example.com",
    "127.0.0.1.evil.example.com",
    "a@b",
  ];
  const hosts = names.flatMap((name) => ["", ":8081", ":80", ":3000", ":x"].map((port) => name + port));
  const origins = ["http://", "https://", "file://"].flatMap((scheme) => hosts.map((host) => scheme + host));
  const listens: Listen[] = [LOOPBACK, SOCKET, { kind: "tcp", host: "::1", port: 8081 }];
  const requests = fc.record({
    host: fc.constantFrom(...hosts),
    origin: fc.oneof(fc.constant(null), fc.constantFrom("null", "", ...origins)),
    site: fc.constantFrom("cross-site", "same-site"),
    mode: fc.constantFrom("navigate", "cors", "no-cors", "websocket"),
    dest: fc.constantFrom("document", "iframe", "empty", "script"),
    authorization: fc.constantFrom("", "Bearer t"),
    path: fc.constantFrom(
      "/",
      "/live",
      "/events/x",
      "/api/status",
      "/api/reload",
      "/metrics",
      "/healthz",
      "/dashboard/x",
    ),
    method: fc.constantFrom("GET", "HEAD", "POST"),
    listen: fc.constantFrom(...listens),
    token: fc.constantFrom(null, "t"),
    dashboard: fc.boolean(),
  });

  it("pass only if they are a link to the dashboard that was followed", () => {
    let passed = 0;
    fc.assert(
      fc.property(requests, ({ host, origin, site, mode, dest, authorization, path, method, ...where }) => {
        // To a page with the name that it asks for, a browser says that it is the same: its name was given this address.
        const isRebound = origin === `http://${host}` && host.includes("evil");
        const headers: Record<string, string> = {
          host,
          authorization,
          ...(origin !== null && { origin }),
          "sec-fetch-site": isRebound ? "same-origin" : site,
          "sec-fetch-mode": mode,
          "sec-fetch-dest": dest,
        };
        const type = { "content-type": "application/json" };
        if (ask({ path, method, headers: { ...headers, ...type } }, where) !== null) return;
        passed++;
        assert.ok(where.dashboard && isPage(path) && method !== "POST" && origin === null);
        assert.deepEqual([mode, dest], ["navigate", "document"]);
      }),
      { numRuns: 20_000 },
    );
    assert.ok(passed > 0);
  });
});

describe("a request with a Host that no URL can have", () => {
  it("is checked like any other: where all addresses are listened on, by its token", () => {
    const headers = { host: "a:99999" };
    const at = (url: string): Request => ({ url, method: "GET", headers: new Headers(headers) }) as Request;
    const admin = makeAdmin({ listen: { kind: "tcp", host: "0.0.0.0", port: 8081 }, token: new Secret("t") });
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
    return checkAccess(request, makeAdmin({ listen })) === null;
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
    const listen = SOCKET;
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
      assert.equal(checkAccess(request, makeAdmin({ listen })), null);
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
        checkAccess(request, makeAdmin({ listen }))?.message,
        'the Host header ("evil.example.com") does not belong to this Unix socket; send localhost, as in http://localhost/',
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

describe("admin.readToken", () => {
  const both = { token: "t0ken", readToken: "eyes" };
  const eyes = { authorization: "Bearer eyes", "content-type": "application/json" };

  it("opens whatever only looks", () => {
    for (const path of ["/api/status", "/metrics", "/openapi.json", "/api/live"]) {
      for (const method of ["GET", "HEAD"]) assert.equal(ask({ path, method, headers: eyes }, both), null);
    }
  });

  it("is refused what changes something, and the refusal says which token it takes", () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      assert.equal(ask({ path: "/api/reload", method, headers: eyes }, both), "read_only", method);
    }
    const { message } = refusalOf({ method: "POST", headers: eyes }, both) ?? {};
    assert.equal(message, "admin.readToken is read-only; this request needs admin.token");
    assert.equal(ask({ method: "POST", headers: { ...eyes, authorization: "Bearer t0ken" } }, both), null);
  });

  it("is as exact as the other one", () => {
    for (const token of ["Eyes", "eye", "eyess", "t0keneyes", ""]) {
      assert.equal(ask({ headers: { authorization: `Bearer ${token}` } }, both), "unauthorized", token);
    }
    assert.equal(ask({ headers: eyes }, { token: "t0ken" }), "unauthorized");
  });

  it("is what the status calls read; the other token, and none where none is needed, are full", () => {
    const [token, readToken] = [new Secret("t0ken"), new Secret("eyes")];
    const access = (authorization: string, admin = makeAdmin({ token, readToken })) =>
      accessOf(new Request("http://a/api/status", { headers: { authorization } }), admin);
    assert.deepEqual(
      ["Bearer eyes", "Bearer t0ken", "Bearer x", ""].map((one) => access(one)),
      ["read", "full", null, null],
    );
    assert.equal(access("Bearer x", makeAdmin()), "full");
  });
});
