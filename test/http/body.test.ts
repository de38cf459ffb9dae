import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createBodies } from "../../src/http/body.ts";
import type { Fault, FaultCode } from "../../src/model/fault.ts";
import { KB, MB } from "../../src/model/units.ts";
import { createFalseClock } from "../flow/clock.ts";
import { makeRequest, startUpload } from "./make.ts";

const LIMIT = 500 * KB;

function read(request: Request, limit = LIMIT): Promise<string | Fault> {
  return createBodies(createFalseClock()).read(request, limit);
}

async function codeOf(request: Request, limit?: number): Promise<FaultCode | null> {
  const result = await read(request, limit);
  return typeof result === "string" ? null : result.code;
}

/** A body in pieces, without a length announced. */
function streamed(...pieces: (string | Uint8Array)[]): Request {
  const upload = startUpload();
  for (const piece of pieces) upload.send(piece);
  upload.finish();
  return upload.request;
}

describe("the size of a body", () => {
  it("may be exactly the limit, whether announced or not", async () => {
    const text = "x".repeat(LIMIT);
    assert.equal(await read(makeRequest(text)), text);
    assert.equal(await read(streamed(text.slice(1), "x")), text);
  });

  it("may not be a byte more, whether announced or not", async () => {
    const text = "x".repeat(LIMIT + 1);
    assert.equal(await codeOf(makeRequest(text)), "body_too_large");
    assert.equal(await codeOf(streamed(text.slice(1), "x")), "body_too_large");
    assert.equal(await codeOf(streamed(...(text.match(/.{1,999}/g) ?? []))), "body_too_large");
  });

  it("is in bytes, not in characters", async () => {
    assert.equal(await codeOf(makeRequest("é"), 1), "body_too_large");
    assert.equal(await read(makeRequest("é"), 2), "é");
  });

  it("is told with the limit", async () => {
    const result = await read(makeRequest("x".repeat(LIMIT + 1)));
    assert.equal(
      typeof result === "object" && result.message,
      "the body is larger than 512000 bytes (500KB), decompressed",
    );
  });

  it("has the memory of those before it freed, where it is large", async () => {
    let freed = 0;
    const bodies = createBodies(createFalseClock(), () => {
      freed += 1;
    });
    const [small, large] = ["x".repeat(1_048_576), "x".repeat(1_048_577)];
    assert.equal(await bodies.read(makeRequest(small), 8_000_000), small);
    assert.equal(freed, 0);
    const squeezed = makeRequest(gzipSync(large), { "content-encoding": "gzip" });
    assert.equal(await bodies.read(squeezed, 8_000_000), large);
    assert.equal(freed, 1);
  });

  it("is refused by what is announced, before anything has come", async () => {
    const upload = startUpload({ "content-length": String(LIMIT + 1) });
    assert.equal(await codeOf(upload.request), "body_too_large");
  });

  it("is refused as soon as too much has come, and the rest is not wanted", async () => {
    const upload = startUpload();
    const reading = codeOf(upload.request, 10);
    upload.send("x".repeat(11));
    assert.equal(await reading, "body_too_large");
    assert.equal(upload.cancelled, true);
  });

  it("may be nothing", async () => {
    assert.equal(await read(makeRequest(null)), "");
    assert.equal(await read(makeRequest("")), "");
    assert.equal(await read(streamed()), "");
  });
});

describe("a body compressed with gzip", () => {
  const zipped = (data: string | Uint8Array, encoding = "gzip"): Request =>
    makeRequest(gzipSync(data), { "content-encoding": encoding });
  const raw = (bytes: Uint8Array): Request => makeRequest(bytes, { "content-encoding": "gzip" });

  it("is unpacked, by any name of it, with and without a length", async () => {
    for (const encoding of ["gzip", "GZIP", "x-gzip"]) assert.equal(await read(zipped('{"a":1}', encoding)), '{"a":1}');
    const upload = startUpload({ "content-encoding": "gzip" });
    upload.send(gzipSync('{"a":1}'));
    upload.finish();
    assert.equal(await read(upload.request), '{"a":1}');
  });

  it("may be exactly the limit when unpacked, and not a byte more", async () => {
    assert.equal(await read(zipped("x".repeat(LIMIT))), "x".repeat(LIMIT));
    assert.equal(await codeOf(zipped("x".repeat(LIMIT + 1))), "body_too_large");
  });

  it("is not unpacked further than the limit, however much it would become", async () => {
    const bomb = gzipSync(Buffer.alloc(100 * MB));
    assert.ok(bomb.byteLength < LIMIT);
    assert.equal(await codeOf(raw(bomb)), "body_too_large");
  });

  it("is refused when it is broken, cut short, or none", async () => {
    const good = gzipSync("x".repeat(1_000));
    const flipped = Uint8Array.from(good, (byte, at) => (at === good.length - 6 ? byte ^ 1 : byte));
    const others = [flipped, good.subarray(0, -1), good.subarray(0, -9), good.subarray(0, 10), new Uint8Array()];
    for (const bytes of [...others, Buffer.from('{"a":1}')]) {
      assert.deepEqual(await read(raw(bytes)), { code: "invalid_encoding", message: "the body is not valid gzip" });
    }
  });

  it("may be in several parts, as gzip allows, which count together", async () => {
    const parts = Buffer.concat([gzipSync("a".repeat(600)), gzipSync("b".repeat(600))]);
    assert.equal(await read(raw(parts)), "a".repeat(600) + "b".repeat(600));
    assert.equal(await codeOf(raw(parts), 1_000), "body_too_large");
  });

  it("is not any other encoding", async () => {
    for (const encoding of ["br", "deflate", "zstd", "gzip, gzip", "x".repeat(99)]) {
      const result = await read(makeRequest("x", { "content-encoding": encoding }));
      const message = `Content-Encoding must be gzip or absent (got "${encoding.slice(0, 40)}")`;
      assert.deepEqual(result, { code: "unsupported_media_type", message });
    }
  });

  it("may say outright that it is not compressed", async () => {
    assert.equal(await read(makeRequest("x", { "content-encoding": "identity" })), "x");
  });
});

describe("the text of a body", () => {
  it("is UTF-8, also where a character comes in two pieces", async () => {
    const [first, ...others] = Buffer.from("🙂");
    assert.equal(await read(streamed(Uint8Array.of(first ?? 0), Uint8Array.from(others))), "🙂");
  });

  it("loses the mark that some programs put before it", async () => {
    assert.equal(await read(makeRequest("\ufeff{}")), "{}");
  });

  it("is refused when it is not UTF-8: replacing would change the client's data", async () => {
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0x22, 0xe9, 0x22]]) {
      const result = await read(makeRequest(Uint8Array.from(bytes)));
      assert.deepEqual(result, { code: "invalid_encoding", message: "the body is not valid UTF-8" });
    }
  });
});

describe("a connection that breaks", () => {
  for (const [name, headers] of [["announced", { "content-length": "100" }] as const, ["not announced", {}] as const]) {
    it(`leaves an incomplete body, its length ${name}`, async () => {
      const upload = startUpload({ ...headers });
      const reading = codeOf(upload.request);
      upload.send("half of i");
      upload.abort();
      assert.equal(await reading, "body_incomplete");
    });
  }
});
