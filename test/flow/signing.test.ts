import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { Webhook } from "standardwebhooks";
import { Secret } from "../../src/model/secret.ts";
import { SECOND } from "../../src/model/units.ts";
import { startDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, URL_A, URL_B } from "./make.ts";
import type { Sent } from "./network.ts";

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

describe("Standard Webhooks", () => {
  const secrets = ["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "whsec_GBkaGxwdHh8gISIjJCUmJygpKissLS4v"] as const;
  const config = {
    destinations: withSecrets(...secrets).destinations.map((one) => ({ ...one, standardWebhooks: true })),
  };

  function standard({ headers }: Sent) {
    const { "webhook-id": id = "", "webhook-timestamp": time = "", "webhook-signature": signatures = "" } = headers;
    return { id, time: Number(time), signatures };
  }

  it("are signed by each secret, beside X-Signature", async () => {
    await using d = await startDaemon({ config });
    await d.call("/v1/track", TRACK);
    const sent = d.sent[0] ?? assert.fail("nothing was sent");
    const { id, time, signatures } = standard(sent);
    assert.equal(id, "m1");
    assert.equal(time, Math.floor(d.clock.wall() / SECOND));
    const expected = secrets.map((secret) => new Webhook(secret).sign(id, new Date(time * SECOND), sent.body));
    assert.equal(signatures, expected.join(" "));
    assert.equal(sent.headers["X-Signature"], createHmac("sha1", secrets[0]).update(sent.body).digest("hex"));
  });

  it("keep their id over all attempts, of delete notices too, and have the time of each attempt", async () => {
    await using d = await startDaemon({ config, answers: ({ nth }) => (nth <= 2 ? 503 : 200) });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u"] } });
    await d.clock.rest();
    await d.clock.advance("1m");
    const attempts = d.sent.map(standard);
    assert.equal(attempts.length, 3);
    assert.match(attempts[0]?.id ?? "", /^delete-[\da-f-]+$/);
    assert.equal(new Set(attempts.map(({ id }) => id)).size, 1);
    const times = attempts.map(({ time }) => time);
    assert.deepEqual(
      times,
      d.sent.map(({ at }) => Math.floor((at + d.clock.wall() - d.clock.now()) / SECOND)),
    );
    assert.equal(new Set(times).size, 3);
  });

  it("have different ids for the notices of two users", async () => {
    await using d = await startDaemon({ config });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1", "u2"] } });
    await d.clock.rest();
    assert.equal(new Set(d.sent.map((sent) => standard(sent).id)).size, 2);
  });

  it("are not sent where nobody has asked for them", async () => {
    await using d = await startDaemon({ config: withSecrets("s") });
    await d.call("/v1/track", TRACK);
    assert.deepEqual(Object.keys(d.sent[0]?.headers ?? {}), ["User-Agent", "Content-Type", "X-Signature"]);
  });
});

describe("static headers (SPEC.md 2.1)", () => {
  it("go only to the webhook that they belong to", async () => {
    const webhooks = [
      { url: URL_A, headers: [["X-Which", new Secret("a")] as const], tls: null },
      { url: URL_B, headers: [["X-Which", new Secret("b")] as const, ["X-More", new Secret("2")] as const], tls: null },
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
