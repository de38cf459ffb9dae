import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PostRequest, Reply } from "../../src/model/ports.ts";
import { createPost } from "../../src/runtime/post.ts";
import { holdPort } from "./nobody.ts";
import { closed, flood, type Receiver, startReceiver } from "./receiver.ts";

const post = createPost();
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

function makeRequest(url: string, changes: Partial<PostRequest> = {}): PostRequest {
  const headers = { "Content-Type": "application/json", "X-Signature": "5ec4e7" };
  return { url, headers, body: '{"type":"track"}', tls: null, signal: new AbortController().signal, ...changes };
}

/** Posts, and aborts as soon as the receiver has the request. */
async function postThenAbort(begin: (write: (text: string) => void) => void): Promise<Reply> {
  const limit = new AbortController();
  await using receiver = await startReceiver((socket) => {
    begin((text) => socket.write(text));
    limit.abort();
  });
  return await post(makeRequest(receiver.url, { signal: limit.signal }));
}

function assertUnreachable(reply: Reply, message: RegExp): void {
  assert.equal(reply.kind, "unreachable");
  assert.match(reply.message, message);
  // No URL, and none of the runtime's advice.
  assert.doesNotMatch(reply.message, /query-secret|127\.0\.0\.1|verbose|fetch/);
}

async function postTo(answer: string): Promise<Reply> {
  await using receiver = await startReceiver((socket) => void socket.write(answer));
  return await post(makeRequest(receiver.url));
}

describe("a POST", () => {
  it("carries the body and the headers that it was given, once", async () => {
    await using receiver = await startReceiver((socket) => void socket.write(OK));
    await post(makeRequest(receiver.url, { body: '{"name":"Zoë"}' }));
    assert.equal(receiver.requests.length, 1);
    const [head = "", body = ""] = receiver.requests[0]?.split("\r\n\r\n") ?? [];
    assert.match(head, /^POST \/hook\?token=query-secret HTTP\/1\.1\r\n/);
    assert.match(head, /^content-type: application\/json$/im);
    assert.match(head, /^x-signature: 5ec4e7$/im);
    assert.match(head, /^content-length: 15$/im);
    assert.equal(Buffer.from(body, "latin1").toString(), '{"name":"Zoë"}');
  });

  it("does not follow a redirect, and says where it led", async () => {
    await using elsewhere = await startReceiver((socket) => void socket.write(OK));
    const reply = await postTo(`HTTP/1.1 307 Moved\r\nLocation: ${elsewhere.url}\r\nContent-Length: 0\r\n\r\n`);
    assert.equal(reply.kind, "answered");
    assert.equal(reply.status, 307);
    assert.equal(reply.location, elsewhere.url);
    assert.equal(elsewhere.sockets.length, 0);
  });

  it("passes on for how long the receiver wants to be left alone", async () => {
    const reply = await postTo("HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n");
    assert.equal(reply.kind, "answered");
    assert.equal(reply.status, 503);
    assert.equal(reply.retryAfter, "120");
  });

  it("uses a connection again", async () => {
    await using receiver = await startReceiver((socket) => void socket.write(OK));
    await answeredBody(receiver);
    await answeredBody(receiver);
    assert.equal(receiver.requests.length, 2);
    assert.equal(receiver.sockets.length, 1);
  });

  it("is not sent again when a kept connection closes under it", async () => {
    await using receiver = await startReceiver((socket, request) =>
      request === 1 ? void socket.write(OK) : void socket.end(),
    );
    await answeredBody(receiver);
    assertUnreachable(await post(makeRequest(receiver.url)), /^connection closed before an answer$/);
    assert.equal(receiver.requests.length, 2);
  });
});

async function answeredBody({ url }: Receiver): Promise<string> {
  const reply = await post(makeRequest(url));
  assert.equal(reply.kind, "answered");
  return await reply.body;
}

describe("a POST that is aborted", () => {
  it("is not sent when the signal was aborted before", async () => {
    await using receiver = await startReceiver((socket) => void socket.write(OK));
    const reply = await post(makeRequest(receiver.url, { signal: AbortSignal.abort() }));
    assert.deepEqual(reply, { kind: "aborted" });
    assert.equal(receiver.sockets.length, 0);
  });

  it("ends while the receiver says nothing", async () => {
    assert.deepEqual(await postThenAbort(() => {}), { kind: "aborted" });
  });

  it("ends while the receiver drips its headers", async () => {
    assert.deepEqual(await postThenAbort((write) => write("HTTP/1.1 200 OK\r\nX-Slow: y")), { kind: "aborted" });
  });

  it("is not sent again on another connection", async () => {
    const limit = new AbortController();
    await using receiver = await startReceiver((socket, request) => {
      if (request === 1) socket.write(OK);
      if (request === 2) limit.abort();
    });
    await answeredBody(receiver);
    await post(makeRequest(receiver.url, { signal: limit.signal }));
    // Whatever was sent again would have come before this one.
    const last = new AbortController();
    const third = receiver.next();
    const reply = post(makeRequest(receiver.url, { signal: last.signal, body: "last" }));
    assert.match(await third, /last$/);
    last.abort();
    assert.deepEqual(await reply, { kind: "aborted" });
  });

  it("closes its connection", async () => {
    const limit = new AbortController();
    await using receiver = await startReceiver(() => limit.abort());
    await post(makeRequest(receiver.url, { signal: limit.signal }));
    const [socket] = receiver.sockets;
    assert.ok(socket);
    await closed(socket);
  });
});

describe("a POST that nobody answers", () => {
  it("says that the connection was refused", async () => {
    await using nobody = await holdPort();
    assertUnreachable(await post(makeRequest(`http://127.0.0.1:${nobody.port}/`)), /^connection refused$/);
  });

  it("says that the name is not known", async () => {
    const reply = await post(makeRequest("http://does-not-exist.invalid/?token=query-secret"));
    // A machine without a name server cannot tell, and says so.
    if (reply.kind === "offline") return assert.equal(reply.message, "no name server answered");
    assertUnreachable(reply, /^name not found$/);
  });

  it("says that the connection was reset", async () => {
    await using receiver = await startReceiver((socket) => socket.resetAndDestroy());
    assertUnreachable(await post(makeRequest(receiver.url)), /^connection closed before an answer$/);
  });

  it("says that the connection was closed", async () => {
    await using receiver = await startReceiver((socket) => void socket.end());
    assertUnreachable(await post(makeRequest(receiver.url)), /^connection closed before an answer$/);
  });
});

describe("a POST with an answer that is not HTTP", () => {
  for (const [what, answer] of [
    ["a status that is no number", "HTTP/1.1 abc OK\r\n\r\n"],
    ["a header without a colon", "HTTP/1.1 200 OK\r\nbroken\r\n\r\n"],
    ["a length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"],
  ] as const) {
    it(`refuses ${what}`, async () => {
      assertUnreachable(await postTo(answer), /^the answer is not valid HTTP$/);
    });
  }

  for (const [what, start, more] of [
    ["headers that do not end", "HTTP/1.1 200 OK\r\n", `X-More: ${"y".repeat(1_000)}\r\n`],
    ["a header that does not end", "HTTP/1.1 200 OK\r\nX-More: ", "y".repeat(1_000)],
    ["a status line that does not end", "HTTP/1.1 200 ", "y".repeat(1_000)],
  ] as const) {
    it(`stops reading ${what}`, async () => {
      await using receiver = await startReceiver((socket) => {
        socket.write(start);
        flood(socket, more, 100_000_000);
      });
      const reply = await post(makeRequest(receiver.url));
      assertUnreachable(reply, /^(the answer is not valid HTTP|the headers of the answer are too long)$/);
      assert.ok((receiver.sockets[0]?.bytesWritten ?? 0) < 20_000_000);
    });
  }

  it("refuses to change to another protocol", async () => {
    const reply = await postTo("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    assertUnreachable(reply, /^(the answer changes to another protocol|connection closed before an answer)$/);
  });

  it("waits for what comes after answers that are only interim", async () => {
    const reply = await postTo(`${"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)}HTTP/1.1 103 Early\r\n\r\n${OK}`);
    assert.equal(reply.kind, "answered");
    assert.equal(reply.status, 200);
  });
});
