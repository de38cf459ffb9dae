import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdminWorld } from "../../src/admin/world.ts";
import { type Asked, type RejectedCall, toWords } from "../../src/cli/rejected.ts";
import { fault } from "../../src/model/fault.ts";
import type { Rejection } from "../../src/model/refusal.ts";
import { Secret } from "../../src/model/secret.ts";
import { makeAdmin, makeSource } from "../flow/make.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

const OLD: Rejection = {
  at: Date.UTC(2026, 1, 3, 4, 5, 6, 7),
  source: "website",
  type: "track",
  messageId: "m1",
  fault: fault("missing_event", "a track call needs an event"),
  from: { address: "203.0.113.7", userAgent: "evil\u001b[2J\u009b2J", origin: null },
  request: "POST /v1/track",
  sample: '{"userId":"u1"}',
};
const NEW: Rejection = {
  ...OLD,
  at: OLD.at + 1,
  source: null,
  type: null,
  messageId: null,
  fault: fault("unknown_write_key", "no source has this write key"),
};

/** The operator's API of a daemon that has refused two calls, and the command that asks it. */
async function startAdmin(token: string | null = null) {
  const world: Partial<AdminWorld> = {
    admin: () =>
      makeAdmin({ listen: { kind: "unix", path: "/unused" }, token: token === null ? null : new Secret(token) }),
    sources: () => [makeSource({ name: "website" }), makeSource({ name: "a&b=c" })],
    rejections: { newest: (limit) => [NEW, OLD].slice(0, limit) },
  };
  const daemon = await serveAdmin(world);
  return {
    rejected: (args: readonly string[], more: Record<string, string> = {}) => daemon.run(["rejected", ...args], more),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}

describe("fairlead rejected", () => {
  it("shows what the daemon has refused, the newest first", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out, err } = await admin.rejected([]);
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(out.match(/^2026.*/gm), [
      "2026-02-03T04:05:06.008Z unknown source: unknown_write_key",
      "2026-02-03T04:05:06.007Z website: missing_event",
    ]);
  });

  it("shows no more than is asked for, by number, source and code", SLOW, async () => {
    await using admin = await startAdmin();
    assert.match(
      (await admin.rejected(["--limit", "1"])).out,
      /unknown_write_key(.|\n)*1 refused call\. There may be more: try --limit 100/,
    );
    assert.match((await admin.rejected(["--source", "website"])).out, /missing_event(.|\n)*1 refused call\.\n$/);
    const none = await admin.rejected(["--source", "a&b=c", "--code", "missing_event"]);
    assert.equal(none.out.slice(0, 48), "No call of a&b=c was refused with missing_event ");
    assert.equal(none.code, 0);
  });

  it("knows which source was probably meant", SLOW, async () => {
    await using admin = await startAdmin();
    assert.deepEqual(await admin.rejected(["--source", "webiste"]), {
      code: 1,
      out: "",
      err: 'fairlead: there is no source "webiste"; did you mean website?\n',
    });
    const { code, out, err } = await admin.rejected(["--source", "webiste", "--json"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.deepEqual(JSON.parse(err), {
      success: false,
      code: "unknown_source",
      message: 'there is no source "webiste"; did you mean website?',
    });
  });

  it("prints the daemon's own answer as JSON, with nothing in it that moves a cursor", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out } = await admin.rejected(["--json"]);
    assert.equal(code, 0);
    const { rejected } = JSON.parse(out);
    assert.deepEqual(
      rejected.map(({ at }: { at: string }) => at),
      ["2026-02-03T04:05:06.008Z", "2026-02-03T04:05:06.007Z"],
    );
    assert.deepEqual(rejected[0].from, NEW.from);
    assert.doesNotMatch(out, /(?!\n)\p{Cc}/u);
  });

  it("sends the token of the environment, and says so in one line if it is wrong or missing", SLOW, async () => {
    await using admin = await startAdmin("right-token");
    const right = await admin.rejected(["--json"], { FAIRLEAD_ADMIN_TOKEN: "right-token" });
    assert.deepEqual([right.code, right.err], [0, ""]);
    const wrong = await admin.rejected([], { FAIRLEAD_ADMIN_TOKEN: "wrong-token" });
    assert.deepEqual([wrong.code, wrong.out], [1, ""]);
    assert.match(
      wrong.err,
      /^fairlead: the daemon at http:\S+ \(\$FAIRLEAD_ADMIN\) refuses \$FAIRLEAD_ADMIN_TOKEN: .*\n$/,
    );
    const missing = await admin.rejected([]);
    assert.match(missing.err, /^fairlead: the daemon at \S+ \(\$FAIRLEAD_ADMIN\) requires its admin\.token: .*\n$/);
    assert.equal(missing.code, 1);
  });

  it("exits 2 if it is wrongly used, and says what is right", SLOW, async () => {
    await using admin = await startAdmin();
    const limit = await admin.rejected(["--limit", "101"]);
    assert.equal(limit.code, 2);
    assert.match(limit.err, /It must be a whole number from 1 to 100\./);
    const code = await admin.rejected(["--code", "mising_event"]);
    assert.equal(code.code, 2);
    assert.match(code.err, /Did you mean missing_event\?/);
  });
});

const ASKED: Asked = { limit: 20, most: 100, source: null, code: null };

const CALL: RejectedCall = {
  at: "2026-02-03T04:05:06.007Z",
  source: "website",
  type: "track",
  messageId: "m1",
  count: 1,
  code: "missing_event",
  message: "a track call needs an event",
  from: { address: "203.0.113.7", userAgent: "curl/8.5.0", origin: null },
  request: "POST /v1/track",
  sample: '{"userId":"u1"}',
};

const WHOLE_REQUEST: RejectedCall = {
  ...CALL,
  source: null,
  type: null,
  messageId: null,
  count: 12,
  sample: "",
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
      "    (nothing was read)",
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
      /^ {2}POST \/v1\/track from 2001:db8::1, on a page of https:\/\/a\.example\.com, Mozilla\/5\.0 x+…$/,
    );
    assert.equal(sender.length, 102);
  });

  it("keep the lines of their sample", () => {
    assert.deepEqual(blockOf({ sample: '{\r\n\t"a": 1\n}\n' }).slice(-3), ["    {", '      "a": 1', "    }"]);
  });

  it("begin with the newest, and say so", () => {
    const words = toWords([CALL, { ...CALL, at: "2026-02-03T04:05:05.000Z" }], ASKED);
    assert.deepEqual(words.match(/^2026\S+/gm), ["2026-02-03T04:05:06.007Z", "2026-02-03T04:05:05.000Z"]);
    assert.match(words, /\n\n2 refused calls, the newest first\.$/);
    assert.match(toWords([CALL], ASKED), /\n\n1 refused call\.$/);
  });

  it("may be more than were asked for, unless no more can be shown", () => {
    assert.match(toWords([CALL], { ...ASKED, limit: 1 }), /1 refused call\. There may be more: try --limit 100\.$/);
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
      "No call of website was refused with missing_event since the daemon started, as far as the daemon remembers.",
    );
  });
});
