import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createActivity } from "../../src/deliver/activity.ts";
import type { Answer } from "../../src/model/outcome.ts";
import { createFalseClock, UNSHIFTED } from "../flow/clock.ts";

const URL = "https://crm.example.com/hooks?token=secret";
const OK: Answer = { kind: "answered", status: 200, retryAfter: null, location: null };
const DOWN: Answer = { kind: "answered", status: 503, retryAfter: null, location: null };
const OFFLINE: Answer = { kind: "offline", code: "ENETUNREACH", message: "network is unreachable" };

function start() {
  const clock = createFalseClock();
  const activity = createActivity(clock, UNSHIFTED);
  const saw = (answer: Answer): void => activity.saw("crm", { ...answer, url: URL, startedAt: 0, duration: 1 });
  return { clock, activity, saw };
}

describe("what has come of the attempts for a destination", () => {
  it("is nothing at first", () => {
    const { activity } = start();
    assert.deepEqual(activity.of("crm"), { perSecond: 0, failingSince: null, lastError: null, offline: false });
  });

  it("is how many succeeded, each second of the last minute", async () => {
    const { clock, activity, saw } = start();
    for (let count = 0; count < 120; count++) saw(OK);
    assert.equal(activity.of("crm").perSecond, 2);
    assert.equal(activity.of("other").perSecond, 0);
    await clock.advance("1m");
    assert.equal(activity.of("crm").perSecond, 0);
  });

  it("is since when nothing succeeds, and what went wrong last, until something does", async () => {
    const { clock, activity, saw } = start();
    const since = clock.wall();
    saw(DOWN);
    await clock.advance("5m");
    saw({ kind: "timeout", after: 5_000 });
    assert.deepEqual(activity.of("crm"), {
      perSecond: 0,
      failingSince: since,
      lastError: { at: clock.wall(), url: "https://crm.example.com/hooks", reason: "no answer within 5s" },
      offline: false,
    });
    saw(OK);
    const { failingSince, lastError } = activity.of("crm");
    assert.deepEqual([failingSince, lastError], [null, null]);
  });

  it("is whether the last attempt never left the machine", () => {
    const { activity, saw } = start();
    saw(OFFLINE);
    assert.equal(activity.of("crm").offline, true);
    saw(DOWN);
    assert.equal(activity.of("crm").offline, false);
  });

  it("is not what was let go when the daemon stopped", () => {
    const { activity, saw } = start();
    saw({ kind: "released" });
    assert.equal(activity.of("crm").lastError, null);
  });
});
