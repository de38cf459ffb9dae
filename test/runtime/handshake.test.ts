import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { reach } from "../../src/runtime/handshake.ts";
import { fixture, listen, startTlsReceiver } from "./tls.ts";

const TRUSTED = { ca: fixture("ca.crt"), cert: null, key: null };
const now = (): number => 7;

function reached(url: string, tls: typeof TRUSTED | null = TRUSTED, timeout = 20_000): ReturnType<typeof reach> {
  return reach({ url, tls, timeout }, now);
}

/** As the place of its certificate has it. */
function untilOf(year: number): number {
  return Date.UTC(year, 0, 1);
}

describe("how far one gets to a webhook", () => {
  it("is to the end of a handshake, whose certificate says until when it is good; no request is sent", async () => {
    await using receiver = await startTlsReceiver("good");
    assert.deepEqual(await reached(receiver.url), { kind: "reached", ms: 0, until: untilOf(2120) });
    assert.deepEqual(receiver.received, []);
  });

  const wrong: readonly (readonly [string, RegExp, number | null])[] = [
    ["expired", /has expired|Deno does not say which/, untilOf(2001)],
    ["not-yet-valid", /is not valid yet|Deno does not say which/, untilOf(2120)],
    ["wrong-name", /is for another host name/, untilOf(2120)],
    ["self-signed", /is self-signed/, null],
  ];
  for (const [name, words, until] of wrong) {
    it(`says of a certificate that is ${name} what deliveries would say, and how long it lasts`, async () => {
      await using receiver = await startTlsReceiver(name);
      const found = await reached(receiver.url);
      assert.equal(found.kind, "untrusted");
      if (found.kind !== "untrusted") return;
      assert.match(found.reason, words);
      if (until !== null) assert.equal(found.until, until);
      assert.deepEqual(receiver.received, []);
    });
  }

  it("trusts no authority but those of the webhook, and else those of the machine", async () => {
    await using receiver = await startTlsReceiver("good");
    assert.equal((await reached(receiver.url, null)).kind, "untrusted");
  });

  it("is a connection where there is no TLS, or a reason why there is none", async () => {
    const server = createServer((socket) => socket.on("error", () => {}));
    let port: string;
    {
      await using listening = await listen(server as never);
      ({ port } = new URL(listening.url));
      assert.deepEqual(await reached(`http://127.0.0.1:${port}/hook`, null), { kind: "reached", ms: 0, until: null });
    }
    assert.deepEqual(await reached(`http://127.0.0.1:${port}/hook`, null), {
      kind: "failed",
      reason: "connection refused",
    });
    assert.deepEqual(await reached("http://nowhere.invalid/", null), { kind: "failed", reason: "name not found" });
  });

  it("ends when nobody goes on with the handshake", async () => {
    await using silent = await listen(createServer((socket) => socket.on("error", () => {})) as never);
    assert.deepEqual(await reached(silent.url, TRUSTED, 50), {
      kind: "failed",
      reason: "no TLS handshake within 50ms",
    });
  });
});
