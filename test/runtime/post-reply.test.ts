import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Secret } from "../../src/model/secret.ts";
import { createIsUnresolved, proxyFor, replyToError, type Way } from "../../src/runtime/post-reply.ts";

const running = new AbortController().signal;

function failure(code: string): Error {
  const advice = `${code} fetching "https://user:pw@example.com/?key=5ec4e7". For more information, pass \`verbose: true\``;
  return Object.assign(new TypeError(advice), { code });
}

function kindsOf(codes: readonly string[]): string[] {
  return [...new Set(codes.map((code) => replyToError(failure(code), running).kind))];
}

describe("a failed POST", () => {
  it("counts as offline when it never left the machine", () => {
    const network = ["ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EAI_AGAIN", "EADDRNOTAVAIL"];
    assert.deepEqual(kindsOf([...network, "EMFILE", "ENFILE"]), ["offline"]);
  });

  it("counts as untrusted when the certificate was refused", () => {
    const verdicts = ["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"];
    const more = ["UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_HAS_EXPIRED", "CERT_REVOKED"];
    const rare = ["CERT_CHAIN_TOO_LONG", "CERT_SIGNATURE_FAILURE", "CRL_HAS_EXPIRED", "INVALID_CA", "INVALID_PURPOSE"];
    const names = ["CERT_NOT_YET_VALID", "ERR_TLS_CERT_ALTNAME_INVALID", "HOSTNAME_MISMATCH", "PATH_LENGTH_EXCEEDED"];
    assert.deepEqual(kindsOf([...verdicts, ...more, ...rare, ...names]), ["untrusted"]);
  });

  it("counts as unreachable otherwise, also when the receiver refuses our certificate", () => {
    const codes = [
      "ENOTFOUND",
      "ECONNREFUSED",
      "ECONNRESET",
      "EPROTO",
      "Malformed_HTTP_Response",
      "HPE_INVALID_VERSION",
    ];
    const tls = ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE"];
    assert.deepEqual(kindsOf([...codes, ...tls, "ESOMETHINGNEW"]), ["unreachable"]);
  });

  it("is told in a person's words, or by its code, and never in the runtime's", () => {
    const messageOf = (code: string) => {
      const reply = replyToError(failure(code), running);
      return "message" in reply ? reply.message : null;
    };
    assert.equal(messageOf("ECONNREFUSED"), "connection refused");
    assert.equal(messageOf("CERT_HAS_EXPIRED"), "certificate has expired");
    assert.equal(messageOf("InvalidContentLength"), "the answer is not valid HTTP");
    assert.equal(messageOf("ERR_SSL_WRONG_VERSION_NUMBER"), "TLS handshake failed (ERR_SSL_WRONG_VERSION_NUMBER)");
    assert.equal(messageOf("ESOMETHINGNEW"), "ESOMETHINGNEW");
  });

  it("goes by its name when it has no code", () => {
    const reply = replyToError(new RangeError("key=5ec4e7"), running);
    assert.deepEqual(reply, { kind: "unreachable", code: "RangeError", message: "RangeError" });
  });

  it("is not offline when one of several addresses was reached", () => {
    const several = new AggregateError([failure("ENETUNREACH"), failure("ECONNREFUSED")]);
    assert.deepEqual(replyToError(several, running), {
      kind: "unreachable",
      code: "ECONNREFUSED",
      message: "connection refused",
    });
    const none = new AggregateError([failure("ENETUNREACH"), failure("EHOSTUNREACH")]);
    assert.equal(replyToError(none, running).kind, "offline");
  });

  it("counts as aborted when the signal, or a limit of the runtime, ended it", () => {
    assert.deepEqual(replyToError(failure("ECONNRESET"), AbortSignal.abort()), { kind: "aborted" });
    for (const name of ["AbortError", "TimeoutError"]) {
      assert.deepEqual(replyToError(new DOMException("over", name), running), { kind: "aborted" });
    }
  });
});

const DIRECT = { url: "https://crm.example.com/hooks", tls: null, proxy: null };
const PROXIED = { ...DIRECT, proxy: "proxy.example.com:3128" };
const CERTIFIED = { ...DIRECT, tls: { ca: null, cert: "a PEM", key: new Secret("a key") } };

/** What an operator reads of an error with this code. `status`: what a proxy answered. */
function described(code: string, way: Way | null = DIRECT, status?: number): string {
  const reply = replyToError(Object.assign(failure(code), { status }), running, way);
  assert.ok("message" in reply, reply.kind);
  return reply.message;
}

describe("why there is no answer", () => {
  it("is the receiver's fault where nothing stands between", () => {
    assert.equal(described("ECONNREFUSED"), "connection refused");
    assert.equal(described("ECONNRESET"), "connection closed before an answer");
    assert.equal(described("ENETUNREACH"), "no route to the network");
  });

  it("is that the proxy cannot be reached, where there is one: the receiver was not asked", () => {
    assert.equal(
      described("ECONNREFUSED", PROXIED),
      "cannot reach the proxy proxy.example.com:3128: connection refused",
    );
    assert.equal(described("ENOTFOUND", PROXIED), "cannot reach the proxy proxy.example.com:3128: name not found");
    assert.equal(
      described("ENETUNREACH", PROXIED),
      "cannot reach the proxy proxy.example.com:3128: no route to the network",
    );
  });

  it("leaves open who closed a connection through a proxy", () => {
    const words = "connection closed before an answer, by the proxy proxy.example.com:3128 or behind it";
    assert.equal(described("ECONNRESET", PROXIED), words);
  });

  it("is the proxy's refusal, with its status, and what to do about one that asks for a password", () => {
    const refusal = "the proxy proxy.example.com:3128 refuses to connect to crm.example.com";
    assert.equal(described("ERR_PROXY_TUNNEL", PROXIED, 403), `${refusal} (it answered 403)`);
    assert.equal(described("ERR_PROXY_TUNNEL", PROXIED), refusal);
    assert.equal(
      described("ERR_PROXY_TUNNEL", PROXIED, 407),
      `${refusal} (it answered 407): it requires a user name and a password, as in HTTPS_PROXY=http://user:password@host:port`,
    );
    assert.equal(described("ERR_PROXY_TUNNEL", null), "the proxy refuses to connect to the receiver");
  });

  it("is our certificate, where the receiver asks for one or refuses it", () => {
    assert.equal(
      described("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"),
      "the receiver requires a client certificate: set cert: and key:",
    );
    assert.equal(
      described("ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", CERTIFIED),
      "the receiver refuses the certificate in cert (ERR_SSL_TLSV1_ALERT_UNKNOWN_CA)",
    );
    assert.equal(
      described("ECONNRESET", CERTIFIED),
      "connection closed before an answer, which happens if a receiver refuses the certificate in cert",
    );
  });

  it("is a handshake that failed, with what it may be where the runtime does not say", () => {
    assert.equal(described("ERR_SSL_WRONG_VERSION_NUMBER"), "TLS handshake failed (ERR_SSL_WRONG_VERSION_NUMBER)");
    assert.equal(
      described("EPROTO"),
      "TLS handshake failed: crm.example.com does not speak TLS on that port, or requires a client certificate (cert: and key:)",
    );
    assert.equal(
      described("EPROTO", CERTIFIED),
      "TLS handshake failed: crm.example.com does not speak TLS on that port, or refuses the certificate in cert",
    );
    assert.equal(described("EPROTO", null), "TLS handshake failed");
  });
});

const WAY = { url: "https://crm.example.com:8443/hooks?token=query-secret", tls: null, proxy: null };
const OWN = { ...WAY, tls: { ca: "a PEM", cert: null, key: null } };

describe("a certificate that was refused", () => {
  const sentences: readonly (readonly [code: string, sentence: string])[] = [
    ["CERT_HAS_EXPIRED", "has expired: renew it there"],
    ["CERT_NOT_YET_VALID", "is not valid yet: set this machine's clock, or have the certificate reissued"],
    ["CERT_REVOKED", "was revoked: replace it there"],
    [
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "is self-signed: the receiver needs one from an authority; if the authority is your own, set ca: to its file",
    ],
    [
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      "is from an unknown authority: if the authority is your own, set ca: to its file; if not, the receiver does not send its intermediate certificate",
    ],
    [
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "is for another host name: put a name of the certificate into url, or have it issued for this one",
    ],
    ["CERT_SIGNATURE_FAILURE", "cannot be used (CERT_SIGNATURE_FAILURE): have it reissued"],
  ];
  for (const [code, sentence] of sentences) {
    it(`is named with its host, and with what to do, for ${code}`, () => {
      assert.equal(described(code, WAY), `the certificate of crm.example.com ${sentence}`);
    });
  }

  it("is held against the file of ca where there is one", () => {
    assert.equal(
      described("SELF_SIGNED_CERT_IN_CHAIN", OWN),
      "the certificate of crm.example.com is from none of the authorities in the file of ca: put the root certificate of its authority there, or remove ca if the authority is public",
    );
    assert.equal(
      described("DEPTH_ZERO_SELF_SIGNED_CERT", OWN),
      "the certificate of crm.example.com is self-signed: the receiver needs one from an authority in the file of ca",
    );
  });

  it("is told in a few words where there is no webhook", () => {
    assert.equal(described("CERT_HAS_EXPIRED", null), "certificate has expired");
    assert.equal(described("DEPTH_ZERO_SELF_SIGNED_CERT", null), "certificate is self-signed");
  });

  it("never shows the rest of the URL", () => {
    for (const [code] of sentences) assert.doesNotMatch(described(code, OWN), /hooks|query-secret/);
  });
});

function failing(code: string): Promise<never> {
  return Promise.reject(Object.assign(new Error(code), { code }));
}

describe("a name that a POST waited for", () => {
  it("is unresolved while no name server answers", async () => {
    assert.equal(await createIsUnresolved(() => new Promise(() => {}), 1)("crm.example.com"), true);
    assert.equal(await createIsUnresolved(() => failing("EAI_AGAIN"))("crm.example.com"), true);
  });

  it("is not once there is an answer, whatever it says", async () => {
    assert.equal(await createIsUnresolved(async () => ["192.0.2.1"])("crm.example.com"), false);
    assert.equal(await createIsUnresolved(() => failing("ENOTFOUND"))("crm.example.com"), false);
  });

  it("is not where each answer takes a while, as over a satellite: a receiver that hangs is to be told from that", async () => {
    // The shorter of two timers ends first, however busy the machine is.
    assert.equal(await createIsUnresolved(() => sleep(500))("crm.example.com"), false);
  });

  it("is asked for once, however many wait for it, and anew the next time", async () => {
    let asked = 0;
    const isUnresolved = createIsUnresolved(async () => {
      asked += 1;
    });
    await Promise.all([isUnresolved("a.example.com"), isUnresolved("a.example.com")]);
    assert.equal(asked, 1);
    await isUnresolved("a.example.com");
    assert.equal(asked, 2);
  });

  it("is not asked for where the URL has an address", async () => {
    const isUnresolved = createIsUnresolved(() => assert.fail());
    for (const address of ["127.0.0.1", "[::1]"]) assert.equal(await isUnresolved(address), false);
  });
});

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
