// JavaScript may throw any value, and some have no text: `String` throws at them in turn. None may stop the library.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InvalidCallError, InvalidOptionError } from "../../src/client/errors.ts";
import { readOptions } from "../../src/client/options.ts";
import { printable } from "../../src/client/show.ts";
import { startClient } from "./world.ts";

type Odd = readonly [what: string, value: () => unknown];

const WITHOUT_TEXT: readonly Odd[] = [
  ["an object without a prototype", () => Object.create(null)],
  ["a toString that throws", () => ({ toString: throws })],
  ["an error whose stack and message throw", () => withGetters(new Error(), throws)],
  ["an error whose stack and message are symbols", () => withGetters(new Error(), () => Symbol("s"))],
];
const THROWN: readonly Odd[] = [
  ...WITHOUT_TEXT,
  ["a proxy that throws at everything", () => new Proxy({}, { get: throws, getPrototypeOf: throws, has: throws })],
];

for (const [what, value] of THROWN) {
  describe(`${what}, thrown`, () => {
    it("by one of the program's functions, is written down, and all is settled", async () => {
      const c = startClient({
        onDelivered: () => throwOf(value),
        debug: () => throwOf(value),
      });
      void c.track("E");
      assert.equal((await c.client.flush()).delivered.length, 1);
      assert.ok(c.lines.length > 1);
      assert.ok(c.lines.every((line) => line.startsWith("analytics: a callback threw: ")));
    });

    it("by a promise of theirs, is written down as well", async () => {
      const c = startClient({ onDelivered: () => Promise.reject(value()) as never });
      void c.track("E");
      await c.client.flush();
      await c.clock.rest();
      assert.match(c.lines.join("\n"), /^analytics: a callback threw: .+$/s);
    });

    it("by fetch, is a fault of the network", async () => {
      const c = startClient({ retries: 1, debug: true, fetch: () => Promise.reject(value()) });
      void c.track("E");
      const flushed = c.client.flush();
      await c.clock.advance("1s");
      const { lost } = await flushed;
      assert.match(lost[0]?.message ?? "", /no success in 2 attempts; the last: no answer: /);
    });

    it("by a call's toJSON, is an error of the library's own", () => {
      const c = startClient();
      const broken = { toJSON: () => throwOf(value) };
      assert.throws(() => c.track("E", { properties: { broken } }), InvalidCallError);
    });
  });
}

describe("a value that cannot be shown as text", () => {
  it("is refused as an option, and as a timestamp", () => {
    for (const [, value] of WITHOUT_TEXT) {
      const odd = value() as never;
      for (const options of [{ retries: odd }, { endpoint: odd }, { queue: { whenFull: odd } }]) {
        assert.throws(() => readOptions("key", options), InvalidOptionError);
      }
      assert.throws(() => startClient().track("E", { timestamp: odd }), InvalidCallError);
    }
    assert.throws(() => readOptions("key", { endpoint: 1n as never }), InvalidOptionError);
  });
});

describe("an answer of a custom fetch that is none", () => {
  const headers = { get: () => null };
  const text = async (): Promise<string> => undefined as never;
  for (const [what, answer] of [
    ["a refusal without a text", { status: 400, statusText: "", headers, text }],
    ["a success without a text", { status: 200, statusText: "", headers, text }],
    ["no status", { headers, text }],
    ["a Retry-After that is no text", { status: 503, statusText: "", headers: { get: () => 7 }, text }],
    ["nothing", undefined],
  ] as const) {
    it(`is a failure like others: ${what}`, async () => {
      const c = startClient({ retries: 0, debug: true, fetch: async () => answer as never });
      void c.track("E");
      assert.equal((await c.client.flush()).lost.length, 1);
    });
  }
});

describe("a standard error that throws", () => {
  for (const options of [{ deaf: true }, { onError: throws }, { debug: true }]) {
    it(`stops nothing: ${JSON.stringify(options)}`, async () => {
      const c = startClient({ ...options, answers: () => 400, world: { log: throws } });
      for (let nth = 1; nth <= 3; nth += 1) void c.track("E");
      assert.equal((await c.client.close(1_000)).lost.length, 3);
    });
  }
});

describe("a fault of the library itself", () => {
  it("loses the batch and reports it, so that no flush waits forever", async () => {
    const c = startClient({
      answers: () => 503,
      world: { fraction: throws },
    });
    void c.track("E");
    const { lost } = await c.client.flush();
    assert.match(lost[0]?.message ?? "", /^track \S+ is lost: it could not be sent: no$/);
    assert.deepEqual([lost[0]?.reason, lost[0]?.code, c.alive()], ["gave_up", "gave_up", 0]);
  });
});

function throws(): never {
  throw new Error("no");
}

function throwOf(value: () => unknown): never {
  throw value();
}

function withGetters(error: Error, get: () => unknown): Error {
  return Object.defineProperties(error, { stack: { get }, message: { get } });
}

describe("text of others", () => {
  it("cannot move the cursor, ring, or change colours", () => {
    assert.equal(printable("a\u001b[2Jb\u0007\r\n\u009b1m"), "a\\u001b[2Jb\\u0007\\u000d\\u000a\\u009b1m");
  });

  it("cannot turn the direction of writing", () => {
    assert.equal(printable("a\u202egpj.exe\u2066b\u200f"), "a\\u202egpj.exe\\u2066b\\u200f");
  });

  it("cannot hide anything, nor be what it does not look like", () => {
    assert.equal(printable("a\u200bb\u00adc\ufeffd\u2060e\u2063f"), "a\\u200bb\\u00adc\\ufeffd\\u2060e\\u2063f");
    assert.equal(printable("a\u{e0041}b"), "a\\udb40\\udc41b");
    assert.equal(printable("a\ud800"), "a\\ud800");
    assert.equal(JSON.parse(`"${printable("\u{e0041}\u009b\u202e")}"`), "\u{e0041}\u009b\u202e");
  });

  it("is left as it is, whatever its language", () => {
    const text = "Größe 日本語 🦊 עברית e\u0301";
    assert.equal(printable(text), text);
  });
});
