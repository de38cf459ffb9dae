import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createStreams, type Streams } from "../../src/http/stream.ts";
import { createFalseClock } from "../flow/clock.ts";

type Piece = Uint8Array | Error | "never";

/** A request whose body comes in these pieces. */
function requestOf(pieces: readonly Piece[], encoding?: string): Request {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces[at];
      at += 1;
      if (piece === "never") return new Promise<void>(() => {});
      if (piece instanceof Error) controller.error(piece);
      else if (piece) controller.enqueue(piece);
      else controller.close();
    },
  });
  const headers: Record<string, string> = encoding === undefined ? {} : { "content-encoding": encoding };
  return new Request("http://localhost/", { method: "PUT", body, headers, duplex: "half" } as RequestInit);
}

/** All of it as text, and the code of the fault that ended it. */
async function read(streams: Streams, request: Request, limit = 1_000): Promise<readonly [string, string | null]> {
  let text = "";
  for await (const piece of streams.read(request, limit)) {
    if (typeof piece !== "string") return [text, piece.code];
    text += piece;
  }
  return [text, null];
}

describe("a body that is read as a stream", () => {
  const bytes = Buffer.from("größer 👍🏽");

  it("is the text that was sent, in whatever pieces it came, compressed or not", async () => {
    const streams = createStreams(createFalseClock());
    const single = (all: Uint8Array): Uint8Array[] => Array.from(all, (byte) => Uint8Array.of(byte));
    assert.deepEqual(await read(streams, requestOf(single(bytes))), [bytes.toString(), null]);
    assert.deepEqual(await read(streams, requestOf(single(gzipSync(bytes)), "gzip")), [bytes.toString(), null]);
    assert.deepEqual(await read(streams, requestOf([])), ["", null]);
  });

  it("is refused beyond its limit, however small it was before it was decompressed", async () => {
    const streams = createStreams(createFalseClock());
    assert.equal((await read(streams, requestOf([Buffer.alloc(1_001, 97)])))[1], "body_too_large");
    const bomb = gzipSync(Buffer.alloc(50_000_000, 97));
    const [text, code] = await read(streams, requestOf([bomb], "gzip"), 1_000_000);
    assert.equal(code, "body_too_large");
    assert.ok(text.length <= 1_000_000);
  });

  it("is refused if it is neither UTF-8 nor the gzip that it says it is", async () => {
    const streams = createStreams(createFalseClock());
    assert.equal((await read(streams, requestOf([Uint8Array.of(0xff)])))[1], "invalid_encoding");
    assert.equal((await read(streams, requestOf([bytes.subarray(0, 3)])))[1], "invalid_encoding");
    assert.equal((await read(streams, requestOf([bytes], "gzip")))[1], "invalid_encoding");
    assert.equal((await read(streams, requestOf([gzipSync(bytes).subarray(0, 15)], "gzip")))[1], "invalid_encoding");
    assert.equal((await read(streams, requestOf([bytes], "br")))[1], "unsupported_media_type");
  });

  it("says that it broke off", async () => {
    const streams = createStreams(createFalseClock());
    const broken = new Error("reset");
    assert.deepEqual(await read(streams, requestOf([bytes, broken])), [bytes.toString(), "body_incomplete"]);
    assert.equal(
      (await read(streams, requestOf([gzipSync(bytes).subarray(0, 15), broken], "gzip")))[1],
      "body_incomplete",
    );
  });

  it("is given up when nothing more comes for a minute", async () => {
    const clock = createFalseClock();
    const reading = read(createStreams(clock), requestOf([bytes, "never"]));
    await clock.advance("1m");
    assert.deepEqual(await reading, [bytes.toString(), "body_too_slow"]);
  });

  it("is one of four at most", async () => {
    const clock = createFalseClock();
    const streams = createStreams(clock);
    const four = [1, 2, 3, 4].map(() => read(streams, requestOf(["never"])));
    await clock.rest();
    assert.deepEqual(await read(streams, requestOf([bytes])), ["", "too_many_bodies"]);
    await clock.advance("1m");
    for (const reading of four) assert.equal((await reading)[1], "body_too_slow");
    assert.deepEqual(await read(streams, requestOf([bytes])), [bytes.toString(), null]);
  });
});
