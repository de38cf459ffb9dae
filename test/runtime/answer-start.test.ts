import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { PostRequest, Reply } from "../../src/model/ports.ts";
import { createPost } from "../../src/runtime/post.ts";
import { readStart } from "../../src/runtime/post-reply.ts";
import { closed, flood, type Receiver, startReceiver } from "./receiver.ts";

const post = createPost();
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNK = `400\r\n${"z".repeat(1_024)}\r\n`;
const FLOOD = 100_000_000;
/** More than the buffers between two sockets hold, and far less than what is offered. */
const FEW = 20_000_000;

type Answered = Extract<Reply, { kind: "answered" }>;

function makeRequest({ url }: Receiver, signal = new AbortController().signal): PostRequest {
  return { url, headers: {}, body: "{}", tls: null, signal };
}

async function send(receiver: Receiver, signal?: AbortSignal): Promise<Answered> {
  const reply = await post(makeRequest(receiver, signal));
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
      const reply = await post(makeRequest(receiver));
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
