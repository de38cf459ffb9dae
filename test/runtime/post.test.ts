import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { PostRequest, Reply } from "../../src/model/ports.ts";
import { createPost } from "../../src/runtime/post.ts";
import { readStart } from "../../src/runtime/post-reply.ts";
import { closed, flood, holdPort, type Receiver, startReceiver } from "./receiver.ts";

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
    await (await send(receiver)).body;
    await (await send(receiver)).body;
    assert.equal(receiver.requests.length, 2);
    assert.equal(receiver.sockets.length, 1);
  });

  it("is not sent again when a kept connection closes under it", async () => {
    await using receiver = await startReceiver((socket, request) =>
      request === 1 ? void socket.write(OK) : void socket.end(),
    );
    await (await send(receiver)).body;
    assertUnreachable(await post(makeRequest(receiver.url)), /^connection closed before an answer$/);
    assert.equal(receiver.requests.length, 2);
  });
});

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
    await (await send(receiver)).body;
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
    assertUnreachable(reply, /^(the answer switches to another protocol|connection closed before an answer)$/);
  });

  it("waits for what comes after answers that are only interim", async () => {
    const reply = await postTo(`${"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)}HTTP/1.1 103 Early\r\n\r\n${OK}`);
    assert.equal(reply.kind, "answered");
    assert.equal(reply.status, 200);
  });
});

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNK = `400\r\n${"z".repeat(1_024)}\r\n`;
const FLOOD = 100_000_000;
/** More than the buffers between two sockets hold, and far less than what is offered. */
const FEW = 20_000_000;

type Answered = Extract<Reply, { kind: "answered" }>;

async function send(receiver: Receiver, signal?: AbortSignal): Promise<Answered> {
  const reply = await post(makeRequest(receiver.url, signal && { signal }));
  assert.equal(reply.kind, "answered");
  return reply;
}

async function bodyOf(answer: string | Buffer): Promise<string> {
  await using receiver = await startReceiver((socket) => void socket.end(answer));
  return await (await send(receiver)).body;
}

describe("the body of an answer", () => {
  it("is read as text", async () => {
    assert.equal(await bodyOf("HTTP/1.1 400 Bad\r\nContent-Length: 12\r\n\r\nno such Zoë"), "no such Zoë");
  });

  it("is not cut in the middle of a character", async () => {
    const length = 3 * 1_000;
    const answer = `HTTP/1.1 400 Bad\r\nContent-Length: ${length}\r\n\r\n${"€".repeat(1_000)}`;
    assert.equal(await bodyOf(answer), "€".repeat(341));
  });

  it("is put together from its chunks", async () => {
    assert.equal(await bodyOf(`${CHUNKED}3\r\nno \r\n4\r\nsuch\r\n0\r\n\r\n`), "no such");
  });

  it("is read to the end of the connection when nothing says how long it is", async () => {
    assert.equal(await bodyOf("HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\nbroken"), "broken");
  });

  it("is empty where there is none", async () => {
    assert.equal(await bodyOf("HTTP/1.1 204 No Content\r\n\r\n"), "");
    assert.equal(await bodyOf("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "");
  });

  it("ends after 1 KB", async () => {
    const body = await bodyOf(`HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n${"é".repeat(1_500)}`);
    assert.equal(body, "é".repeat(512));
  });

  it("gets U+FFFD for what is not UTF-8", async () => {
    assert.equal(await bodyOf(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\xffb", "latin1")), "a\ufffdb");
  });

  for (const zeros of [500_000, 20_000_000]) {
    it(`is not unpacked, though it would become ${zeros} zeros`, async () => {
      const packed = gzipSync(Buffer.alloc(zeros));
      const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
      const body = await bodyOf(Buffer.concat([Buffer.from(head), packed]));
      assert.ok(body.startsWith("\x1f\ufffd"));
      assert.ok(body.length <= 1_024);
    });
  }
});

describe("an answer whose body does not come", () => {
  it("is an answer all the same, and its body ends with the signal", async () => {
    for (const head of [CHUNKED, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"]) {
      const limit = new AbortController();
      await using receiver = await startReceiver((socket) => void socket.write(head));
      const { status, body } = await send(receiver, limit.signal);
      limit.abort();
      assert.equal(status, 200);
      assert.equal(await body, "");
    }
  });

  it("is an answer all the same when the connection breaks", async () => {
    for (const head of [CHUNKED, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"]) {
      await using receiver = await startReceiver((socket) => void socket.write(head));
      const { status, body } = await send(receiver);
      for (const socket of receiver.sockets) socket.resetAndDestroy();
      assert.equal(status, 200);
      assert.equal(await body, "");
    }
  });

  it("keeps what had come before it broke off", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("unknown us");
      throw new Error("reset");
    }
    assert.equal(await readStart(broken(), null), "unknown us");
  });
});

describe("an answer that is too long", () => {
  for (const [what, head, piece] of [
    ["100 MB", `HTTP/1.1 200 OK\r\nContent-Length: ${FLOOD}\r\n\r\n`, "z".repeat(1_024)],
    ["chunks without end", CHUNKED, CHUNK],
  ] as const) {
    it(`is cut off: ${what}`, async () => {
      await using receiver = await startFlood(head, piece);
      assert.equal(await (await send(receiver)).body, "z".repeat(1_024));
      await assertLittleTaken(receiver);
    });
  }

  for (const length of [0, 5]) {
    it(`is cut off or refused when it says that it has ${length} bytes`, async () => {
      const head = CHUNKED.replace("\r\n\r\n", `\r\nContent-Length: ${length}\r\n\r\n`);
      await using receiver = await startFlood(head, CHUNK);
      const reply = await post(makeRequest(receiver.url));
      if (reply.kind === "answered") assert.equal(await reply.body, "z".repeat(1_024));
      await assertLittleTaken(receiver);
    });
  }

  it("is read to its end when that is near, else left: after 16 KB, or at once if it says how long it is", async () => {
    assert.equal(await piecesRead({ pieces: 10, length: null }), 10);
    assert.equal(await piecesRead({ pieces: 10, length: "10240" }), 10);
    assert.equal(await piecesRead({ pieces: 100, length: null }), 16);
    assert.equal(await piecesRead({ pieces: 100, length: "102400" }), 1);
  });

  it("keeps its connection open when it was read to its end", async () => {
    await using receiver = await startReceiver((socket) => void socket.write(`${CHUNKED}${CHUNK.repeat(8)}0\r\n\r\n`));
    await (await send(receiver)).body;
    await (await send(receiver)).body;
    assert.equal(receiver.requests.length, 2);
    assert.equal(receiver.sockets.length, 1);
  });
});

/** How many of so many pieces of 1 KB are asked for. */
async function piecesRead({ pieces, length }: { pieces: number; length: string | null }): Promise<number> {
  let read = 0;
  async function* answer(): AsyncGenerator<Uint8Array> {
    while (read < pieces) {
      read++;
      yield new Uint8Array(1_024);
    }
  }
  await readStart(answer(), length);
  return read;
}

function startFlood(head: string, piece: string): Promise<Receiver> {
  return startReceiver((socket) => {
    socket.write(head);
    flood(socket, piece, FLOOD);
  });
}

/** Of what was offered. The socket has to be over: until then more might be. */
async function assertLittleTaken({ sockets: [socket] }: Receiver): Promise<void> {
  assert.ok(socket);
  await closed(socket);
  assert.ok(socket.bytesWritten < FEW, `${socket.bytesWritten} bytes were taken`);
}
