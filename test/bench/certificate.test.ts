import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { createCertificate } from "../../bench/certificate.ts";

const ADDRESSES = Array.from({ length: 100 }, (_, nth) => `127.0.0.${nth + 1}`);

describe("the certificate of the bench's receivers", () => {
  const { cert, key } = createCertificate(ADDRESSES);
  const certificate = new X509Certificate(cert);

  it("is for all of their addresses, and no other", () => {
    for (const address of ADDRESSES) assert.equal(certificate.checkIP(address), address);
    assert.equal(certificate.checkIP("127.0.0.101"), undefined);
  });

  it("is signed by itself with the key beside it, and valid now", () => {
    assert.ok(certificate.checkPrivateKey(createPrivateKey(key)));
    assert.ok(certificate.verify(certificate.publicKey));
    const [from, to] = [certificate.validFrom, certificate.validTo].map((text) => Date.parse(text)) as [number, number];
    assert.ok(from < Date.now() && Date.now() < to);
  });
});
