import assert from "node:assert/strict";
import { createServer as createPlainServer } from "node:net";
import { describe, it } from "node:test";
import type { WebhookTls } from "../../src/model/config.ts";
import type { PostRequest, Reply } from "../../src/model/ports.ts";
import { Secret } from "../../src/model/secret.ts";
import { createPost } from "../../src/runtime/post.ts";
import { certificatePath, fixture, listen, postFromProcess, startTlsReceiver, type TlsReceiver } from "./tls.ts";

const post = createPost();
const onBun = typeof Bun !== "undefined";
const TRUSTING = { NODE_EXTRA_CA_CERTS: certificatePath("ca") };

function makeRequest(url: string, tls: WebhookTls | null = null): PostRequest {
  return { url, headers: {}, body: "{}", tls, signal: new AbortController().signal };
}

function trusting(ca: string, client?: string): WebhookTls {
  if (client === undefined) return { ca: fixture(`${ca}.crt`), cert: null, key: null };
  const key = new Secret(fixture("server.key"));
  return { ca: fixture(`${ca}.crt`), cert: fixture(`${client}.crt`), key };
}

function assertAnswered(reply: Reply): void {
  assert.equal(reply.kind, "answered", JSON.stringify(reply));
  assert.equal(reply.status, 200);
}

function assertUntrusted(reply: Reply, code: RegExp, message: RegExp): void {
  assert.equal(reply.kind, "untrusted", JSON.stringify(reply));
  assert.match(reply.code, code);
  assert.match(reply.message, message);
}

describe("a POST over TLS", () => {
  it("goes to a receiver whose certificate is good", async () => {
    await using receiver = await startTlsReceiver("good");
    assertAnswered(await postFromProcess({ url: receiver.url, env: TRUSTING }));
    assert.match(receiver.received.join(""), /^POST \/hook\?token=query-secret HTTP/);
  });

  it("is not sent to a receiver with a self-signed certificate", async () => {
    await using receiver = await startTlsReceiver("self-signed");
    const words =
      /^the certificate of 127\.0\.0\.1 is self-signed: the receiver needs one from an authority; .*set ca: to its file$/;
    assertUntrusted(await post(makeRequest(receiver.url)), /^DEPTH_ZERO_SELF_SIGNED_CERT$/, words);
    assert.deepEqual(receiver.received, []);
  });

  it("is not sent either where https is written in capitals", async () => {
    await using receiver = await startTlsReceiver("self-signed");
    const url = receiver.url.replace("https", "HTTPS");
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    assertUntrusted(await postFromProcess({ url, env }), /SELF_SIGNED/, /is self-signed/);
    assert.deepEqual(receiver.received, []);
  });

  it("is not sent to a receiver whose certificate is from an unknown authority", async () => {
    for (const certificates of ["good", "good ca"]) {
      await using receiver = await startTlsReceiver(certificates);
      const words =
        /^the certificate of 127\.0\.0\.1 is from an unknown authority.*: if the authority is your own, set ca: to its file; /;
      const codes = /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN)$/;
      assertUntrusted(await post(makeRequest(receiver.url)), codes, words);
      assert.deepEqual(receiver.received, []);
    }
  });

  for (const [certificate, code, message] of [
    ["expired", /^CERT_HAS_EXPIRED$/, /^the certificate of 127\.0\.0\.1 has expired: renew it there$/],
    [
      "not-yet-valid",
      /^CERT_NOT_YET_VALID$/,
      /^the certificate of 127\.0\.0\.1 is not valid yet: set this machine's clock/,
    ],
    [
      "wrong-name",
      /^ERR_TLS_CERT_ALTNAME_INVALID$/,
      /^the certificate of 127\.0\.0\.1 is for another host name: put a name/,
    ],
  ] as const) {
    it(`is not sent to a receiver whose certificate is ${certificate}`, async () => {
      await using receiver = await startTlsReceiver(certificate);
      const reply = await post(makeRequest(receiver.url, trusting("ca")));
      // Deno's TLS gives a certificate out of its time the name of one from an unknown authority.
      if (onBun || certificate === "wrong-name") assertUntrusted(reply, code, message);
      else assertUntrusted(reply, /LEAF/, /, or expired, or not valid yet \(Deno does not say which\): /);
      assert.deepEqual(receiver.received, []);
    });
  }

  it("says that the handshake failed where there is no TLS", async () => {
    const server = createPlainServer(
      (socket) => void socket.once("data", () => socket.end("HTTP/1.1 400 Bad\r\n\r\n")),
    );
    await using receiver = await listen(server);
    const reply = await post(makeRequest(receiver.url));
    assert.equal(reply.kind, "unreachable", JSON.stringify(reply));
    assert.match(reply.message, /^TLS handshake failed/);
  });
});

describe("a POST with authorities of its own", () => {
  it("goes to a receiver whose certificate is from one of them", async () => {
    await using receiver = await startTlsReceiver("good");
    assertAnswered(await post(makeRequest(receiver.url, trusting("ca"))));
    const several = { ...trusting("ca"), ca: fixture("client-ca.crt") + fixture("ca.crt") };
    assertAnswered(await post(makeRequest(receiver.url, several)));
  });

  it("goes to no other, also if the machine trusts that", async () => {
    await using receiver = await startTlsReceiver("good");
    const words = /^the certificate of 127\.0\.0\.1 is from none of the authorities in the file of ca.*: put the root/;
    const reply = await postFromProcess({ url: receiver.url, ca: "client-ca", env: TRUSTING });
    assertUntrusted(reply, /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/, words);
    assert.deepEqual(receiver.received, []);
  });

  it("goes to a receiver whose own certificate is among them, although that is self-signed", async () => {
    await using receiver = await startTlsReceiver("self-signed");
    assertAnswered(await post(makeRequest(receiver.url, trusting("self-signed"))));
    assertUntrusted(await post(makeRequest(receiver.url, trusting("ca"))), /SELF_SIGNED/, /in the file of ca$/);
  });

  it("opens no way for the POSTs of another webhook to the same host", async () => {
    await using receiver = await startTlsReceiver("good");
    assertAnswered(await post(makeRequest(receiver.url, trusting("ca"))));
    assertUntrusted(await post(makeRequest(receiver.url)), /LEAF/, /unknown authority/);
    assert.equal(receiver.received.length, 1);
  });
});

describe("a POST with a certificate of ours", () => {
  it("goes to a receiver that asks for it", async () => {
    await using receiver = await startTlsReceiver("good", { asks: true });
    assertAnswered(await post(makeRequest(receiver.url, trusting("ca", "client"))));
    assert.deepEqual(receiver.clients, ["client 1"]);
  });

  it("shares connections by its certificate: another one gets new ones, as after a reload", async () => {
    await using receiver = await startTlsReceiver("good", { asks: true });
    const [old, renewed] = [trusting("ca", "client"), trusting("ca", "client-renewed")];
    for (const tls of [old, old, renewed, renewed]) await answered(await post(makeRequest(receiver.url, tls)));
    assert.deepEqual(receiver.clients, ["client 1", "client 1", "client-renewed 2", "client-renewed 2"]);
  });

  it("is missed in words: what is asked for, or refused, is ours and not theirs", async () => {
    await using receiver = await startTlsReceiver("good", { asks: true });
    const none = await post(makeRequest(receiver.url, trusting("ca")));
    assert.equal(none.kind, "unreachable", JSON.stringify(none));
    assert.match(none.message, /requires a client certificate/);
    const wrong = await post(makeRequest(receiver.url, trusting("ca", "self-signed")));
    assert.equal(wrong.kind, "unreachable", JSON.stringify(wrong));
    assert.match(wrong.message, /refuses the certificate in cert/);
    assert.deepEqual(receiver.received, []);
  });
});

describe("POSTs to many receivers over TLS", () => {
  it("open no more connections than there are POSTs at once", async () => {
    const slots = 4;
    await using all = new AsyncDisposableStack();
    const receivers: TlsReceiver[] = [];
    for (let nth = 0; nth < 30; nth += 1) receivers.push(all.use(await startTlsReceiver("good")));
    async function postMany(url: string, tls: WebhookTls): Promise<void> {
      for (let nth = 0; nth < 20; nth += 1) await answered(await post(makeRequest(url, tls)));
    }
    await Promise.all(
      receivers.flatMap(({ url }) => {
        // Each webhook has settings of its own, even if they are the same as another's.
        const tls = trusting("ca");
        return Array.from({ length: slots }, () => postMany(url, tls));
      }),
    );
    for (const { url, clients } of receivers) {
      const connections = new Set(clients).size;
      assert.ok(connections <= slots, `${url}: ${connections} connections`);
    }
  });
});

/** Its connection is free again once the body is read. */
async function answered(reply: Reply): Promise<void> {
  assertAnswered(reply);
  if (reply.kind === "answered") await reply.body;
}
