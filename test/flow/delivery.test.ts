import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startDaemon } from "./daemon.ts";

describe("delivery", () => {
  it("sends an accepted call as one POST, at once", async () => {
    await using d = await startDaemon();
    const answer = await d.call("/v1/track", { userId: "u1", event: "Signed Up", messageId: "m1" });
    assert.deepEqual(answer.json, { success: true, accepted: 1, duplicate: 0 });
    assert.equal(d.sent.length, 1);
    assert.equal((await d.row()).state, "delivered");
  });

  it("gives up four hours after the first attempt, whatever the receiver says", async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", { userId: "u1", event: "Signed Up" });
    await d.clock.advance("4h1m");
    const row = await d.row();
    assert.equal(row.state, "expired");
    assert.match(row.reason ?? "", /no success within 4h; last answer 503/);
  });
});
