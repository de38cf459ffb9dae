import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import manifest from "../../package.json" with { type: "json" };
import { ENVELOPE_BYTES, LIBRARY, measureCall, utf8Length, VERSION, writeEnvelope } from "../../src/client/envelope.ts";
import { CallTooLargeError } from "../../src/client/errors.ts";
import { isFault } from "../../src/model/fault.ts";
import { validateCall } from "../../src/validate/call.ts";
import { createFalseIds, startClient } from "./world.ts";

const LIMITS = { maxCallSize: 32_768, maxBatchSize: 512_000 };
const text = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", '"', "\n", "\ud800") });

describe("the envelope of a batch", () => {
  it("is what the Go client sends, to the byte, under another name", async () => {
    const c = startClient();
    void c.call("identify", { userId: "u", traits: { plan: "pro" } });
    await c.client.flush();
    assert.equal(
      c.arrived[0]?.text,
      `{"context":{"library":{"name":"fairlead-client","version":"${VERSION}"}},"batch":[` +
        '{"type":"identify","messageId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-20T12:00:00.000Z",' +
        '"userId":"u","traits":{"plan":"pro"}}' +
        '],"messageId":"00000000-0000-4000-8000-000000000002","sentAt":"2026-11-20T12:00:00.000Z"}',
    );
  });

  it("goes to /v1/batch with the write key as the user of Basic authorization", async () => {
    const c = startClient({ endpoint: "https://events.example.com/", headers: { "X-Tenant": "7" } });
    void c.track("E");
    await c.client.flush();
    assert.equal(c.arrived[0]?.url, "https://events.example.com/v1/batch");
    assert.deepEqual(c.arrived[0]?.headers, {
      "X-Tenant": "7",
      "Content-Type": "application/json",
      "User-Agent": `fairlead-client (version: ${VERSION})`,
      Authorization: `Basic ${btoa("website-key:")}`,
    });
  });

  it("has the version of the package", () => {
    assert.equal(VERSION, manifest.version);
  });

  it("has no sentAt where the caller gave the times, so that they stay as they are", () => {
    const seal = { messageId: "m", sentAt: "2026-11-20T12:00:00.000Z" };
    const [own, made] = [{ text: '{"n":1}', ownTime: true }, { text: '{"n":2}' }];
    assert.match(writeEnvelope([own, own], seal), /"batch":\[{"n":1},{"n":1}\],"messageId":"m"}$/);
    assert.match(
      writeEnvelope([own, made], seal),
      /"batch":\[{"n":1},{"n":2,"sentAt":"2026-11-20T12:00:00.000Z"}\],"messageId":"m"}$/,
    );
  });

  it("takes as many bytes as it is said to", () => {
    const seal = { messageId: createFalseIds()(), sentAt: new Date().toISOString() };
    assert.equal(utf8Length(writeEnvelope([], seal)), ENVELOPE_BYTES);
  });
});

describe("the size of a text", () => {
  it("is that of its UTF-8, whatever is in it", () => {
    fc.assert(
      fc.property(text, (one) => {
        const json = JSON.stringify(one);
        assert.equal(utf8Length(json), new TextEncoder().encode(json).length);
      }),
    );
  });
});

describe("the size of a call", () => {
  it("is counted as the server counts it: what the client lets out, the server does not find too large", () => {
    const taken = { yes: 0, no: 0 };
    fc.assert(
      fc.property(
        fc.integer({ min: -90, max: 10 }),
        text,
        fc.constantFrom(undefined, {}, { ip: "é" }, { library: {} }),
        (off, extra, context) => {
          const call = {
            type: "track",
            messageId: "m",
            timestamp: "2026-11-20T12:00:00.000Z",
            userId: "u",
            event: "E",
            properties: { extra, pad: "" },
            context,
          };
          call.properties.pad = "x".repeat(Math.max(0, 32_768 + off - utf8Length(JSON.stringify(call))));
          const fine = fits(JSON.stringify(call));
          assert.equal(fine, isTakenByServer(call));
          taken[fine ? "yes" : "no"] += 1;
        },
      ),
      { numRuns: 300 },
    );
    assert.ok(taken.yes > 20 && taken.no > 20, JSON.stringify(taken));
  });

  it("is bounded by what a batch may hold, too", () => {
    const call = JSON.stringify({ userId: "u", pad: "x".repeat(2_000) });
    assert.throws(() => measureCall({ text: call }, { maxCallSize: 32_768, maxBatchSize: 2_048 }), CallTooLargeError);
  });
});

function fits(call: string): boolean {
  try {
    measureCall({ text: call, ownTime: true }, LIMITS);
    return true;
  } catch (error) {
    assert.ok(error instanceof CallTooLargeError);
    assert.ok(error.bytes > error.limit);
    return false;
  }
}

function isTakenByServer(call: object): boolean {
  const caller = { type: "server", address: null, userAgent: null, ip: "keep", isPage: false };
  const arrival = { type: null, context: { library: LIBRARY }, integrations: null, sentAt: null, calls: 1 };
  const parsed = JSON.parse(JSON.stringify(call));
  const made = validateCall(parsed, {
    ...arrival,
    receivedAt: 0,
    caller,
    numbers: "checked",
    maxCall: 32_768,
    newId: () => "id",
  } as never);
  if (isFault(made)) assert.equal(made.code, "call_too_large");
  return !isFault(made);
}
