import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import type { Reply } from "../../src/model/ports.ts";
import { holdPort, startReceiver } from "./receiver.ts";
import { type PostOnce, postFromProcess, startTlsReceiver } from "./tls.ts";

/** Without this one, Deno takes no notice of the others. */
const ON_DENO = { NODE_USE_ENV_PROXY: "1" };

type Proxy = AsyncDisposable & { readonly host: string; readonly asked: readonly string[] };

/** Connects whoever asks with CONNECT, or answers that status instead. */
async function startProxy(refusal?: string): Promise<Proxy> {
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    sockets.push(client);
    client.on("error", () => {});
    client.once("data", (head) => {
      const [line = ""] = head.toString().split("\r\n");
      asked.push(line);
      if (refusal !== undefined) return void client.end(`HTTP/1.1 ${refusal}\r\nContent-Length: 0\r\n\r\n`);
      const { host, port } = /^CONNECT (?<host>[^:]+):(?<port>\d+) /.exec(line)?.groups ?? {};
      const upstream = connect(Number(port), host, () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        client.pipe(upstream).pipe(client);
      });
      upstream.on("error", () => client.destroy());
      sockets.push(upstream);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ host: `127.0.0.1:${port}`, asked },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function postThrough(proxy: Pick<Proxy, "host">, { url, ca = "ca", env }: PostOnce): Promise<Reply> {
  const HTTPS_PROXY = `http://me:hush@${proxy.host}`;
  return postFromProcess({ url, ca, env: { HTTPS_PROXY, HTTP_PROXY: HTTPS_PROXY, ...ON_DENO, ...env } });
}

function messageOf(reply: Reply): string {
  assert.equal(reply.kind, "unreachable", JSON.stringify(reply));
  assert.doesNotMatch(reply.message, /hush|query-secret/);
  return reply.message;
}

describe("a POST with HTTPS_PROXY in the environment", () => {
  it("goes through the proxy, which sees nothing of it", async () => {
    await using receiver = await startTlsReceiver("good");
    await using proxy = await startProxy();
    const reply = await postThrough(proxy, { url: receiver.url });
    assert.equal(reply.kind, "answered", JSON.stringify(reply));
    assert.deepEqual(proxy.asked, [`CONNECT ${new URL(receiver.url).host} HTTP/1.1`]);
    assert.match(receiver.received.join(""), /^POST \/hook/);
  });

  it("has the receiver's certificate checked behind the proxy, by the authorities of its webhook", async () => {
    await using receiver = await startTlsReceiver("good");
    await using proxy = await startProxy();
    const reply = await postThrough(proxy, { url: receiver.url, ca: "client-ca" });
    assert.equal(reply.kind, "untrusted", JSON.stringify(reply));
    assert.equal(proxy.asked.length, 1);
    assert.deepEqual(receiver.received, []);
  });

  it("names the proxy that refuses, and what it answered", async () => {
    await using receiver = await startTlsReceiver("good");
    for (const [refusal, words] of [
      ["403 Forbidden", "(it answered 403)"],
      ["502 Bad Gateway", "(it answered 502)"],
      ["407 Proxy Authentication Required", "(it answered 407): it requires a user name and a password"],
    ] as const) {
      await using proxy = await startProxy(refusal);
      const message = messageOf(await postThrough(proxy, { url: receiver.url }));
      assert.ok(message.startsWith(`the proxy ${proxy.host} refuses to connect to 127.0.0.1 ${words}`), message);
    }
    assert.deepEqual(receiver.received, []);
  });

  it("names the proxy that is not there", async () => {
    await using nobody = await holdPort();
    const host = `127.0.0.1:${nobody.port}`;
    const message = messageOf(await postThrough({ host }, { url: "https://crm.invalid/hook?token=query-secret" }));
    assert.equal(message, `cannot reach the proxy ${host}: connection refused`);
  });

  it("goes directly to whom NO_PROXY names", async () => {
    await using receiver = await startTlsReceiver("good");
    await using proxy = await startProxy("403 Forbidden");
    const reply = await postThrough(proxy, { url: receiver.url, env: { NO_PROXY: "example.com,127.0.0.1" } });
    assert.equal(reply.kind, "answered", JSON.stringify(reply));
    assert.deepEqual(proxy.asked, []);
  });
});

describe("a POST with HTTP_PROXY in the environment", () => {
  it("is handed to the proxy as a whole, and what that answers counts as the receiver's answer", async () => {
    await using proxy = await startReceiver((socket) => {
      socket.write("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    });
    const { host } = new URL(proxy.url);
    const reply = await postThrough({ host }, { url: "http://crm.invalid/hook" });
    assert.equal(reply.kind, "answered", JSON.stringify(reply));
    assert.deepEqual([reply.status, reply.retryAfter], [503, "7"]);
    assert.match(proxy.requests.join(""), /^POST http:\/\/crm\.invalid\/hook HTTP\/1\.1\r\n/);
  });
});
