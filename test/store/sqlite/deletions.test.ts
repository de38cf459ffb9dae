import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NewDeletion } from "../../../src/model/deletion.ts";
import { makeEntries, makeEntry } from "../make.ts";
import { failing, startOutbox } from "./start.ts";

const REQUEST: NewDeletion = {
  ...{ id: "del-1", requestedAt: 5, userIds: ["u1", "u2"], sources: null, affected: ["website"], untold: [] },
  ...{ erase: true, suppress: true },
};

describe("a deletion that is stored", () => {
  it("suppresses nobody if it could not be written, nor takes somebody back who is suppressed already", async () => {
    await using o = await startOutbox();
    const { deletions } = o.s.store();
    await deletions.record({ ...REQUEST, userIds: ["u1"] });
    o.shell.exec(failing("deletions"));
    assert.partialDeepStrictEqual(await deletions.record({ ...REQUEST, id: "del-2" }), { code: "store_failed" });
    assert.deepEqual(await deletions.suppressed.among(["u1", "u2"], "website"), new Set(["u1"]));
    assert.equal(await deletions.receipt("del-2"), null);
  });
});

describe("erasing", () => {
  it("says that the log cannot be emptied while somebody reads it", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    o.shell.exec("BEGIN; SELECT * FROM segments");
    await o.s.append(makeEntry({ messageId: "m4" }));
    assert.equal(await o.s.store().deletions.scrub(), false);
    o.shell.exec("ROLLBACK");
    assert.equal(await o.s.store().deletions.scrub(), true);
  });
});
