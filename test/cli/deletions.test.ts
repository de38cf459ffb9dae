import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdminWorld } from "../../src/admin/world.ts";
import type { Deletion, StoredDeletions } from "../../src/model/deletion.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

const NONE = { waiting: 0, delivered: 0, failed: 0, expired: 0, forgotten: 0 };

const FAILED: Deletion = {
  id: "del-2",
  status: "failed",
  stage: "settling",
  requestedAt: Date.UTC(2026, 0, 1),
  upTo: 7,
  forced: false,
  endedAt: Date.UTC(2026, 0, 2),
  users: 2,
  scope: ["website"],
  sources: ["website"],
  erase: true,
  suppress: true,
  notices: [
    { source: "website", destination: "crm", ...NONE, delivered: 1, failed: 1 },
    { source: "website", destination: "lake", ...NONE, waiting: 2 },
  ],
  erased: null,
  untold: [],
};
const DONE: Deletion = {
  ...FAILED,
  id: "del-1",
  status: "finished",
  stage: "done",
  scope: null,
  sources: [],
  notices: [],
  erased: { events: 12, deliveries: 3 },
};

/** The operator's API of a daemon that was asked for two deletions, and commands that ask it. */
async function startAdmin() {
  const asked: unknown[] = [];
  const deletions: Partial<StoredDeletions> = {
    async page(ask) {
      asked.push(ask);
      return { deletions: ask.user === "nobody" ? [] : [FAILED, DONE], cursor: ask.limit === 2 ? "del-1" : null };
    },
    async receipt(id) {
      const one = [FAILED, DONE].find((deletion) => deletion.id === id);
      if (!one) return null;
      const people = [
        { nth: 0, userId: one === DONE ? null : "u\u001b[31m1", hash: "abc", suppressed: true },
        { nth: 1, userId: one === DONE ? null : "u2", hash: "def", suppressed: false },
      ];
      return { ...one, people };
    },
    salt: async () => "5a17",
    async force(id) {
      asked.push(["force", id]);
      return { ...FAILED, forced: true };
    },
    suppressed: { among: async (userIds) => new Set(userIds), lift: async (userIds) => Math.min(1, userIds.length) },
  };
  const world: Partial<AdminWorld> = {
    deletions: deletions as StoredDeletions,
    wakeDeletion: () => void asked.push("woken"),
  };
  const daemon = await serveAdmin(world);
  return {
    asked,
    run: (...args: readonly string[]) => daemon.run(["deletions", ...args]),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}

const LIST = `id     status    requested                 users  sent  waiting  failed  options
del-2  failed    2026-01-01T00:00:00.000Z  2      1     2        1       erase, suppress
del-1  finished  2026-01-01T00:00:00.000Z  2      0     0        0       erase, suppress
`;

const SHOWN = `del-2: failed since 2026-01-02T00:00:00.000Z
  requested 2026-01-01T00:00:00.000Z: 2 users of website, with erase, suppress
  website to crm: 1 delivered, 1 failed
  website to lake: 2 waiting
  To list them: fairlead deliveries --type delete --state failed (or expired). To send one again: fairlead replay ID.
  Nothing is erased until they are delivered. To erase without them: fairlead deletions erase del-2

  u\\u001b[31m1 (suppressed)
  u2
`;

const ERASED = `del-1: finished since 2026-01-02T00:00:00.000Z
  requested 2026-01-01T00:00:00.000Z: 2 users of all sources, with erase, suppress
  No destination gets events of these sources, so there was none to notify.
  erased: 12 events and 3 deliveries

  erased, SHA-256 abc (suppressed)
  erased, SHA-256 def

  To find the requests of a user: fairlead deletions --user USER_ID. To compare a hash: fairlead deletions salt
`;

describe("fairlead deletions", () => {
  it("lists the requests, the newest first", SLOW, async () => {
    await using admin = await startAdmin();
    assert.deepEqual(await admin.run(), { code: 0, out: LIST, err: "" });
    assert.match((await admin.run("--limit", "2")).out, /There are more: try --limit\.\n$/);
    const none = await admin.run("--user", "nobody");
    assert.deepEqual(none.out, "There are no deletion requests.\n");
    assert.deepEqual(admin.asked.at(-1), { limit: 20, cursor: null, user: "nobody" });
    assert.equal(JSON.parse((await admin.run("--json")).out).deletions.length, 2);
  });

  it("shows one, and how to recognise who was erased", SLOW, async () => {
    await using admin = await startAdmin();
    assert.deepEqual(await admin.run("show", "del-2"), { code: 0, out: SHOWN, err: "" });
    assert.deepEqual(await admin.run("show", "del-1"), { code: 0, out: ERASED, err: "" });
    assert.doesNotMatch((await admin.run("show", "del-1", "--json")).out, /5a17/);
    assert.match((await admin.run("salt")).out, /^5a17\nprintf '%s' '5a17:USER_ID' \| sha256sum\n$/);
    assert.deepEqual(JSON.parse((await admin.run("salt", "--json")).out), { salt: "5a17" });
    const unknown = await admin.run("show", "del-9");
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /unknown_deletion: there is no deletion "del-9"/);
  });

  it("takes users back", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out } = await admin.run("unsuppress", "u1", "u2");
    assert.deepEqual([code, out], [0, "1 of 2 users was suppressed. Their calls are accepted now.\n"]);
    assert.deepEqual(JSON.parse((await admin.run("unsuppress", "u1", "--json")).out), { unsuppressed: 1 });
    assert.equal((await admin.run("unsuppress")).code, 2);
  });

  it("erases although a notification was given up", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out } = await admin.run("erase", "del-2");
    assert.deepEqual([code, out], [0, "del-2: its users are erased as soon as no notification is being sent.\n"]);
    assert.deepEqual(admin.asked, [["force", "del-2"], "woken"]);
    assert.equal((await admin.run("erase", "del-9")).code, 1);
  });
});
