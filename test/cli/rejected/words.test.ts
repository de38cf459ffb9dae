import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isRejectedList, type RejectedCall } from "../../../src/cli/rejected/list.ts";
import { type Asked, toWords } from "../../../src/cli/rejected/words.ts";

const ASKED: Asked = { limit: 20, most: 100, source: null, code: null };

const CALL: RejectedCall = {
  ...{ at: "2026-02-03T04:05:06.007Z", source: "website", type: "track", messageId: "m1", count: 1 },
  ...{ code: "missing_event", message: "a track call needs an event" },
  from: { address: "203.0.113.7", userAgent: "curl/8.5.0", origin: null },
  ...{ request: "POST /v1/track", sample: '{"userId":"u1"}' },
};

const WHOLE_REQUEST: RejectedCall = {
  ...{ ...CALL, source: null, type: null, messageId: null, count: 12, sample: "" },
  from: { address: null, userAgent: null, origin: null },
};

/** The lines of the only block. */
function blockOf(call: Partial<RejectedCall>): readonly string[] {
  return (toWords([{ ...CALL, ...call }], ASKED).split("\n\n")[0] ?? "").split("\n");
}

describe("refused calls, for a person", () => {
  it("are blocks: when, whose, why, which call, who sent it, and how it begins", () => {
    assert.deepEqual(blockOf({}), [
      "2026-02-03T04:05:06.007Z website: missing_event",
      "  a track call needs an event",
      "  track, messageId m1",
      "  POST /v1/track from 203.0.113.7, curl/8.5.0",
      '    {"userId":"u1"}',
    ]);
  });

  it("are whole requests of nobody knows whom", () => {
    assert.deepEqual(blockOf(WHOLE_REQUEST), [
      "2026-02-03T04:05:06.007Z unknown source: missing_event",
      "  a track call needs an event",
      "  12 calls",
      "  POST /v1/track from an unknown address",
      "    (nothing of it was read)",
    ]);
  });

  it("come with the page that sent them, and with as much of its browser as fits", () => {
    const from = {
      address: "2001:db8::1",
      userAgent: `Mozilla/5.0 ${"x".repeat(300)}`,
      origin: "https://a.example.com",
    };
    const [, , , sender = ""] = blockOf({ from });
    assert.match(
      sender,
      /^ {2}POST \/v1\/track from 2001:db8::1, a page of https:\/\/a\.example\.com, Mozilla\/5\.0 x+…$/,
    );
    assert.equal(sender.length, 102);
  });

  it("keep the lines of their sample", () => {
    assert.deepEqual(blockOf({ sample: '{\r\n\t"a": 1\n}\n' }).slice(-3), ["    {", '      "a": 1', "    }"]);
  });

  it("begin with the newest, and say so", () => {
    const words = toWords([CALL, { ...CALL, at: "2026-02-03T04:05:05.000Z" }], ASKED);
    assert.deepEqual(words.match(/^2026\S+/gm), ["2026-02-03T04:05:06.007Z", "2026-02-03T04:05:05.000Z"]);
    assert.match(words, /\n\nThe last 2 refusals, the newest first\.$/);
    assert.match(toWords([CALL], ASKED), /\n\nThe last refusal\.$/);
  });

  it("may be more than were asked for, unless no more can be shown", () => {
    assert.match(toWords([CALL], { ...ASKED, limit: 1 }), /The last refusal\. --limit 100 may show more\.$/);
    assert.match(toWords([CALL, CALL], { ...ASKED, limit: 2, most: 2 }), /the newest first\.$/);
  });

  it("cannot write to the terminal, whatever they hold", () => {
    const evil = "\u001b]0;owned\u0007\u009b2J\r\u007f\u0000";
    const from = { address: evil, userAgent: evil, origin: evil };
    const text = { at: evil, source: evil, type: evil, messageId: evil, code: evil, message: evil, request: evil };
    const words = toWords([{ ...CALL, ...text, from, sample: `${evil}\n${evil}` }], ASKED);
    assert.deepEqual(words.match(/(?!\n)\p{Cc}/gu), null);
    assert.match(words, /\\u001b\]0;owned/);
    assert.doesNotMatch(toWords([], { ...ASKED, source: evil, code: evil }), /\p{Cc}/u);
  });

  it("cannot pretend to be two", () => {
    const [, ...rest] = blockOf({ message: "no\n\n2026 website: x", messageId: "\n2026" });
    assert.ok(rest.every((line) => line.startsWith("  ")));
  });
});

describe("no refused calls", () => {
  it("are a sentence that says since when, and of what", () => {
    assert.equal(toWords([], ASKED), "No call was refused since the daemon started.");
    assert.equal(
      toWords([], { ...ASKED, source: "website", code: "missing_event" }),
      "No call of website was refused with missing_event since the daemon started, as far back as it remembers.",
    );
  });
});

describe("the daemon's list of refused calls", () => {
  const { from, ...others } = CALL;

  it("is known by its shape", () => {
    for (const rejected of [[], [CALL], [CALL, WHOLE_REQUEST], [{ ...CALL, more: 1 }]]) {
      assert.ok(isRejectedList({ rejected, more: 1 }));
    }
  });

  it("is nothing else", () => {
    const calls = [null, others, { ...CALL, sample: null }, { ...CALL, source: 5 }, { ...CALL, count: "1" }];
    const lists = [...calls, { ...CALL, from: { ...from, address: 5 } }].map((call) => ({ rejected: [CALL, call] }));
    for (const other of [null, [], "", {}, { rejected: {} }, ...lists]) {
      assert.equal(isRejectedList(other), false, JSON.stringify(other));
    }
  });
});
