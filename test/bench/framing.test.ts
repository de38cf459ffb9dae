import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFraming } from "../../bench/framing.ts";

const ANSWER = 'HTTP/1.1 200 OK\r\nDate: today\r\ncontent-length: 16\r\n\r\n{"success":true}';
const EMPTY_ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

describe("framing", () => {
  it("counts the messages in a chunk, with and without a body", () => {
    const push = createFraming(() => {});
    assert.equal(push(Buffer.from(ANSWER + EMPTY_ANSWER + ANSWER)), 3);
  });

  it("counts a message once, wherever the chunks are cut", () => {
    for (let cut = 1; cut < ANSWER.length; cut += 1) {
      const push = createFraming(() => {});
      const counts = [ANSWER.slice(0, cut), ANSWER.slice(cut) + EMPTY_ANSWER].map((part) => push(Buffer.from(part)));
      assert.deepEqual(counts, [0, 2], `cut after ${cut} bytes`);
    }
  });

  it("takes no part of a body for a head", () => {
    const push = createFraming(() => {});
    assert.equal(push(Buffer.from("POST / HTTP/1.1\r\nContent-Length: 8\r\n\r\n\r\n\r\n\r\n\r\n")), 1);
  });

  it("shows each head", () => {
    const heads: string[] = [];
    const push = createFraming((bytes, from, to) => heads.push(bytes.toString("latin1", from, to)));
    push(Buffer.from(EMPTY_ANSWER + ANSWER));
    assert.deepEqual(
      heads.map((head) => head.split("\r\n").length),
      [2, 3],
    );
  });

  it("refuses a message that does not say how long it is", () => {
    const push = createFraming(() => {});
    const chunk = Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert.throws(() => push(chunk), /without Content-Length/);
  });
});
