import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AdminWorld, createAdmin } from "../../src/admin/api.ts";
import { MOST_LISTED as MOST_OF_DAEMON } from "../../src/admin/rejected.ts";
import { MOST_LISTED } from "../../src/cli/rejected.ts";
import { fault } from "../../src/model/fault.ts";
import type { Rejection } from "../../src/model/refusal.ts";
import { Secret } from "../../src/model/secret.ts";
import { createServe } from "../../src/runtime/serve.ts";
import { makeSource } from "../flow/make.ts";
import { askAdmin, SLOW } from "./run.ts";

const LISTEN = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;

const OLD: Rejection = {
  ...{ at: Date.UTC(2026, 1, 3, 4, 5, 6, 7), source: "website", type: "track", messageId: "m1" },
  fault: fault("missing_event", "a track call needs an event"),
  from: { address: "203.0.113.7", userAgent: "evil\u001b[2J\u009b2J", origin: null },
  ...{ request: "POST /v1/track", sample: '{"userId":"u1"}' },
};
const NEW: Rejection = {
  ...OLD,
  ...{ at: OLD.at + 1, source: null, type: null, messageId: null },
  fault: fault("unknown_write_key", "no source has this write key"),
};

/** The operator's API of a daemon that has refused two calls, and the command that asks it. */
async function startAdmin(token: string | null = null) {
  const world: Pick<AdminWorld, "admin" | "rejections" | "sources"> = {
    admin: () => ({ listen: LISTEN, token: token === null ? null : new Secret(token) }),
    sources: () => [makeSource({ name: "website" }), makeSource({ name: "a&b=c" })],
    rejections: { newest: (limit) => [NEW, OLD].slice(0, limit) },
  };
  const listener = await createServe()(LISTEN, createAdmin(world as AdminWorld));
  return {
    rejected: (args: readonly string[], more: Record<string, string> = {}) =>
      askAdmin(["rejected", ...args], listener.address, more).ended,
    [Symbol.asyncDispose]: () => listener.stop(),
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
      /unknown_write_key(.|\n)*The last refusal\. --limit 100/,
    );
    assert.match((await admin.rejected(["--source", "website"])).out, /missing_event(.|\n)*The last refusal\.\n$/);
    const none = await admin.rejected(["--source", "a&b=c", "--code", "missing_event"]);
    assert.equal(none.out.slice(0, 48), "No call of a&b=c was refused with missing_event ");
    assert.equal(none.code, 0);
  });

  it("knows which source was probably meant", SLOW, async () => {
    await using admin = await startAdmin();
    assert.deepEqual(await admin.rejected(["--source", "webiste"]), {
      ...{ code: 1, out: "", err: 'fairlead: there is no source "webiste"; did you mean website?\n' },
    });
    const { code, out, err } = await admin.rejected(["--source", "webiste", "--json"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.deepEqual(JSON.parse(err), {
      ...{ success: false, code: "unknown_source", message: 'there is no source "webiste"; did you mean website?' },
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
    assert.match(missing.err, /^fairlead: the daemon at \S+ \(\$FAIRLEAD_ADMIN\) wants its admin\.token: .*\n$/);
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

  it("can ask for as many as the daemon lists", () => {
    assert.equal(MOST_LISTED, MOST_OF_DAEMON);
  });
});
