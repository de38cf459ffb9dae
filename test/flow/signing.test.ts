import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { startDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, URL_A, URL_B } from "./make.ts";

const TRACK = { userId: "u1", event: "Grüße, 世界 🌍", messageId: "m1" };

function withSecrets(...secrets: string[]) {
  return { destinations: [makeDestination({ sharedSecrets: secrets.map((secret) => new Secret(secret)) })] };
}

describe("signing (SPEC.md 5)", () => {
  it("sends X-Signature: the lowercase hexadecimal HMAC-SHA1 of the body with the shared secret", async () => {
    await using d = await startDaemon({ config: withSecrets("shared secret") });
    await d.call("/v1/track", TRACK);
    const { headers, body } = d.sent[0] ?? assert.fail("nothing was sent");
    const expected = createHmac("sha1", "shared secret").update(body, "utf8").digest("hex");
    assert.equal(headers["X-Signature"], expected);
    assert.match(expected, /^[0-9a-f]{40}$/);
  });

  it("verifies for a receiver that signs what it has parsed and written again", async () => {
    await using d = await startDaemon({ config: withSecrets("s") });
    await d.call("/v1/track", { ...TRACK, properties: { "2": "b", "1": "a", price: 1.5e300, "<": "\u2028" } });
    const { headers, body } = d.sent[0] ?? assert.fail("nothing was sent");
    const again = JSON.stringify(JSON.parse(body));
    assert.equal(headers["X-Signature"], createHmac("sha1", "s").update(again).digest("hex"));
  });

  it("sends no X-Signature without a shared secret", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", TRACK);
    assert.equal(d.sent[0]?.headers["X-Signature"], undefined);
  });

  it("signs with the first of several secrets", async () => {
    await using d = await startDaemon({ config: withSecrets("new", "old") });
    await d.call("/v1/track", TRACK);
    const { headers, body } = d.sent[0] ?? assert.fail("nothing was sent");
    assert.equal(headers["X-Signature"], createHmac("sha1", "new").update(body).digest("hex"));
  });

  it("signs every type of message, delete notifications included", async () => {
    await using d = await startDaemon({ config: withSecrets("s") });
    const call = { userId: "u", event: "e", groupId: "g", previousId: "p" };
    for (const type of ["identify", "track", "page", "screen", "group", "alias"]) await d.call(`/v1/${type}`, call);
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u"] } });
    await d.clock.rest();
    assert.equal(d.sent.length, 7);
    for (const { headers, body } of d.sent) {
      assert.equal(headers["X-Signature"], createHmac("sha1", "s").update(body).digest("hex"));
    }
  });

  it("signs with the new secret from the round after a reload on", async () => {
    await using d = await startDaemon({ config: withSecrets("old"), answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    await d.call("/v1/track", TRACK);
    await d.app.reload(makeConfig({ ...d.config, ...withSecrets("new", "old") }));
    await d.clock.advance("2s");
    const signatures = d.sent.map(({ headers }) => headers["X-Signature"]);
    const body = d.sent[0]?.body ?? "";
    assert.deepEqual(
      signatures,
      ["old", "new"].map((secret) => createHmac("sha1", secret).update(body).digest("hex")),
    );
  });
});

describe("static headers (SPEC.md 2.1)", () => {
  it("go only to the webhook that they belong to", async () => {
    const webhooks = [
      { url: URL_A, headers: [["X-Which", new Secret("a")] as const] },
      { url: URL_B, headers: [["X-Which", new Secret("b")] as const, ["X-More", new Secret("2")] as const] },
    ];
    await using d = await startDaemon({
      config: { destinations: [{ ...makeDestination(), webhooks }] },
      answers: () => ({ status: 200, after: 10 }),
    });
    await d.call("/v1/track", TRACK);
    const byUrl = Object.fromEntries(d.sent.map(({ url, headers }) => [url, [headers["X-Which"], headers["X-More"]]]));
    assert.deepEqual(byUrl, { [URL_A]: ["a", undefined], [URL_B]: ["b", "2"] });
  });
});
