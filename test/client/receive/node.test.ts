import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import type { ReceivedCall } from "../../../src/client/receive/calls.ts";
import { nodeReceiver } from "../../../src/client/receive/receiver.ts";
import { BODY, initOf, SECRET, streamed } from "./make.ts";

async function listen(listener: RequestListener): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function refusal(url: string, init: RequestInit): Promise<readonly [number, string]> {
  const answer = await fetch(url, init);
  const { code } = (await answer.json()) as { readonly code: string };
  return [answer.status, code];
}

describe("a receiver on node:http", () => {
  it("hands signed calls and their requests to the handler, whole or in pieces", async () => {
    const calls: ReceivedCall[] = [];
    const paths: unknown[] = [];
    await using server = await listen(
      nodeReceiver(SECRET, (call, request: IncomingMessage) => {
        calls.push(call);
        paths.push(request.url);
      }),
    );
    for (const init of [initOf(), streamed(BODY, 5)]) assert.equal((await fetch(server.url, init)).status, 204);
    assert.deepEqual(calls, [JSON.parse(BODY), JSON.parse(BODY)]);
    assert.deepEqual(paths, ["/hooks", "/hooks"]);
  });

  it("refuses the rest, and answers before it lets go of the connection", async () => {
    await using server = await listen(nodeReceiver(SECRET, () => assert.fail(), { maxBytes: 1000 }));
    const large = JSON.stringify({ text: "x".repeat(50_000) });
    assert.deepEqual(await refusal(server.url, initOf({ signature: "0".repeat(40) })), [401, "wrong_signature"]);
    assert.deepEqual(await refusal(server.url, initOf({ body: large })), [413, "body_too_large"]);
    assert.deepEqual(await refusal(server.url, streamed(large, 50)), [413, "body_too_large"]);
    assert.deepEqual(await refusal(server.url, initOf({ body: "{}" })), [400, "malformed"]);
    assert.equal((await fetch(server.url)).status, 405);
  });

  it("answers 500 if the handler throws, and what it returns as a Response", async () => {
    const told: unknown[] = [];
    const outcomes = [() => Promise.reject(new Error("away")), () => Response.json({ a: 1 }, { status: 503 })];
    await using server = await listen(
      nodeReceiver(SECRET, () => outcomes.shift()?.(), { onError: (error) => told.push(String(error)) }),
    );
    assert.deepEqual(await refusal(server.url, initOf()), [500, "handler_failed"]);
    assert.deepEqual(told, ["Error: away"]);
    const answer = await fetch(server.url, initOf());
    assert.deepEqual([answer.status, await answer.json()], [503, { a: 1 }]);
  });

  it("answers 500 where the handler's Response cannot be sent, or was read by somebody else, and goes on", async () => {
    const used = Response.json({ a: 1 });
    await used.text();
    const outcomes = [Response.error(), used];
    await using server = await listen(nodeReceiver(SECRET, () => outcomes.shift(), { onError: async () => fails() }));
    assert.deepEqual(await refusal(server.url, initOf()), [500, "handler_failed"]);
    assert.deepEqual([(await fetch(server.url, initOf())).status, outcomes], [200, []]);

    function fails(): never {
      throw Object.create(null);
    }
  });

  it("leaves no promise unhandled where somebody else has answered", async () => {
    const ended: unknown[] = [];
    await using server = await listen((request, response) => {
      const receive = nodeReceiver(SECRET, () => void response.writeHead(202).end());
      void receive(request, response).then(() => ended.push("ended"));
    });
    assert.equal((await fetch(server.url, initOf())).status, 202);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(ended, ["ended"]);
  });

  it("says so if the body was read before", async () => {
    const receive = nodeReceiver(SECRET, () => assert.fail());
    await using server = await listen(async (request, response) => {
      for await (const _ of request);
      await receive(request, response);
    });
    assert.deepEqual(await refusal(server.url, initOf()), [500, "body_unreadable"]);
  });
});
