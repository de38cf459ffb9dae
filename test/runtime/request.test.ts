import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { KB } from "../../src/model/units.ts";
import { type Ask, type Exchange, request } from "../../src/runtime/request.ts";
import { type AnswerRequest, closed, flood, holdPort, startReceiver } from "./receiver.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-request-"));
after(() => rmSync(folder, { recursive: true }));

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Is: here\r\n\r\nhello";

type Where = { readonly base: string };

/** Asks a receiver that answers as said. */
async function ask(answer: AnswerRequest, more: Partial<Ask> = {}): Promise<Exchange & { readonly sent: string }> {
  await using receiver = await startReceiver(answer);
  const exchange = await request({ base: new URL(receiver.url).origin, method: "GET", path: "/", ...more });
  return { ...exchange, sent: receiver.requests[0] ?? "" };
}

async function get({ base }: Where): Promise<Exchange> {
  return request({ base, method: "GET", path: "/" });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

describe("a request over TCP", () => {
  it("brings the whole answer", async () => {
    const exchange = await ask((socket) => socket.end(ANSWER));
    assert.ok(exchange.kind === "answered");
    assert.deepEqual([exchange.status, exchange.text, exchange.headers.get("x-is")], [200, "hello", "here"]);
  });

  it("sends method, path with query, headers and the bytes of the body", async () => {
    const headers = { Authorization: "Basic azo=" };
    const { sent } = await ask((socket) => socket.end(ANSWER), { method: "PUT", path: "/a?b=c", headers, body: "hé" });
    assert.match(sent, /^PUT \/a\?b=c HTTP\/1\.1\r\n/);
    assert.match(sent, /^Authorization: Basic azo=\r$/m);
    assert.match(sent, /^Content-Length: 3\r$/m);
    assert.ok(sent.endsWith(`\r\n\r\n${Buffer.from("hé").toString("latin1")}`));
  });

  it("goes below the path of a base that has one", async () => {
    await using receiver = await startReceiver((socket) => socket.end(ANSWER));
    await request({ base: `${new URL(receiver.url).origin}/events/`, method: "POST", path: "/v1/track", body: "{}" });
    assert.match(receiver.requests[0] ?? "", /^POST \/events\/v1\/track HTTP/);
  });

  it("takes any status for an answer, and does not follow a redirect", async () => {
    for (const status of [201, 302, 404, 503]) {
      const head = `HTTP/1.1 ${status} Any\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n`;
      const exchange = await ask((socket) => socket.end(head));
      assert.ok(exchange.kind === "answered");
      assert.equal(exchange.status, status);
    }
  });

  it("joins an answer that comes in pieces, also in the middle of a character", async () => {
    const [start = 0, end = 0] = Buffer.from("é");
    const exchange = await ask((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (const byte of [start, end]) {
        socket.write(Buffer.concat([Buffer.from("1\r\n"), Buffer.of(byte), Buffer.from("\r\n")]));
      }
      socket.end("0\r\n\r\n");
    });
    assert.ok(exchange.kind === "answered");
    assert.equal(exchange.text, "é");
  });

  it("does not go through a proxy that the environment names", async () => {
    await using nobody = await holdPort();
    const { env } = process;
    env.HTTP_PROXY = env.http_proxy = `http://127.0.0.1:${nobody.port}`;
    try {
      assert.equal((await ask((socket) => socket.end(ANSWER))).kind, "answered");
    } finally {
      delete env.HTTP_PROXY;
      delete env.http_proxy;
    }
  });
});

describe("a request over a Unix socket", () => {
  it("brings the whole answer", async () => {
    const path = join(folder, "own.sock");
    let sent = "";
    const server = createServer((socket) => {
      socket.on("data", (chunk) => {
        sent += chunk;
        socket.end(ANSWER);
      });
    });
    await once(server.listen(path), "listening");
    const exchange = await request({ base: `unix:${path}`, method: "GET", path: "/api/status?limit=1" });
    await close(server);
    assert.ok(exchange.kind === "answered");
    assert.equal(exchange.text, "hello");
    assert.match(sent, /^GET \/api\/status\?limit=1 HTTP\/1\.1\r\n/);
    assert.match(sent, /^Host: localhost\r$/im);
  });

  it("fails in words if there is no such socket, or nobody behind it", async () => {
    const none = await get({ base: `unix:${join(folder, "none.sock")}` });
    assert.deepEqual(none, { kind: "failed", code: "ENOENT", reason: "there is no such socket" });
    const file = join(folder, "file");
    writeFileSync(file, "");
    const refused = await get({ base: `unix:${file}` });
    assert.deepEqual(refused, { kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });
  });
});

describe("a request that brings no answer", () => {
  it("says that the connection was refused", async () => {
    await using nobody = await holdPort();
    const exchange = await get({ base: `http://127.0.0.1:${nobody.port}` });
    assert.deepEqual(exchange, { kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });
  });

  it("says that there is no such name", async () => {
    const exchange = await get({ base: "http://nobody.invalid" });
    assert.ok(exchange.kind === "failed");
    // A machine without a network has no name server either.
    assert.match(exchange.reason, /^(name not found|no name server answered)$/);
  });

  it("gives up after its timeout, and hangs up", async () => {
    await using receiver = await startReceiver(() => {});
    const { origin } = new URL(receiver.url);
    const exchange = await request({ base: origin, method: "GET", path: "/", timeout: 100 });
    assert.deepEqual(exchange, { kind: "failed", code: null, reason: "no answer within 100ms" });
    for (const socket of receiver.sockets) await closed(socket);
  });

  it("gives up on an answer that begins and never ends", async () => {
    const exchange = await ask((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"), {
      timeout: 100,
    });
    assert.ok(exchange.kind === "failed");
    assert.equal(exchange.reason, "no answer within 100ms");
  });

  it("takes no more than it was told to, and hangs up on the rest", async () => {
    await using receiver = await startReceiver((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      flood(socket, "x".repeat(64 * KB), 1_024 * 1_024 * KB);
    });
    const { origin } = new URL(receiver.url);
    const exchange = await request({ base: origin, method: "GET", path: "/", maxBytes: 100 * KB });
    assert.deepEqual(exchange, { kind: "failed", code: null, reason: "the answer is larger than 100KB" });
    for (const socket of receiver.sockets) await closed(socket);
  });

  it("takes an answer that is just as large as it may be", async () => {
    assert.equal((await ask((socket) => socket.end(ANSWER), { maxBytes: 5 })).kind, "answered");
    assert.equal((await ask((socket) => socket.end(ANSWER), { maxBytes: 4 })).kind, "failed");
  });

  it("does not take half of an answer for the whole", async () => {
    const cuts = [
      "",
      "HTTP/1.1 200 OK\r\nContent-Le",
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
    ];
    for (const cut of cuts) {
      const exchange = await ask((socket) => socket.end(cut));
      assert.ok(exchange.kind === "failed", cut);
      assert.equal(exchange.reason, "connection closed before an answer");
    }
  });

  it("says that something else answers there", async () => {
    const exchange = await ask((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    assert.ok(exchange.kind === "failed");
    assert.equal(exchange.reason, "the answer is not valid HTTP");
  });

  it("sends nothing to a certificate that is self-signed, whatever the environment says", async () => {
    const fixture = (name: string): string => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");
    let received = 0;
    const server = createTlsServer({ cert: fixture("self-signed.crt"), key: fixture("server.key") }, (socket) => {
      socket.on("data", (chunk: Buffer) => {
        received += chunk.length;
      });
    });
    server.on("tlsClientError", () => {});
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { env } = process;
    env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    const exchange = await get({ base: `https://localhost:${(server.address() as AddressInfo).port}` });
    delete env.NODE_TLS_REJECT_UNAUTHORIZED;
    await close(server);
    assert.ok(exchange.kind === "failed");
    assert.equal(exchange.reason, "certificate is self-signed");
    assert.equal(received, 0);
  });
});
