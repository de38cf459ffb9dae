import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdminWorld } from "../../src/admin/world.ts";
import type { FoundEvent, Trail } from "../../src/model/lookup.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

const EVENT: FoundEvent = {
  id: 7,
  source: "website",
  type: "track",
  messageId: "a/b",
  userId: "u\u001b[2J",
  acceptedAt: 0,
  skipped: [],
  deliveries: [],
  forgotten: [],
  whole: true,
};

const REFUSING = { source: "website", code: "rate_limited", since: 0, lastAt: 60_000, requests: 3_412 } as const;

/** The operator's API of a daemon that knows this event. */
async function startAdmin() {
  const event = async (messageId: string, sources: readonly string[]): Promise<Trail> => {
    const known = messageId === EVENT.messageId && sources.includes("website");
    return { events: known ? [EVENT] : [], seen: [], complete: true };
  };
  const world = {
    rejections: { newest: () => [] },
    limits: { refusals: () => [REFUSING] },
    sources: () => [{ name: "website" }],
    startedAt: 0,
    ...{
      lookup: { event },
      report: { unexpected: (_: string, error: unknown) => console.error(error) },
    },
  };
  const daemon = await serveAdmin(world as unknown as AdminWorld);
  return {
    run: (...args: readonly string[]) => daemon.run(["explain", ...args]),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}

describe("fairlead explain", () => {
  it("says what became of a call, and lets nobody write to the terminal", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out, err } = await admin.run("a/b");
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^A track call of user u\\u001b\[2J from website was accepted 1970-01-01T00:00:00\.000Z \(/);
    assert.match(out, /\n {2}No destination was configured\.\n$/);
  });

  it("prints what is known as JSON", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out } = await admin.run("--json", "a/b");
    assert.equal(code, 0);
    assert.equal(JSON.parse(out).events[0].event, 7);
  });

  it("exits with 1 when nothing is known, and says what that may mean", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out } = await admin.run("lost");
    assert.equal(code, 1);
    assert.match(out, /^Nothing is known of lost\.\n/);
    assert.match(
      out,
      /From 1970-01-01T00:00:00\.000Z to 1970-01-01T00:01:00\.000Z, 3412 requests of website got rate_limited/,
    );
    assert.match(out, /refused calls since 1970-01-01T00:00:00\.000Z: `fairlead rejected` lists them\.\n/);
  });
});
