import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/destination.ts";
import { Secret } from "../../src/model/secret.ts";
import { requestHeaders } from "../../src/webhook/headers.ts";
import { makeDestination } from "../flow/make.ts";

const ALWAYS = { "User-Agent": "Fairlead/1.0", "Content-Type": "application/json" };

describe("the headers of a request (SPEC.md 4.1)", () => {
  it("name the service and the type of the body, and nothing else when nothing is configured", () => {
    assert.deepEqual(headersOf(makeDestination()), ALWAYS);
  });

  it("have the static ones of the webhook", () => {
    const destination = makeDestination({ headers: { Authorization: "Bearer t", "X-Env": "prod" } });
    assert.deepEqual(headersOf(destination), { ...ALWAYS, Authorization: "Bearer t", "X-Env": "prod" });
  });

  it("have a signature when there is a shared secret, made with the first one (SPEC.md 5)", () => {
    const sharedSecrets = [new Secret("shared-secret"), new Secret("the-old-one")];
    // printf '%s' '{"version":1,"type":"track","userId":"u1"}' | openssl dgst -sha1 -hmac 'shared-secret'
    const signature = "28c7bb2b376ddf732218110bd5daccb954ab68f8";
    assert.deepEqual(headersOf(makeDestination({ sharedSecrets })), { ...ALWAYS, "X-Signature": signature });
  });

  it("have those of Standard Webhooks beside it where the destination has them, with a signature for each secret", () => {
    const sharedSecrets = [new Secret("shared-secret"), new Secret("the-old-one")];
    const headers = headersOf(makeDestination({ sharedSecrets, standardWebhooks: true }));
    assert.equal(headers["X-Signature"], "28c7bb2b376ddf732218110bd5daccb954ab68f8");
    assert.equal(headers["webhook-id"], "m1");
    assert.equal(headers["webhook-timestamp"], "1795176000");
    assert.match(headers["webhook-signature"] ?? "", /^v1,cYJ5pIlJ3HidOq5K2IZkla5JQ3p8N7wuW\+vv0Wnf\+uI= v1,\S{44}$/);
  });
});

function headersOf(destination: Destination): Record<string, string> {
  const [webhook] = destination.webhooks;
  if (!webhook) throw new Error("the destination has no webhook");
  const delivery = { messageId: "m1", body: '{"version":1,"type":"track","userId":"u1"}' };
  return requestHeaders(webhook, delivery, { destination, at: Date.UTC(2026, 10, 20, 12) });
}
