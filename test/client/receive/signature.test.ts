import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { verifySignature } from "../../../src/client/receive/receiver.ts";
import { sign } from "../../../src/webhook/signature.ts";

const BODY = '{"name":"Zoë 🙂"}';
const RIGHT = sign(BODY, "new");

describe("verifySignature", () => {
  it("takes the signature of this body, as text or as bytes", () => {
    assert.equal(verifySignature(BODY, RIGHT, "new"), true);
    assert.equal(verifySignature(new TextEncoder().encode(BODY), RIGHT, "new"), true);
  });

  it("takes the signature of any of several secrets, and of no other", () => {
    assert.equal(verifySignature(BODY, RIGHT, ["new", "old"]), true);
    assert.equal(verifySignature(BODY, RIGHT, ["old", "new"]), true);
    assert.equal(verifySignature(BODY, RIGHT, ["old", "older"]), false);
  });

  it("refuses another body, and another secret", () => {
    assert.equal(verifySignature(`${BODY}\n`, RIGHT, "new"), false);
    assert.equal(verifySignature(BODY, RIGHT, "old"), false);
  });

  it("refuses whatever a header may be instead, and never throws at it", () => {
    const odd = [null, undefined, "", [], [RIGHT, RIGHT], [null], {}, 5, true, RIGHT.slice(1), `${RIGHT}0`];
    const spelled = [RIGHT.toUpperCase(), `sha1=${RIGHT}`, ` ${RIGHT}`, `${RIGHT}\n`, "ä".repeat(20), "ä".repeat(40)];
    for (const header of [...odd, ...spelled]) assert.equal(verifySignature(BODY, header, "new"), false, `${header}`);
    fc.assert(fc.property(fc.anything(), (header) => verifySignature(BODY, header, "new") === false));
  });

  it("takes a header that comes as a list of one", () => {
    assert.equal(verifySignature(BODY, [RIGHT], "new"), true);
  });

  it("throws without a secret, and with an empty one: anybody could sign with that", () => {
    const missing = undefined as unknown as string;
    for (const secret of ["", [], ["new", ""], missing, ["new", missing]]) {
      assert.throws(() => verifySignature(BODY, sign(BODY, ""), secret), { name: "TypeError", message: /no secret/ });
    }
  });

  it("throws at a body that was parsed already, instead of refusing every webhook", () => {
    const parsed = JSON.parse(BODY);
    assert.throws(() => verifySignature(parsed, RIGHT, "new"), { name: "TypeError", message: /body as it came/ });
  });
});
