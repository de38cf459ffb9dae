import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { writeBody } from "../../src/webhook/body.ts";
import { sign, verify } from "../../src/webhook/signature.ts";
import { anyEvent } from "../model/make.ts";

const SECRET = "shared-secret";
const BODY = '{"version":1,"type":"track","userId":"u1"}';
const SIGNATURE = "28c7bb2b376ddf732218110bd5daccb954ab68f8";

// Each known value is the answer of: printf '%s' '<body>' | openssl dgst -sha1 -hmac '<secret>'
describe("a signature (SPEC.md 5.3)", () => {
  it("is the one that openssl makes: HMAC-SHA1 in lowercase hexadecimal", () => {
    assert.equal(sign(BODY, SECRET), SIGNATURE);
  });

  it("is over the UTF-8 bytes of the body, with the UTF-8 bytes of the secret", () => {
    assert.equal(sign('{"name":"Zoë 🙂"}', "schlüssel"), "79e6f06bbfb55ffb8c50a10ef56751b0b08eaf5e");
    assert.equal(sign(Buffer.from('{"name":"Zoë 🙂"}'), "schlüssel"), "79e6f06bbfb55ffb8c50a10ef56751b0b08eaf5e");
  });

  it("can be made of nothing", () => {
    assert.equal(sign("", "k"), "3a84a218ee6665209bb70e84525dd837645a1965");
  });
});

describe("verifying (SPEC.md 5.4)", () => {
  it("takes the signature of this body with this secret, as text or as bytes", () => {
    assert.equal(verify(BODY, SIGNATURE, SECRET), true);
    assert.equal(verify(Buffer.from(BODY), SIGNATURE, SECRET), true);
  });

  it("refuses another secret", () => {
    for (const secret of ["Shared-secret", "shared-secret ", ""]) assert.equal(verify(BODY, SIGNATURE, secret), false);
  });

  it("refuses a signature of another length, or in another spelling", () => {
    const others = [
      "",
      SIGNATURE.slice(1),
      `${SIGNATURE}0`,
      `sha1=${SIGNATURE}`,
      SIGNATURE.toUpperCase(),
      "ä".repeat(20),
    ];
    for (const other of others) assert.equal(verify(BODY, other, SECRET), false, other);
  });

  it("refuses a signature with any one digit changed", () => {
    for (let at = 0; at < SIGNATURE.length; at++) {
      const digit = SIGNATURE[at] === "0" ? "1" : "0";
      assert.equal(verify(BODY, SIGNATURE.slice(0, at) + digit + SIGNATURE.slice(at + 1), SECRET), false);
    }
  });

  it("refuses a body with any one byte changed", () => {
    for (let at = 0; at < BODY.length; at++) {
      const bytes = Buffer.from(BODY);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      assert.equal(verify(bytes, SIGNATURE, SECRET), false);
    }
  });

  it("refuses the same values in another order, or with spaces", () => {
    assert.equal(verify('{"type":"track","version":1,"userId":"u1"}', SIGNATURE, SECRET), false);
    assert.equal(verify('{"version": 1, "type": "track", "userId": "u1"}', SIGNATURE, SECRET), false);
  });

  it("holds for every event, also when the receiver has parsed the body and written it again", () => {
    fc.assert(
      fc.property(anyEvent, fc.string(), (event, secret) => {
        const body = writeBody(event);
        assert.ok(verify(JSON.stringify(JSON.parse(body)), sign(body, secret), secret));
      }),
    );
  });
});
