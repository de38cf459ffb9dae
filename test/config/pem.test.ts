import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseCertificates, parsePrivateKey } from "../../src/config/tls.ts";
import { CERTS, ENCRYPTED_KEY, KEY, OTHER_KEY, RSA_KEY } from "./certificates.ts";

/** What `openssl ecparam -genkey` writes before the key. */
const PARAMETERS = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
const GARBAGE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

describe("parseCertificates", () => {
  it("takes a certificate with those of its issuers, in the order of the file", () => {
    const found = parseCertificates(CERTS.good + CERTS.ca);
    assert.ok(typeof found !== "string");
    assert.deepEqual(
      found.chain.map(({ subject }) => subject),
      ["CN=good", "CN=Fairlead test CA"],
    );
    assert.equal(found.pem, CERTS.good + CERTS.ca);
  });

  it("keeps the certificates alone: not the key beside them, nor the words between", () => {
    const found = parseCertificates(`${KEY}subject=CN=good\r\n${CERTS.good.trimEnd()}\n\nissuer\n${CERTS.ca}`);
    assert.ok(typeof found !== "string");
    assert.equal(found.pem, CERTS.good + CERTS.ca);
  });

  it("takes line ends of Windows", () => {
    assert.notEqual(typeof parseCertificates(CERTS.good.replaceAll("\n", "\r\n")), "string");
  });

  it("takes a long chain, and a long block that is no certificate", () => {
    const long = `-----BEGIN X-----\n${"A".repeat(60_000)}\n-----END X-----\n`;
    const found = parseCertificates(long + CERTS.good.repeat(50));
    assert.ok(typeof found !== "string");
    assert.equal(found.chain.length, 50);
  });

  it("says which certificate cannot be read", () => {
    assert.equal(parseCertificates(CERTS.good + GARBAGE), "has a certificate in it that cannot be read: number 2");
  });

  it("says when there is none, and when there is a key instead", () => {
    const none = "has no PEM certificate in it (-----BEGIN CERTIFICATE-----)";
    assert.equal(parseCertificates("hello"), none);
    assert.equal(parseCertificates(CERTS.good.slice(0, -10)), none);
    assert.equal(parseCertificates(KEY), `${none}, but a private key: are cert and key the wrong way round?`);
  });
});

describe("parsePrivateKey", () => {
  for (const [kind, pem] of Object.entries({ SEC1: KEY, "PKCS#8": OTHER_KEY, RSA: RSA_KEY })) {
    it(`takes a key in the form of ${kind}`, () => {
      const found = parsePrivateKey(pem);
      assert.ok(typeof found !== "string");
      assert.equal(found.pem, pem);
    });
  }

  it("finds the key beside parameters and certificates, and keeps it alone", () => {
    const found = parsePrivateKey(PARAMETERS + CERTS.good + KEY);
    assert.ok(typeof found !== "string");
    assert.equal(found.pem, KEY);
  });

  it("says how to take off a passphrase, in the new form and in the old one", () => {
    const message =
      /^has a passphrase, which a daemon cannot ask for: remove it with `openssl pkey -in KEY -out NEW_KEY`/;
    const old = KEY.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n");
    assert.match(`${parsePrivateKey(ENCRYPTED_KEY)}`, message);
    assert.match(`${parsePrivateKey(old)}`, message);
  });

  it("says when there is none, and when there is a certificate instead", () => {
    const none = "has no PEM private key in it (-----BEGIN PRIVATE KEY-----)";
    assert.equal(parsePrivateKey("hello"), none);
    assert.equal(parsePrivateKey(KEY.slice(0, -10)), none);
    assert.equal(parsePrivateKey(CERTS.good), `${none}, but a certificate: are cert and key the wrong way round?`);
  });

  it("says when it cannot be read, without a word of it", () => {
    const broken = KEY.replace(/\n\w{9}/, "\nAAAAAAAAA");
    assert.equal(
      parsePrivateKey(broken),
      "has a private key that cannot be read, or of a kind that TLS does not use: make an RSA or EC key",
    );
  });
});
