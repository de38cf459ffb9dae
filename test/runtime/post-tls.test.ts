import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer as createPlainServer, type Server } from "node:net";
import process from "node:process";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import type { PostRequest, Reply } from "../../src/model/ports.ts";
import { createPost } from "../../src/runtime/post.ts";

const post = createPost();
const onBun = typeof Bun !== "undefined";

type Listening = AsyncDisposable & { readonly url: string };
type TlsReceiver = Listening & { readonly received: string[] };

function makeRequest(url: string): PostRequest {
  return { url, headers: {}, body: "{}", signal: new AbortController().signal };
}

/** Answers 200 to whatever is sent to it behind the certificate of that name. */
async function startTlsReceiver(certificate: string): Promise<TlsReceiver> {
  const received: string[] = [];
  const server = createServer({ cert: fixture(`${certificate}.crt`), key: fixture("server.key") }, (socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      received.push(chunk.toString());
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    });
  });
  // The handshakes that these tests are about.
  server.on("tlsClientError", () => {});
  return { ...(await listen(server)), received };
}

async function listen(server: Server): Promise<Listening> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/hook?token=query-secret`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function fixture(name: string): string {
  return readFileSync(pathOf(`../fixtures/tls/${name}`), "utf8");
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** Posts from a process of its own, which trusts the test's authority. */
async function postTrusting(url: string): Promise<Reply> {
  const script = pathOf("../fixtures/post-once.ts");
  const args = onBun ? [script, url] : ["run", "-A", "--no-check", script, url];
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: pathOf("../fixtures/tls/ca.crt") };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await text(child.stdout));
}

function assertUntrusted(reply: Reply, code: RegExp, message: RegExp): void {
  assert.equal(reply.kind, "untrusted", JSON.stringify(reply));
  assert.match(reply.code, code);
  assert.match(reply.message, message);
}

describe("a POST over TLS", () => {
  it("goes to a receiver whose certificate is good", async () => {
    await using receiver = await startTlsReceiver("good");
    const reply = await postTrusting(receiver.url);
    assert.equal(reply.kind, "answered", JSON.stringify(reply));
    assert.equal(reply.status, 200);
    assert.match(receiver.received.join(""), /^POST \/hook\?token=query-secret HTTP/);
  });

  it("is not sent to a receiver with a self-signed certificate", async () => {
    await using receiver = await startTlsReceiver("self-signed");
    const reply = await post(makeRequest(receiver.url));
    assertUntrusted(reply, /^DEPTH_ZERO_SELF_SIGNED_CERT$/, /^certificate is self-signed$/);
    assert.deepEqual(receiver.received, []);
  });

  it("is not sent to a receiver whose certificate is from an unknown issuer", async () => {
    await using receiver = await startTlsReceiver("good");
    const reply = await post(makeRequest(receiver.url));
    assertUntrusted(reply, /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/, /^certificate is from an unknown issuer/);
    assert.deepEqual(receiver.received, []);
  });

  for (const [certificate, code, message] of [
    ["expired", /^CERT_HAS_EXPIRED$/, /^certificate has expired$/],
    ["not-yet-valid", /^CERT_NOT_YET_VALID$/, /^certificate is not yet valid$/],
    ["wrong-name", /^ERR_TLS_CERT_ALTNAME_INVALID$/, /^certificate is for another host name$/],
  ] as const) {
    it(`is not sent to a receiver whose certificate is ${certificate}`, async () => {
      await using receiver = await startTlsReceiver(certificate);
      const reply = await postTrusting(receiver.url);
      // Deno's TLS gives a certificate out of its time the name of one from an unknown issuer.
      const anyCode = onBun ? code : /CERT|LEAF/;
      assertUntrusted(reply, anyCode, onBun ? message : /^certificate/);
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
