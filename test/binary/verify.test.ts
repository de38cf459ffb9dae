import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { feed } from "./feed.ts";
import { PATIENT } from "./waiting.ts";
import { makeWorld, SECRET } from "./world.ts";

const BODY = '{"version":1,"type":"track","event":"Signed Up"}';
const env = { FAIRLEAD_SECRET: SECRET };

function hmac(body: string | Uint8Array): string {
  return createHmac("sha1", SECRET).update(body).digest("hex");
}

describe("fairlead verify", () => {
  it("finds a signature right, from standard input and from a file", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("body.json", BODY);
    await w.write("secret", `${SECRET}\n`);
    const ok = { code: 0, out: "ok\n", err: "" };
    assert.deepEqual(feed(w, ["verify", "--signature", hmac(BODY)], { input: BODY, env }), ok);
    const files = ["--body", "body.json", "--secret-file", "secret"];
    assert.deepEqual(feed(w, ["verify", "--signature", hmac(BODY), ...files]), ok);
  });

  it("prints the signature without --signature, so that test requests can be made", PATIENT, async () => {
    await using w = await makeWorld();
    assert.deepEqual(feed(w, ["verify"], { input: BODY, env }), { code: 0, out: `${hmac(BODY)}\n`, err: "" });
    const json = feed(w, ["verify", "--json"], { input: BODY, env });
    assert.deepEqual(JSON.parse(json.out), { signature: hmac(BODY) });
  });

  it("takes the bytes as they come", PATIENT, async () => {
    await using w = await makeWorld();
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, 0xff, 0x0d, 0x0a);
    assert.equal(feed(w, ["verify", "--signature", hmac(bytes)], { input: bytes, env }).out, "ok\n");
  });

  it("finds a body with the newline of echo wrong, and says how to do without", PATIENT, async () => {
    await using w = await makeWorld();
    const { code, out } = feed(w, ["verify", "--signature", hmac(BODY)], { input: `${BODY}\n`, env });
    assert.equal(code, 1);
    const [wrong, hint] = out.split("\n");
    assert.equal(wrong, `wrong: the signature of this body with this secret is ${hmac(`${BODY}\n`)}`);
    assert.match(hint ?? "", /^hint: .*echo adds one/);
  });

  it("says as JSON what is wrong", PATIENT, async () => {
    await using w = await makeWorld();
    const args = ["verify", "--json", "--signature", hmac("another body")];
    const { code, out } = feed(w, args, { input: BODY, env });
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(out), { valid: false, expected: hmac(BODY) });
    assert.deepEqual(JSON.parse(feed(w, args, { input: "another body", env }).out), { valid: true });
  });

  it("exits 2 if it cannot check: without a secret, or without a body", PATIENT, async () => {
    await using w = await makeWorld();
    const secretless = feed(w, ["verify"], { input: BODY });
    assert.equal(secretless.code, 2);
    assert.match(
      secretless.err,
      /^fairlead: there is no secret: set \$FAIRLEAD_SECRET, or name a file with --secret-file$/m,
    );
    const unread = feed(w, ["verify", "--secret-file", "secret"], { input: BODY, env });
    assert.deepEqual(unread, { code: 2, out: "", err: "fairlead: cannot read --secret-file secret: no such file\n" });
    const bodyless = feed(w, ["verify", "--body", "none"], { env });
    assert.deepEqual(bodyless, { code: 2, out: "", err: "fairlead: cannot read --body none: no such file\n" });
  });

  it("takes the secrets of a list, of which the first signs", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("new", "the-new-one\n");
    await w.write("old", `${SECRET}\n`);
    const files = ["--secret-file", "new", "--secret-file", "old"];
    const { code, out } = feed(w, ["verify", ...files, "--signature", hmac(BODY)], { input: BODY });
    assert.equal(code, 1);
    assert.match(out, /^hint: it was made with the secret in old, but Fairlead signs with the first of a list$/m);
    const signed = feed(w, ["verify", "--secret-file", "old", "--secret-file", "new"], { input: BODY });
    assert.equal(signed.out, `${hmac(BODY)}\n`);
    const missing = feed(w, ["verify", "--secret-file", "new", "--secret-file", "none"], { input: BODY });
    assert.deepEqual(missing, { code: 2, out: "", err: "fairlead: cannot read --secret-file none: no such file\n" });
  });

  it("finds a signature by another secret wrong", PATIENT, async () => {
    await using w = await makeWorld();
    const another = { FAIRLEAD_SECRET: `${SECRET}2` };
    const args = ["verify", "--signature", hmac(BODY)];
    assert.equal(feed(w, args, { input: BODY, env: another }).code, 1);
  });
});
