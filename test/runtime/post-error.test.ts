import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { replyToError } from "../../src/runtime/post-reply.ts";

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
