import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { compare, inWrittenOrder } from "../../src/cli/verify.ts";
import { writeBody } from "../../src/webhook/body.ts";
import { sign } from "../../src/webhook/signature.ts";
import { anyEvent } from "../model/make.ts";

const SECRET = "shared-secret";
const BODY = '{"version":1,"type":"track","userId":"u1"}';
/** The answer of: printf '%s' '<body>' | openssl dgst -sha1 -hmac '<secret>' */
const SIGNATURE = "28c7bb2b376ddf732218110bd5daccb954ab68f8";

function compareWith(body: string | Uint8Array, signature = SIGNATURE) {
  return compare({ body: Buffer.from(body), signature, secret: SECRET });
}

function hintOf(body: string, signature = SIGNATURE): string | undefined {
  const result = compareWith(body, signature);
  return result.valid ? assert.fail("it is right") : result.hint;
}

describe("comparing a signature", () => {
  it("finds the right one right", () => {
    assert.deepEqual(compareWith(BODY), { valid: true });
  });

  it("tells the right one, when the signature is of another body", () => {
    const other = BODY.replace("u1", "u2");
    assert.deepEqual(compareWith(other), { valid: false, expected: sign(other, SECRET), hint: undefined });
  });

  it("is over bytes, also if they are no text", () => {
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, 0xff, 0x0a);
    assert.deepEqual(compareWith(bytes, sign(bytes, SECRET)), { valid: true });
    assert.equal(compareWith(bytes.subarray(3), sign(bytes, SECRET)).valid, false);
  });

  it("does not take the newline of echo, but names it", () => {
    assert.match(hintOf(`${BODY}\n`) ?? "", /for the body without its last newline/);
    assert.match(hintOf(`${BODY}\r\n`) ?? "", /without its last newline/);
    assert.equal(
      hintOf(`${BODY}\n\n`),
      "it is right for this JSON without its spaces: keep the bytes of the body as received, and parse them after the check",
    );
  });

  it("does not take a body that was parsed and written anew, but names that", () => {
    assert.match(hintOf(JSON.stringify(JSON.parse(BODY), null, 2)) ?? "", /for this JSON without its spaces/);
  });

  it("does not take another spelling, but names that", () => {
    const spellings = [SIGNATURE.toUpperCase(), `sha1=${SIGNATURE}`, ` ${SIGNATURE} `, `X-Signature: ${SIGNATURE}`];
    for (const spelling of spellings) assert.match(hintOf(BODY, spelling) ?? "", /right, but written differently/);
  });

  it("says what a signature looks like, if this cannot be one", () => {
    for (const one of ["", SIGNATURE.slice(1), `${SIGNATURE}0`, "sha256=abc", "z".repeat(40)]) {
      assert.match(hintOf(BODY, one) ?? "", /^a signature is 40 lowercase hexadecimal digits/);
    }
  });

  it("does not take another secret of the list, but names it", () => {
    const others = [
      { from: "older", secret: "the-oldest" },
      { from: "old", secret: "the-old-one" },
    ];
    const claim = { body: Buffer.from(BODY), secret: SECRET, others };
    assert.deepEqual(compare({ ...claim, signature: sign(BODY, "the-old-one") }), {
      valid: false,
      expected: SIGNATURE,
      hint: "it was made with the secret in old, but Fairlead signs with the first of a list",
    });
    assert.deepEqual(compare({ ...claim, signature: SIGNATURE }), { valid: true });
  });

  it("does not take a body whose keys were sorted, but names that", () => {
    const { type, version, userId } = JSON.parse(BODY);
    const words = /right for this JSON with its keys in Fairlead's order: keep the bytes of the body/;
    assert.match(hintOf(JSON.stringify({ type, userId, version })) ?? "", words);
    assert.match(hintOf(`${JSON.stringify({ userId, version, type }, null, 2)}\n`) ?? "", words);
  });

  it("suspects sorted keys also where those within were sorted too, and the body cannot be had back", () => {
    const body = '{"context":{"a":1,"b":2},"type":"track","version":1}';
    const signature = sign('{"version":1,"type":"track","context":{"b":2,"a":1}}', SECRET);
    assert.match(hintOf(body, signature) ?? "", /^the keys of this JSON are not in Fairlead's order/);
  });

  it("suspects nothing of keys that are in order, and of JSON that is no body of Fairlead's", () => {
    for (const body of [
      BODY.replace("u1", "u2"),
      '{"b":1,"a":2}',
      '{"version":1,"type":"other"}',
      "[1]",
      "5",
      "null",
      "{",
    ]) {
      assert.equal(hintOf(body), undefined, body);
    }
  });

  it("says that there is no body", () => {
    assert.equal(hintOf(""), "the body is empty");
  });
});

describe("the order of a body's keys", () => {
  it("is restored for every event, however its keys were mixed", () => {
    fc.assert(
      fc.property(anyEvent, fc.infiniteStream(fc.nat()), (event, numbers) => {
        const body = writeBody(event);
        const mixed = Object.entries(JSON.parse(body))
          .map((entry) => ({ entry, at: numbers.next().value }))
          .toSorted((one, other) => one.at - other.at)
          .map(({ entry }) => entry);
        const found = inWrittenOrder(Object.fromEntries(mixed));
        assert.equal(found ?? JSON.stringify(Object.fromEntries(mixed)), body);
      }),
    );
  });

  it("leaves what is in order, and what is no body, as it is", () => {
    assert.equal(inWrittenOrder({ version: 1, type: "track", timestamp: "t" }), null);
    assert.equal(inWrittenOrder({ type: "toString", version: 1 }), null);
    assert.equal(inWrittenOrder({ b: 1, a: 2 }), null);
  });

  it("puts keys that are none of Fairlead's last", () => {
    const found = inWrittenOrder({ extra: 1, type: "delete", userId: "u1" });
    assert.equal(found, '{"type":"delete","userId":"u1","extra":1}');
  });
});
