import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { prepareHmac } from "../../src/webhook/hmac.ts";

type Algorithm = Parameters<typeof prepareHmac>[0];

const ALGORITHMS: readonly Algorithm[] = ["sha1", "sha256"];

function check(key: Uint8Array, messages: readonly string[]): void {
  for (const algorithm of ALGORITHMS) {
    const hmac = prepareHmac(algorithm, key);
    for (const message of messages) {
      for (const encoding of ["hex", "base64"] as const) {
        const expected = createHmac(algorithm, key).update(message).digest(encoding);
        assert.equal(hmac(message, encoding), expected, `${algorithm}, a key of ${key.length} bytes`);
      }
    }
  }
}

describe("an HMAC with a prepared key", () => {
  // RFC 2202, case 2, and RFC 4231, case 2.
  it("is the one of the standards' own examples", () => {
    const key = Buffer.from("Jefe");
    const message = "what do ya want for nothing?";
    assert.equal(prepareHmac("sha1", key)(message, "hex"), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    const sha256 = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert.equal(prepareHmac("sha256", key)(message, "hex"), sha256);
  });

  it("is what createHmac makes of a key of any length", () => {
    for (let length = 0; length <= 200; length += 1) check(new Uint8Array(length).fill(length), ["", "message"]);
  });

  it("is what createHmac makes of any bytes and any text", () => {
    const messages = fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 5 });
    fc.assert(fc.property(fc.uint8Array({ maxLength: 150 }), messages, check));
  });

  it("is over UTF-8, whatever the text: short, long, of four-byte characters, with half a character", () => {
    const parts = ["x", "é", "€", "🙂", "\ud83d", "\ude42"];
    const messages = parts.flatMap((part) => [1, 10_000, 10_901, 10_902, 32_705, 100_000].map((n) => part.repeat(n)));
    check(Buffer.from("schlüssel"), [...messages, parts.join(""), "x"]);
  });
});
