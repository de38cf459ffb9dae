import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { type Bodies, createBodies } from "../../src/http/body.ts";
import type { Fault, FaultCode } from "../../src/model/fault.ts";
import { KB, MB } from "../../src/model/units.ts";
import { createFalseClock } from "../flow/clock.ts";
import { type FalseUpload, makeRequest, startUpload } from "./make.ts";

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

  it("is refused with a message that names the limit", async () => {
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

  it("is refused by its announced length, before anything has come", async () => {
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

type Reading = { readonly upload: FalseUpload; readonly result: Promise<string | Fault>; readonly done: () => boolean };

/** Begins to read a body that has not come yet. */
function begin(bodies: Bodies, headers: Record<string, string> = {}, limit = MB): Reading {
  const upload = startUpload(headers);
  let done = false;
  const result = bodies.read(upload.request, limit).finally(() => {
    done = true;
  });
  return { upload, result, done: () => done };
}

const OF_A_MB = { "content-length": String(MB) };

describe("a slow body", () => {
  for (const [name, headers] of [["announced", { "content-length": "100" }] as const, ["not announced", {}] as const]) {
    it(`is given up after a minute, its length ${name}`, async () => {
      const clock = createFalseClock();
      const { upload, result, done } = begin(createBodies(clock), { ...headers });
      upload.send("x");
      await clock.advance("59s");
      assert.equal(done(), false);
      await clock.advance("6s");
      const answer = { code: "body_too_slow", message: "the body was not complete after 1m" };
      assert.deepEqual(await result, answer);
    });
  }

  it("is given up however often a little of it comes", async () => {
    const clock = createFalseClock();
    const { upload, result } = begin(createBodies(clock));
    for (let seconds = 0; seconds < 65; seconds += 5) {
      upload.send("x");
      await clock.advance("5s");
    }
    assert.equal(((await result) as Fault).code, "body_too_slow");
  });

  it("has a minute of its own, whatever was slow before", async () => {
    const clock = createFalseClock();
    const bodies = createBodies(clock);
    const first = begin(bodies);
    await clock.advance("40s");
    const second = begin(bodies);
    await clock.advance("40s");
    assert.deepEqual([first.done(), second.done()], [true, false]);
    second.upload.send("in time");
    second.upload.finish();
    assert.equal(await second.result, "in time");
  });

  it("is looked for again when the daemon had been idle", async () => {
    const clock = createFalseClock();
    const bodies = createBodies(clock);
    assert.equal(await bodies.read(makeRequest("quick"), MB), "quick");
    await clock.advance("1h");
    const { result } = begin(bodies);
    await clock.advance("65s");
    assert.equal(((await result) as Fault).code, "body_too_slow");
  });
});

describe("all unfinished bodies together", () => {
  const TOO_MANY = {
    code: "too_many_bodies",
    message: "too many bodies are being received at once; try again",
    retryAfter: 1_000,
  };

  it("announce at most 64 MB, to the byte", async () => {
    const bodies = createBodies(createFalseClock());
    const readings = Array.from({ length: 63 }, () => begin(bodies, OF_A_MB));
    const last = begin(bodies, { "content-length": String(MB - 1) });
    assert.equal(await bodies.read(makeRequest("x"), MB), "x");
    assert.deepEqual(await bodies.read(makeRequest("xx"), MB), TOO_MANY);
    await endAll([...readings, last]);
  });

  it("count as long as their limit where none announces its length", async () => {
    const bodies = createBodies(createFalseClock());
    const readings = Array.from({ length: 64 }, () => begin(bodies));
    assert.deepEqual(await bodies.read(makeRequest("x"), MB), TOO_MANY);
    await endAll(readings);
  });

  const ends: Readonly<Record<string, (upload: FalseUpload) => void>> = {
    "is complete": (upload) => upload.finish(),
    "breaks off": (upload) => upload.abort(),
    "is too large": (upload) => upload.send("x".repeat(MB + 1)),
  };
  for (const [how, end] of Object.entries(ends)) {
    it(`make room when one of them ${how}`, async () => {
      const bodies = createBodies(createFalseClock());
      const readings = Array.from({ length: 64 }, () => begin(bodies));
      const [first] = readings;
      if (first) end(first.upload);
      await first?.result;
      assert.equal(await bodies.read(makeRequest("x"), MB), "x");
      await endAll(readings.slice(1));
    });
  }

  it("make no room for one that was given up, until it is really over: it may still come in", async () => {
    const clock = createFalseClock();
    const bodies = createBodies(clock);
    const readings = Array.from({ length: 64 }, () => begin(bodies));
    await clock.advance("65s");
    assert.ok(readings.every((reading) => reading.done()));
    assert.deepEqual(await bodies.read(makeRequest("x"), MB), TOO_MANY);
    for (const { upload } of readings) upload.abort();
    await clock.rest();
    assert.equal(await bodies.read(makeRequest("x"), MB), "x");
  });

  it("make way for others after a second: connections that only wait do not shut the door", async () => {
    const clock = createFalseClock();
    const bodies = createBodies(clock);
    const [first, ...others] = Array.from({ length: 64 }, () => begin(bodies));
    assert.ok(first);
    await clock.advance("900ms");
    assert.deepEqual(await bodies.read(makeRequest("x"), MB), TOO_MANY);
    assert.equal(first.done(), false);
    await clock.advance("100ms");
    // The one that has taken longest is given up, and its place is free when its connection has ended.
    assert.deepEqual(await bodies.read(makeRequest("x"), MB), TOO_MANY);
    const message = "the body was too slow while too many others were being received; try again";
    assert.deepEqual(await first.result, { code: "body_too_slow", message });
    assert.deepEqual(await bodies.read(makeRequest("x"), MB), TOO_MANY);
    assert.ok(others.every((other) => !other.done()));
    first.upload.abort();
    await clock.rest();
    assert.equal(await bodies.read(makeRequest("x"), MB), "x");
    await endAll(others);
  });

  it("do not count those that were refused at once", async () => {
    const bodies = createBodies(createFalseClock());
    for (let n = 0; n < 100; n++) {
      await bodies.read(makeRequest(null, { "content-length": String(2 * MB) }), MB);
      await bodies.read(makeRequest(null, { "content-length": String(MB) }), MB);
      await bodies.read(makeRequest("\u00ff", { "content-encoding": "gzip" }), MB);
    }
    const readings = Array.from({ length: 64 }, () => begin(bodies));
    await endAll(readings);
    for (const { result } of readings) assert.equal(await result, "");
  });
});

async function endAll(readings: readonly Reading[]): Promise<void> {
  for (const { upload } of readings) upload.finish();
  await Promise.all(readings.map(({ result }) => result));
}
