import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { ReceivedCall } from "../../../src/client/receive/calls.ts";
import { nodeReceiver, receiver, verifySignature } from "../../../src/client/receive/receiver.ts";
import { sign } from "../../../src/webhook/signature.ts";
import { BODY, initOf, makeRequest, SECRET, type Sending, streamed, URL_OF_HOOKS } from "./make.ts";

/** Answers the requests of a test, and keeps the calls that came through. */
function makeReceiver(maxBytes?: number) {
  const calls: ReceivedCall[] = [];
  const receive = receiver(SECRET, (call) => calls.push(call), maxBytes === undefined ? {} : { maxBytes });
  return { calls, receive };
}

async function refusal(sending: Sending | Request, maxBytes?: number): Promise<readonly [number, string]> {
  const { calls, receive } = makeReceiver(maxBytes);
  const answer = await receive(sending instanceof Request ? sending : makeRequest(sending));
  assert.deepEqual(calls, []);
  const { code } = (await answer.json()) as { readonly code: string };
  return [answer.status, code];
}

describe("a receiver", () => {
  it("hands a signed call to the handler, and answers 204: it is done", async () => {
    const { calls, receive } = makeReceiver();
    const answer = await receive(makeRequest());
    assert.equal(answer.status, 204);
    assert.deepEqual(calls, [JSON.parse(BODY)]);
  });

  it("takes a body that comes in pieces", async () => {
    const { calls, receive } = makeReceiver();
    assert.equal((await receive(new Request(URL_OF_HOOKS, streamed(BODY, 7)))).status, 204);
    assert.deepEqual(calls, [JSON.parse(BODY)]);
  });

  it("answers 401 to another signature, and to none", async () => {
    for (const signature of [sign(BODY, "other"), sign(`${BODY} `, SECRET), "", "x", null]) {
      assert.deepEqual(await refusal({ signature }), [401, "wrong_signature"]);
    }
  });

  it("does not read what carries no signature", async () => {
    const request = makeRequest({ signature: null });
    assert.deepEqual(await refusal(request), [401, "wrong_signature"]);
    assert.equal(request.bodyUsed, false);
  });

  it("answers 405 unless the method is POST", async () => {
    const { receive } = makeReceiver();
    const answer = await receive(makeRequest({ method: "GET" }));
    assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "POST"]);
  });

  it("answers 413 to a body that is a byte too large, whether announced or not", async () => {
    const length = Buffer.byteLength(BODY);
    const announced = makeRequest({ headers: { "Content-Length": String(length) } });
    assert.deepEqual(await refusal(announced, length - 1), [413, "body_too_large"]);
    const pieces = new Request(URL_OF_HOOKS, streamed(BODY, 3));
    assert.deepEqual(await refusal(pieces, length - 1), [413, "body_too_large"]);
    assert.equal((await makeReceiver(length).receive(new Request(URL_OF_HOOKS, streamed(BODY, 3)))).status, 204);
  });

  it("answers 400 to a signed body that is no call, and says what is wrong", async () => {
    const { receive } = makeReceiver();
    const answer = await receive(makeRequest({ body: '{"type":"track","version":1}' }));
    assert.equal(answer.status, 400);
    assert.deepEqual(await answer.json(), {
      code: "malformed",
      message: "timestamp must be a string (got nothing)",
    });
  });

  it("answers 500 if the body was read before: Fairlead is to try again", async () => {
    const request = makeRequest();
    await request.text();
    assert.deepEqual(await refusal(request), [500, "body_unreadable"]);
    assert.deepEqual(await refusal({ body: "" }), [500, "body_unreadable"]);
  });

  it("answers 500 if the handler throws, calls onError, and does not show the error to the sender", async () => {
    const wrong = new Error("the database is away");
    const told: unknown[] = [];
    const options = { onError: (error: unknown, call: ReceivedCall) => told.push(error, call.type) };
    for (const handler of [() => Promise.reject(wrong), fails]) {
      const answer = await receiver(SECRET, handler, options)(makeRequest());
      assert.equal(answer.status, 500);
      assert.doesNotMatch(await answer.text(), /database/);
    }
    assert.deepEqual(told, [wrong, "track", wrong, "track"]);

    function fails(): never {
      throw wrong;
    }
  });

  it("answers whatever onError does: it may throw, reject, and be given what has no text", async (t) => {
    const written: unknown[] = [];
    t.mock.method(console, "error", (line: unknown) => written.push(line));
    const handler = () => Promise.reject(Object.create(null));
    for (const onError of [fails, async () => fails(), () => Promise.reject(Object.create(null)), undefined]) {
      const answer = await receiver(SECRET, handler, onError ? { onError } : {})(makeRequest());
      assert.equal(answer.status, 500);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(written, Array(4).fill("the handler failed for a track webhook:"));

    function fails(): never {
      throw new Error("broken");
    }
  });

  it("takes a Response that says nothing for a failure of the handler", async () => {
    const told: unknown[] = [];
    const receive = receiver(SECRET, () => Response.error(), { onError: (error) => told.push(String(error)) });
    assert.equal((await receive(makeRequest())).status, 500);
    assert.deepEqual(told, ["TypeError: the handler returned a Response with status 0, which cannot be sent"]);
  });

  it("answers what the handler returns as a Response", async () => {
    const receive = receiver(SECRET, async (call) => Response.json({ got: call.type }, { status: 422 }));
    const answer = await receive(makeRequest());
    assert.deepEqual([answer.status, await answer.json()], [422, { got: "track" }]);
  });

  it("gives the handler the request as well", async () => {
    const receive = receiver(SECRET, (_, request) => new Response(request.headers.get("x-team")));
    assert.equal(await (await receive(makeRequest({ headers: { "X-Team": "growth" } }))).text(), "growth");
  });

  it("takes both secrets while one replaces the other", async () => {
    const receive = receiver(["new", SECRET], () => {});
    for (const secret of ["new", SECRET]) {
      assert.equal((await receive(makeRequest({ signature: sign(BODY, secret) }))).status, 204);
    }
  });

  it("throws when it is made without a secret, not when the first webhook comes", () => {
    assert.throws(() => receiver("", () => {}), TypeError);
  });

  it("is what a server of this runtime takes", async () => {
    const { calls, receive } = makeReceiver();
    await using server = serve(receive);
    assert.equal((await fetch(server.url, initOf())).status, 204);
    assert.equal((await fetch(server.url, streamed(BODY))).status, 204);
    assert.equal((await fetch(server.url, initOf({ signature: null }))).status, 401);
    assert.equal(calls.length, 2);
  });
});

function serve(handle: (request: Request) => Promise<Response>): AsyncDisposable & { readonly url: string } {
  if (typeof Bun !== "undefined") {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: handle });
    return { url: server.url.href, [Symbol.asyncDispose]: () => server.stop(true) };
  }
  const { Deno } = globalThis as unknown as { Deno: DenoServe };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, handle);
  return { url: `http://127.0.0.1:${server.addr.port}/`, [Symbol.asyncDispose]: () => server.shutdown() };
}

type DenoServe = {
  serve(
    options: object,
    handle: (request: Request) => Promise<Response>,
  ): { addr: { port: number }; shutdown(): Promise<void> };
};

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

async function refusalOver(url: string, init: RequestInit): Promise<readonly [number, string]> {
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
    assert.deepEqual(await refusalOver(server.url, initOf({ signature: "0".repeat(40) })), [401, "wrong_signature"]);
    assert.deepEqual(await refusalOver(server.url, initOf({ body: large })), [413, "body_too_large"]);
    assert.deepEqual(await refusalOver(server.url, streamed(large, 50)), [413, "body_too_large"]);
    assert.deepEqual(await refusalOver(server.url, initOf({ body: "{}" })), [400, "malformed"]);
    assert.equal((await fetch(server.url)).status, 405);
  });

  it("answers 500 if the handler throws, and what it returns as a Response", async () => {
    const told: unknown[] = [];
    const outcomes = [() => Promise.reject(new Error("away")), () => Response.json({ a: 1 }, { status: 503 })];
    await using server = await listen(
      nodeReceiver(SECRET, () => outcomes.shift()?.(), { onError: (error) => told.push(String(error)) }),
    );
    assert.deepEqual(await refusalOver(server.url, initOf()), [500, "handler_failed"]);
    assert.deepEqual(told, ["Error: away"]);
    const answer = await fetch(server.url, initOf());
    assert.deepEqual([answer.status, await answer.json()], [503, { a: 1 }]);
  });

  it("answers 500 if the handler's Response cannot be sent, or was read before, and keeps running", async () => {
    const used = Response.json({ a: 1 });
    await used.text();
    const outcomes = [Response.error(), used];
    await using server = await listen(nodeReceiver(SECRET, () => outcomes.shift(), { onError: async () => fails() }));
    assert.deepEqual(await refusalOver(server.url, initOf()), [500, "handler_failed"]);
    assert.deepEqual([(await fetch(server.url, initOf())).status, outcomes], [200, []]);

    function fails(): never {
      throw Object.create(null);
    }
  });

  it("leaves no rejection unhandled if the handler has answered itself", async () => {
    const ended: unknown[] = [];
    await using server = await listen((request, response) => {
      const receive = nodeReceiver(SECRET, () => void response.writeHead(202).end());
      void receive(request, response).then(() => ended.push("ended"));
    });
    assert.equal((await fetch(server.url, initOf())).status, 202);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(ended, ["ended"]);
  });

  for (const [kept, keep] of [
    ["rawBody, as serverless platforms do", (body: Buffer) => ({ rawBody: body, body: JSON.parse(body.toString()) })],
    ["body, as express.raw() does", (body: Buffer) => ({ body })],
    ["body as text, as express.text() does", (body: Buffer) => ({ body: body.toString() })],
  ] as const) {
    it(`takes a body that was read before and is kept in ${kept}`, async () => {
      const calls: ReceivedCall[] = [];
      const receive = nodeReceiver(SECRET, (call) => calls.push(call));
      await using server = await listen(async (request, response) => {
        const read = await readAll(request);
        await receive(Object.assign(request, keep(read)), response);
      });
      assert.equal((await fetch(server.url, initOf())).status, 204);
      assert.deepEqual(await refusalOver(server.url, initOf({ signature: "0".repeat(40) })), [401, "wrong_signature"]);
      assert.deepEqual(calls, [JSON.parse(BODY)]);
    });
  }

  it("says so if the body was read before", async () => {
    const receive = nodeReceiver(SECRET, () => assert.fail());
    await using server = await listen(async (request, response) => {
      const read = await readAll(request);
      // As express.json() leaves it: parsed, and its bytes gone.
      await receive(Object.assign(request, { body: JSON.parse(read.toString()) }), response);
    });
    assert.deepEqual(await refusalOver(server.url, initOf()), [500, "body_unreadable"]);
  });
});

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const TEXT = '{"name":"Zoë 🙂"}';
const RIGHT = sign(TEXT, "new");

describe("verifySignature", () => {
  it("takes the signature of this body, as text or as bytes", () => {
    assert.equal(verifySignature(TEXT, RIGHT, "new"), true);
    assert.equal(verifySignature(new TextEncoder().encode(TEXT), RIGHT, "new"), true);
  });

  it("takes the signature of any of several secrets, and of no other", () => {
    assert.equal(verifySignature(TEXT, RIGHT, ["new", "old"]), true);
    assert.equal(verifySignature(TEXT, RIGHT, ["old", "new"]), true);
    assert.equal(verifySignature(TEXT, RIGHT, ["old", "older"]), false);
  });

  it("refuses another body, and another secret", () => {
    assert.equal(verifySignature(`${TEXT}\n`, RIGHT, "new"), false);
    assert.equal(verifySignature(TEXT, RIGHT, "old"), false);
  });

  it("refuses whatever a header may be instead, and never throws at it", () => {
    const odd = [null, undefined, "", [], [RIGHT, RIGHT], [null], {}, 5, true, RIGHT.slice(1), `${RIGHT}0`];
    const spelled = [RIGHT.toUpperCase(), `sha1=${RIGHT}`, ` ${RIGHT}`, `${RIGHT}\n`, "ä".repeat(20), "ä".repeat(40)];
    for (const header of [...odd, ...spelled]) assert.equal(verifySignature(TEXT, header, "new"), false, `${header}`);
    fc.assert(fc.property(fc.anything(), (header) => verifySignature(TEXT, header, "new") === false));
  });

  it("takes a header that comes as a list of one", () => {
    assert.equal(verifySignature(TEXT, [RIGHT], "new"), true);
  });

  it("throws without a secret, and with an empty one: anybody could sign with that", () => {
    const missing = undefined as unknown as string;
    for (const secret of ["", [], ["new", ""], missing, ["new", missing]]) {
      assert.throws(() => verifySignature(TEXT, sign(TEXT, ""), secret), { name: "TypeError", message: /no secret/ });
    }
  });

  it("throws at a body that was parsed already, instead of refusing every webhook", () => {
    const parsed = JSON.parse(TEXT);
    assert.throws(() => verifySignature(parsed, RIGHT, "new"), { name: "TypeError", message: /body as it came/ });
  });
});
