import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fault } from "../../src/model/fault.ts";
import { startAdmin } from "./make.ts";

const PATH = "/api/deletions";

describe("POST /api/deletions", () => {
  it("hands the wish on, and answers what was set off", async () => {
    const admin = startAdmin();
    const { status, text } = await admin.post(PATH, { userIds: ["u1", "u2"], sources: ["website"] });
    const said = { success: true, id: "del-1", status: "running", sources: ["website"], untold: [], notifications: 2 };
    assert.deepEqual([status, JSON.parse(text)], [200, said]);
    assert.deepEqual(admin.wishes, [{ userIds: ["u1", "u2"], sources: ["website"], erase: false, suppress: false }]);
  });

  it("hands on that they are to be erased, and suppressed", async () => {
    const admin = startAdmin();
    await admin.post(PATH, { userIds: ["u1"], erase: true, suppress: true });
    assert.deepEqual(admin.wishes, [{ userIds: ["u1"], sources: null, erase: true, suppress: true }]);
  });

  it("means all sources when it names none", async () => {
    const admin = startAdmin();
    await admin.post(PATH, { userIds: ["u1"] });
    assert.deepEqual(admin.wishes, [{ userIds: ["u1"], sources: null, erase: false, suppress: false }]);
  });

  it("takes up to 1,000 users", async () => {
    const users = (count: number): string[] => Array.from({ length: count }, (_, n) => `u${n}`);
    const admin = startAdmin();
    assert.equal((await admin.post(PATH, { userIds: users(1_000) })).status, 200);
    const { status, text } = await admin.post(PATH, { userIds: users(1_001) });
    assert.equal(status, 400);
    assert.match(JSON.parse(text).message, /^userIds: name at most 1000 users in one request/);
  });

  const wrong: Readonly<Record<string, readonly [body: unknown, message: RegExp]>> = {
    "no users": [{ userIds: [] }, /^userIds: name at least one user;/],
    "users missing": [{}, /^userIds: /],
    "users that are no list": [{ userIds: "u1" }, /^userIds: /],
    "a user without a name": [{ userIds: ["u1", ""] }, /^userIds\.1: each must be a string that is not empty;/],
    "a user that is a number": [{ userIds: [7] }, /^userIds\.0: /],
    "an empty list of sources": [
      { userIds: ["u1"], sources: [] },
      /^sources: name at least one source, or leave it out/,
    ],
    "sources that are no list": [{ userIds: ["u1"], sources: "website" }, /^sources: /],
    "a source that is no name": [{ userIds: ["u1"], sources: [null] }, /^sources\.0: /],
    "a key that nobody knows": [{ userIds: ["u1"], source: "website" }, /^source: /],
    "a list": [["u1"], /^the body: |^userIds: /],
    nothing: [null, /^the body: /],
  };
  for (const [what, [body, message]] of Object.entries(wrong)) {
    it(`refuses ${what}, and says what to send`, async () => {
      const admin = startAdmin();
      const { status, text } = await admin.post(PATH, body);
      const answer = JSON.parse(text);
      assert.deepEqual([status, answer.code, admin.wishes.length], [400, "invalid_request", 0]);
      assert.match(answer.message, message);
      assert.match(answer.message, /; send \{"userIds": \["…"\], "sources": \["…"\]\}$/);
    });
  }

  it("refuses what is not JSON, and a body over 500 KB", async () => {
    const admin = startAdmin();
    assert.equal(JSON.parse((await admin.post(PATH, "{")).text).code, "invalid_json");
    const large = JSON.stringify({ userIds: ["x".repeat(512_000)] });
    assert.equal(JSON.parse((await admin.post(PATH, large)).text).code, "body_too_large");
    assert.equal(admin.wishes.length, 0);
  });

  it("refuses a Content-Type that a web page could send", async () => {
    const admin = startAdmin();
    const { status } = await admin.post(PATH, { userIds: ["u1"] }, { "content-type": "text/plain" });
    assert.deepEqual([status, admin.wishes.length], [415, 0]);
  });

  it("answers 404 for a source that does not exist", async () => {
    const unknown = fault("unknown_source", 'no source is named "shop"; there are: website');
    const admin = startAdmin({ requestDeletion: async () => unknown });
    const { status, text } = await admin.post(PATH, { userIds: ["u1"], sources: ["shop"] });
    assert.deepEqual([status, JSON.parse(text).message], [404, unknown.message]);
  });

  it("answers 503 while the store cannot take it, and when to come back", async () => {
    const admin = startAdmin({ requestDeletion: async () => fault("store_failed", "no", 5_000) });
    const { status, headers } = await admin.post(PATH, { userIds: ["u1"] });
    assert.deepEqual([status, headers.get("retry-after")], [503, "5"]);
  });
});
