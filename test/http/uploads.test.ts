import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Bodies, createBodies } from "../../src/http/body.ts";
import type { Fault } from "../../src/model/fault.ts";
import { MB } from "../../src/model/units.ts";
import { createFalseClock } from "../flow/clock.ts";
import { type FalseUpload, makeRequest, startUpload } from "./make.ts";

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
    const message = "the body was still coming when too many others were; try again";
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
