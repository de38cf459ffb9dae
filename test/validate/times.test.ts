import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventOf, faultOf } from "./make.ts";

const TRACK = { type: "track", userId: "u1", event: "E" };

function timesOf(call: object, sentAt: string | null = null): (string | undefined)[] {
  const { timestamp, originalTimestamp, sentAt: sent } = eventOf({ ...TRACK, ...call }, { sentAt });
  return [timestamp, originalTimestamp, sent];
}

describe("the times of a call", () => {
  const NOW = "2026-11-20T12:00:00.000Z";

  it("are the time of receipt when it says none (SPEC.md 2.3)", () => {
    assert.deepEqual(timesOf({}), [NOW, undefined, undefined]);
  });

  it("are its own word without sentAt (SPEC.md 4.3 rule 5)", () => {
    const said = "2009-11-10T23:00:00.000Z";
    assert.deepEqual(timesOf({ timestamp: "2009-11-10T15:00:00-0800" }), [said, said, undefined]);
  });

  it("are corrected by its own sentAt", () => {
    assert.deepEqual(timesOf({ timestamp: "2026-11-20T16:59:00Z", sentAt: "2026-11-20T17:00:00Z" }), [
      ...["2026-11-20T11:59:00.000Z", "2026-11-20T16:59:00.000Z", "2026-11-20T17:00:00.000Z"],
    ]);
  });

  it("are corrected by the envelope's sentAt, where it has none of its own", () => {
    assert.deepEqual(timesOf({ timestamp: "2026-11-20T16:59:00Z" }, "2026-11-20T17:00:00Z"), [
      ...["2026-11-20T11:59:00.000Z", "2026-11-20T16:59:00.000Z", "2026-11-20T17:00:00.000Z"],
    ]);
    assert.equal(timesOf({ timestamp: NOW, sentAt: NOW }, "2026-11-20T17:00:00Z")[2], NOW);
    assert.equal(timesOf({ timestamp: NOW, sentAt: null }, NOW)[2], NOW);
  });

  it("are counted from timestamp, which the user gave, where a client sends originalTimestamp too", () => {
    const both = { originalTimestamp: "2026-11-20T11:00:00Z", timestamp: "2026-11-20T11:30:00Z", sentAt: NOW };
    assert.deepEqual(timesOf(both).slice(0, 2), ["2026-11-20T11:30:00.000Z", "2026-11-20T11:30:00.000Z"]);
  });
});

describe("a time that cannot be read", () => {
  it("is refused, with what was expected and what came", () => {
    const sentence = "must be an ISO 8601 time like 2009-11-10T23:00:00.000Z (got ";
    assert.deepEqual(faultOf({ ...TRACK, timestamp: "yesterday" }), {
      ...{ code: "invalid_timestamp", message: `timestamp ${sentence}"yesterday")` },
    });
    assert.equal(faultOf({ ...TRACK, sentAt: "" }).message, `sentAt ${sentence}"")`);
    assert.equal(
      faultOf({ ...TRACK, timestamp: "x".repeat(500) }).message,
      `timestamp ${sentence}"${"x".repeat(40)}")`,
    );
  });

  it("is refused in the envelope too", () => {
    assert.equal(faultOf(TRACK, { sentAt: "soon" }).code, "invalid_timestamp");
  });
});
