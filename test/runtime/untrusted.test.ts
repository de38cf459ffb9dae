import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeUntrusted, isUntrusted } from "../../src/runtime/post-reply.ts";

const WAY = { url: "https://crm.example.com:8443/hooks?token=query-secret", tls: null, proxy: null };
const OWN = { ...WAY, tls: { ca: "a PEM", cert: null, key: null } };

describe("a certificate that was refused", () => {
  const sentences: readonly (readonly [code: string, sentence: string])[] = [
    ["CERT_HAS_EXPIRED", "has expired: it has to be renewed there"],
    ["CERT_NOT_YET_VALID", "is not valid yet: set this machine's clock, or have it issued anew"],
    ["CERT_REVOKED", "was revoked: it has to be replaced there"],
    [
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "is self-signed: the receiver needs one from an authority; if that is your own, set ca: to its file",
    ],
    [
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      "is from an unknown authority: if that is your own, set ca: to its file; if not, the receiver leaves out the intermediate certificate",
    ],
    [
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "is for another host name: write a name that it has into url, or have it issued for this one",
    ],
    ["CERT_SIGNATURE_FAILURE", "cannot be used (CERT_SIGNATURE_FAILURE): have it issued anew"],
  ];
  for (const [code, sentence] of sentences) {
    it(`is named with its host, and with what to do, for ${code}`, () => {
      assert.ok(isUntrusted(code));
      assert.equal(describeUntrusted(code, WAY), `the certificate of crm.example.com ${sentence}`);
    });
  }

  it("is held against the file of ca where there is one", () => {
    assert.equal(
      describeUntrusted("SELF_SIGNED_CERT_IN_CHAIN", OWN),
      "the certificate of crm.example.com is from none of the authorities in the file of ca: put the root of its authority there, or remove ca if that is a public one",
    );
    assert.equal(
      describeUntrusted("DEPTH_ZERO_SELF_SIGNED_CERT", OWN),
      "the certificate of crm.example.com is self-signed: the receiver needs one from an authority in the file of ca",
    );
  });

  it("is told in a few words where there is no webhook", () => {
    assert.equal(describeUntrusted("CERT_HAS_EXPIRED", null), "certificate has expired");
    assert.equal(describeUntrusted("DEPTH_ZERO_SELF_SIGNED_CERT", null), "certificate is self-signed");
  });

  it("never shows the rest of the URL", () => {
    for (const [code] of sentences) assert.doesNotMatch(describeUntrusted(code, OWN), /hooks|query-secret/);
  });
});
