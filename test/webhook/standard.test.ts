import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { Secret } from "../../src/model/secret.ts";
import { standardHeaders } from "../../src/webhook/headers.ts";
import { anyText } from "../model/make.ts";

const BODY = '{"version":1,"type":"track","userId":"u1"}';
/** The bytes from 0 to 23. */
const WHSEC = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const AT = Date.UTC(2026, 10, 20, 12, 0, 0, 999);

type Changes = Partial<Parameters<typeof standardHeaders>[0]>;

/** What is sent now, so that the library finds it neither too old nor too new. */
function headersOf(secrets: readonly string[], message: Changes = {}) {
  return standardHeaders(
    { messageId: "m1", body: BODY, at: Date.now(), ...message },
    secrets.map((secret) => new Secret(secret)),
  );
}

function idOf(messageId: string): string {
  return headersOf([WHSEC], { messageId })["webhook-id"];
}

/** As receivers take a secret that has no prefix. */
function rawWebhook(secret: string): Webhook {
  return new Webhook(Buffer.from(secret), { format: "raw" });
}

// Known values are answers of: printf '%s' 'm1.1795176000.<body>' | openssl dgst -sha256 -mac HMAC -macopt key:… -binary | base64
describe("the headers of Standard Webhooks", () => {
  it("are the id, the time of the attempt in whole seconds, and the signature of both with the body", () => {
    assert.deepEqual(headersOf(["shared-secret"], { at: AT }), {
      "webhook-id": "m1",
      "webhook-timestamp": "1795176000",
      "webhook-signature": "v1,cYJ5pIlJ3HidOq5K2IZkla5JQ3p8N7wuW+vv0Wnf+uI=",
    });
  });

  it("are made with the bytes that a secret with the standard's prefix stands for", () => {
    assert.equal(
      headersOf([WHSEC], { at: AT })["webhook-signature"],
      "v1,pNDVvAV0z1y0H12OL2ynse2dcEvpphkuiywXOoNuejg=",
    );
  });

  it("are good for the standard's own library, with either kind of secret", () => {
    assert.deepEqual(new Webhook(WHSEC).verify(BODY, headersOf([WHSEC])), JSON.parse(BODY));
    assert.deepEqual(rawWebhook("Zoë's secret").verify(BODY, headersOf(["Zoë's secret"])), JSON.parse(BODY));
  });

  it("are bad for it with another secret, another body, another id or another time", () => {
    const headers = headersOf([WHSEC]);
    const other = new Webhook(WHSEC.replace("AAEC", "AAED"));
    assert.throws(() => other.verify(BODY, headers), /No matching signature/);
    const webhook = new Webhook(WHSEC);
    assert.throws(() => webhook.verify(`${BODY} `, headers), /No matching signature/);
    assert.throws(() => webhook.verify(BODY, { ...headers, "webhook-id": "m2" }), /No matching signature/);
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    assert.throws(() => webhook.verify(BODY, { ...headers, "webhook-timestamp": later }), /No matching signature/);
    assert.throws(() => webhook.verify(BODY, headersOf([WHSEC], { at: Date.now() - 600_000 })), /too old/);
  });

  it("have a signature for each secret, so that a receiver that knows one of them takes it", () => {
    const headers = headersOf([WHSEC, "the-old-one"]);
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
        const headers = headersOf([text], { messageId: `m${messageId}`, body });
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

  it("is another one for every messageId", () => {
    assert.notEqual(idOf("a b"), idOf("a%20b"));
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        assert.equal(idOf(one) === idOf(other), one.toWellFormed() === other.toWellFormed());
      }),
    );
  });
});
