import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { describeFailure } from "../../src/runtime/post-reply.ts";

const DIRECT = { url: "https://crm.example.com/hooks", tls: null, proxy: null };
const PROXIED = { ...DIRECT, proxy: "proxy.example.com:3128" };
const CERTIFIED = { ...DIRECT, tls: { ca: null, cert: "a PEM", key: new Secret("a key") } };

function of(code: string, way: Parameters<typeof describeFailure>[1] = DIRECT, proxyStatus: string | null = null) {
  return describeFailure({ code, proxyStatus }, way);
}

describe("why there is no answer", () => {
  it("is the receiver's fault where nothing stands between", () => {
    assert.equal(of("ECONNREFUSED"), "connection refused");
    assert.equal(of("ECONNRESET"), "connection closed before an answer");
    assert.equal(of("ENETUNREACH"), "no route to the network");
  });

  it("is that the proxy cannot be reached, where there is one: the receiver was not asked", () => {
    assert.equal(of("ECONNREFUSED", PROXIED), "cannot reach the proxy proxy.example.com:3128: connection refused");
    assert.equal(of("ENOTFOUND", PROXIED), "cannot reach the proxy proxy.example.com:3128: name not found");
    assert.equal(of("ENETUNREACH", PROXIED), "cannot reach the proxy proxy.example.com:3128: no route to the network");
  });

  it("leaves open who closed a connection through a proxy", () => {
    const words = "connection closed before an answer, by the proxy proxy.example.com:3128 or behind it";
    assert.equal(of("ECONNRESET", PROXIED), words);
  });

  it("is the proxy's refusal, with its status, and what to do about one that asks for a password", () => {
    const refusal = "the proxy proxy.example.com:3128 refuses to connect to crm.example.com";
    assert.equal(of("ERR_PROXY_TUNNEL", PROXIED, "403"), `${refusal} (it answered 403)`);
    assert.equal(of("ERR_PROXY_TUNNEL", PROXIED), refusal);
    assert.equal(
      of("ERR_PROXY_TUNNEL", PROXIED, "407"),
      `${refusal} (it answered 407): it wants a user name and a password, as in HTTPS_PROXY=http://user:password@host:port`,
    );
    assert.equal(of("ERR_PROXY_TUNNEL", null), "the proxy refuses to connect to the receiver");
  });

  it("is our certificate, where the receiver asks for one or refuses it", () => {
    assert.equal(
      of("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"),
      "the receiver asks for a certificate of ours: set cert: and key:",
    );
    assert.equal(
      of("ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", CERTIFIED),
      "the receiver refuses the certificate in cert (ERR_SSL_TLSV1_ALERT_UNKNOWN_CA)",
    );
    assert.equal(
      of("ECONNRESET", CERTIFIED),
      "connection closed before an answer, as by a receiver that refuses the certificate in cert",
    );
  });

  it("is a handshake that failed, with what it may be where the runtime does not say", () => {
    assert.equal(of("ERR_SSL_WRONG_VERSION_NUMBER"), "TLS handshake failed (ERR_SSL_WRONG_VERSION_NUMBER)");
    assert.equal(
      of("EPROTO"),
      "TLS handshake failed: crm.example.com speaks no TLS at that port, or asks for a certificate of ours (cert: and key:)",
    );
    assert.equal(
      of("EPROTO", CERTIFIED),
      "TLS handshake failed: crm.example.com speaks no TLS at that port, or refuses the certificate in cert",
    );
    assert.equal(of("EPROTO", null), "TLS handshake failed");
  });
});
