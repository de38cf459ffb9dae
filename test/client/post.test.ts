import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readBody } from "../../src/client/post.ts";
import { startClient } from "./world.ts";

const MB = 1024 * 1024;

/** A Response of the platform's whose body never ends, unless somebody does not want more of it. */
function endless(status: number, headers: Record<string, string> = {}) {
  const seen = { given: 0, cancelled: false };
  const chunk = new Uint8Array(64 * 1024).fill(0x20);
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      seen.given += chunk.length;
      // Without this, the test would not end when it fails.
      if (seen.given > 64 * MB) return controller.close();
      controller.enqueue(chunk);
    },
    cancel() {
      seen.cancelled = true;
    },
  });
  return { seen, response: new Response(stream, { status, headers }) };
}

describe("the body of an answer", () => {
  it("is read whole, with or without its length, in whatever pieces", async () => {
    const text = '{"success":true,"name":"Zoë 🙂"}';
    const bytes = new TextEncoder().encode(text);
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    assert.equal(await readBody(new Response(pieces)), text);
    assert.equal(await readBody(new Response(text, { headers: { "Content-Length": String(bytes.length) } })), text);
    assert.equal(await readBody(new Response(null, { status: 204 })), "");
  });

  for (const headers of [{}, { "Content-Length": "20", "Content-Encoding": "gzip" }]) {
    it(`is not read without end: an endless success is a fault of the network ${JSON.stringify(headers)}`, async () => {
      const { seen, response } = endless(200, headers);
      await assert.rejects(readBody(response), { message: "the answer is larger than 4 MB" });
      assert.deepEqual([seen.cancelled, seen.given < 6 * MB], [true, true]);
    });
  }

  it("is read to a bound where the status says enough", async () => {
    const { seen, response } = endless(400);
    assert.equal((await readBody(response)).length, 4 * MB);
    assert.equal(seen.cancelled, true);
  });

  it("may be without end, and the client gives up as ever", async () => {
    const c = startClient({ retries: 0, fetch: async () => endless(200).response });
    void c.track("E");
    const { lost } = await c.client.flush();
    assert.match(
      lost[0]?.message ?? "",
      /no success in one attempt; the last: no answer: the answer is larger than 4 MB$/,
    );
  });
});
