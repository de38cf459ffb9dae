import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import type { Destination } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { requestHeaders, standardHeaders } from "../../src/webhook/headers.ts";
import { makeDestination } from "../flow/make.ts";
import { anyText } from "../model/make.ts";

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

const BODY = '{"version":1,"type":"track","userId":"u1"}';
/** The bytes from 0 to 23. */
const WHSEC = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const AT = Date.UTC(2026, 10, 20, 12, 0, 0, 999);

type Changes = Partial<Parameters<typeof standardHeaders>[0]>;

/** What is sent now, so that the library finds it neither too old nor too new. */
function standardOf(secrets: readonly string[], message: Changes = {}) {
  return standardHeaders(
    { messageId: "m1", body: BODY, at: Date.now(), ...message },
    secrets.map((secret) => new Secret(secret)),
  );
}

function idOf(messageId: string): string {
  return standardOf([WHSEC], { messageId })["webhook-id"];
}

/** As receivers take a secret that has no prefix. */
function rawWebhook(secret: string): Webhook {
  return new Webhook(Buffer.from(secret), { format: "raw" });
}

// Known values are answers of: printf '%s' 'm1.1795176000.<body>' | openssl dgst -sha256 -mac HMAC -macopt key:… -binary | base64
describe("the headers of Standard Webhooks", () => {
  it("are the id, the time of the attempt in whole seconds, and the signature of both with the body", () => {
    assert.deepEqual(standardOf(["shared-secret"], { at: AT }), {
      "webhook-id": "m1",
      "webhook-timestamp": "1795176000",
      "webhook-signature": "v1,cYJ5pIlJ3HidOq5K2IZkla5JQ3p8N7wuW+vv0Wnf+uI=",
    });
  });

  it("are made with the bytes that a secret with the standard's prefix stands for", () => {
    assert.equal(
      standardOf([WHSEC], { at: AT })["webhook-signature"],
      "v1,pNDVvAV0z1y0H12OL2ynse2dcEvpphkuiywXOoNuejg=",
    );
  });

  it("are good for the standard's own library, with either kind of secret", () => {
    assert.deepEqual(new Webhook(WHSEC).verify(BODY, standardOf([WHSEC])), JSON.parse(BODY));
    assert.deepEqual(rawWebhook("Zoë's secret").verify(BODY, standardOf(["Zoë's secret"])), JSON.parse(BODY));
  });

  it("are bad for it with another secret, another body, another id or another time", () => {
    const headers = standardOf([WHSEC]);
    const other = new Webhook(WHSEC.replace("AAEC", "AAED"));
    assert.throws(() => other.verify(BODY, headers), /No matching signature/);
    const webhook = new Webhook(WHSEC);
    assert.throws(() => webhook.verify(`${BODY} `, headers), /No matching signature/);
    assert.throws(() => webhook.verify(BODY, { ...headers, "webhook-id": "m2" }), /No matching signature/);
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    assert.throws(() => webhook.verify(BODY, { ...headers, "webhook-timestamp": later }), /No matching signature/);
    assert.throws(() => webhook.verify(BODY, standardOf([WHSEC], { at: Date.now() - 600_000 })), /too old/);
  });

  it("have a signature for each secret, so that a receiver that knows one of them takes it", () => {
    const headers = standardOf([WHSEC, "the-old-one"]);
    assert.match(headers["webhook-signature"], /^v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
    assert.deepEqual(new Webhook(WHSEC).verify(BODY, headers), JSON.parse(BODY));
    assert.deepEqual(rawWebhook("the-old-one").verify(BODY, headers), JSON.parse(BODY));
  });

  it("are good for any messageId, body and secret", () => {
    fc.assert(
      fc.property(anyText, fc.jsonValue(), fc.string({ minLength: 1 }), (messageId, value, secret) => {
        const body = JSON.stringify(value);
        const text = secret.replace(/^whsec_/, "");
        fc.pre(text !== "");
        const headers = standardOf([text], { messageId: `m${messageId}`, body });
        assert.deepEqual(rawWebhook(text).verify(body, headers), JSON.parse(body));
      }),
    );
  });
});

describe("webhook-id", () => {
  it("is the messageId, as clients commonly make it", () => {
    for (const id of ["node-next-1795185203079-c037b671-a1b4", "c037b671-a1b4-4cd7-b0d8", "order:42/a+b_c~"]) {
      assert.equal(idOf(id), id);
    }
  });

  it("has no dot, which would let a client choose where the time and the body begin", () => {
    assert.equal(idOf('m.1795176000.{"type":"track"}'), 'm%2E1795176000%2E{"type":"track"}');
  });

  it("has no character that a header cannot hold", () => {
    assert.equal(idOf(" a\r\nX-Injected: 1"), "%20a%0D%0AX-Injected:%201");
    assert.equal(idOf("Zoë 🙂"), "Zo%C3%AB%20%F0%9F%99%82");
    assert.equal(idOf("half \ud83d"), "half%20%EF%BF%BD");
    fc.assert(fc.property(anyText, (text) => assert.match(idOf(text), /^[!-~]*$/)));
  });

  it("is different for every messageId", () => {
    assert.notEqual(idOf("a b"), idOf("a%20b"));
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        assert.equal(idOf(one) === idOf(other), one.toWellFormed() === other.toWellFormed());
      }),
    );
  });
});
