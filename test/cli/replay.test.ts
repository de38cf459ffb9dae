import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdminWorld } from "../../src/admin/world.ts";
import { goThrough, type Page, type PagesWorld } from "../../src/cli/replay.ts";
import { type Fault, fault } from "../../src/model/fault.ts";
import type { Replay, ReplayPage, Wish } from "../../src/model/replay.ts";
import { createFalseClock } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

const NONE: ReplayPage = {
  replayed: new Map(),
  left: 0,
  deleted: 0,
  superseded: 0,
  oldest: null,
  newest: null,
  cursor: null,
};

type Options = { readonly one?: Replay["one"]; readonly failAt?: number };

/** The operator's API of a daemon for which so many have failed, and one whose destination is gone; and a command that asks it. */
async function startAdmin(failed: number, { one, failAt }: Options = {}) {
  const wishes: Wish[] = [];
  async function page(wish: Wish): Promise<ReplayPage | Fault> {
    wishes.push(wish);
    const from = Number(wish.page.cursor ?? 0);
    if (!wish.dryRun && failAt === from) return fault("store_failed", "the outbox cannot be written");
    const count = Math.min(wish.page.limit, failed - from);
    if (count <= 0) return NONE;
    const times = { oldest: Date.UTC(2026, 0, 1) + from, newest: Date.UTC(2026, 0, 2) + from };
    const next = from + count;
    const left = from === 0 ? 1 : 0;
    return {
      replayed: new Map([["crm", count]]),
      left,
      deleted: 0,
      superseded: 2 * left,
      ...times,
      cursor: next < failed ? String(next) : null,
    };
  }
  const world: Partial<AdminWorld> = {
    tryNow() {},
    destinations: () => [makeDestination()],
    backlog: { counts: () => [] } as unknown as AdminWorld["backlog"],
    replay: { page, one: one ?? (async () => null) },
    report: { replayed() {} } as unknown as AdminWorld["report"],
  };
  const daemon = await serveAdmin(world);
  return {
    wishes,
    run: (...args: readonly string[]) => daemon.run(["replay", ...args]),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}

const PLAN = `1,200 deliveries would be sent again:
  crm: 1,200 deliveries
  of events accepted from 2026-01-01T00:00:00.000Z to 2026-01-02T00:00:01.000Z
  1 delivery is left as it is: discarded by command, or for a destination that is no longer in the config
  2 deliveries are left as they are: superseded by a newer call about the user
`;

describe("fairlead replay", () => {
  it("counts, then has page after page sent again, and says how many there were", SLOW, async () => {
    await using admin = await startAdmin(1_200);
    const { code, out, err } = await admin.run("--state", "failed", "--destination", "crm", "--yes");
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^1,200 deliveries are sent again\.\n {2}1 delivery is left as it is/);
    assert.deepEqual(
      admin.wishes.map(({ dryRun, page: { limit, cursor } }) => [dryRun, limit, cursor]),
      [
        ...[
          [true, 500, null],
          [true, 500, "500"],
          [true, 500, "1000"],
        ],
        ...[
          [false, 500, null],
          [false, 500, "500"],
          [false, 500, "1000"],
        ],
      ],
    );
    const { state, destination, user } = admin.wishes[0]?.search ?? {};
    assert.deepEqual([state, destination, user], ["failed", "crm", null]);
  });

  it("means the same point in time on every page", SLOW, async () => {
    await using admin = await startAdmin(1_200);
    assert.equal((await admin.run("--since", "2h", "--yes")).code, 0);
    const times = new Set(admin.wishes.map(({ search }) => search.since));
    assert.equal(times.size, 1);
    const [since = 0] = times;
    const ago = Date.now() - (since ?? 0);
    assert.ok(ago >= 7_200_000 && ago < 7_260_000, `${ago}`);
  });

  it("says on a dry run how many, the oldest and the newest, and has nothing done", SLOW, async () => {
    await using admin = await startAdmin(1_200);
    const { code, out, err } = await admin.run("--dry-run");
    assert.deepEqual([code, out, err], [0, PLAN, ""]);
    assert.ok(admin.wishes.every(({ dryRun }) => dryRun));
    const json = JSON.parse((await admin.run("--dry-run", "--json")).out);
    assert.partialDeepStrictEqual(json, { replayed: 1_200, destinations: { crm: 1_200 }, left: 1, dryRun: true });
  });

  it("does nothing without --yes where nobody can be asked", SLOW, async () => {
    await using admin = await startAdmin(7);
    const { code, out, err } = await admin.run("--since", "2h");
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, /^fairlead: 7 deliveries to crm, of events .*\. Send them again\? Add --yes to confirm\n$/);
    assert.ok(admin.wishes.every(({ dryRun }) => dryRun));
  });

  it("has nothing to ask if there is nothing", SLOW, async () => {
    await using admin = await startAdmin(0);
    assert.deepEqual(await admin.run("--state", "expired"), {
      code: 0,
      out: "No delivery would be sent again.\n",
      err: "",
    });
  });

  it("says how far it came when the daemon fails", SLOW, async () => {
    await using admin = await startAdmin(1_200, { failAt: 500 });
    const { code, out, err } = await admin.run("--yes", "--json");
    assert.equal(code, 1);
    assert.equal(JSON.parse(out).replayed, 500);
    const { code: why, message } = JSON.parse(err);
    assert.equal(why, "store_failed");
    assert.match(message, /the outbox cannot be written; 500 of 1,200 are sent again$/);
  });

  it("takes ids, and says of each what was done", SLOW, async () => {
    const did = { 1: "replayed", 2: "hurried", 3: "due" } as const;
    const one: Replay["one"] = async ({ id }) => did[id as 1 | 2 | 3] ?? null;
    await using admin = await startAdmin(0, { one });
    const { code, out, err } = await admin.run("1-crm", "2-crm", "3-crm", "4-crm");
    assert.equal(
      out,
      "1-crm is sent again, with a new cutoff.\n2-crm is waiting; its next attempt begins now.\n3-crm is waiting, and its next attempt is due already.\n",
    );
    assert.match(err, /^fairlead: .*unknown_delivery: there is no delivery "4-crm"/);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse((await admin.run("1-crm", "--json")).out), { id: "1-crm", did: "replayed" });
  });

  it("does not take ids and a filter at once, nor a state that is none", SLOW, async () => {
    await using admin = await startAdmin(0);
    const both = await admin.run("1-crm", "--user", "u1");
    assert.deepEqual(both, {
      code: 2,
      out: "",
      err: "fairlead: name ids or --user, not both: ids already select the deliveries\n",
    });
    const waiting = await admin.run("--state", "waiting");
    assert.equal(waiting.code, 2);
    assert.match(waiting.err, /It must be one of failed, expired, delivered/);
    assert.deepEqual(admin.wishes, []);
  });
});

const NEVER = new AbortController().signal;
const NOTHING: Page = {
  success: true,
  replayed: 0,
  destinations: {},
  left: 0,
  deleted: 0,
  superseded: 0,
  oldest: null,
  newest: null,
  cursor: null,
};

/** So many are wanted. Answers when each page was asked for, in milliseconds, and for how many. */
function start(wanted: number, options: Partial<PagesWorld> = {}) {
  const clock = createFalseClock();
  const began = clock.now();
  const asked: (readonly [at: number, limit: number])[] = [];
  let done = 0;
  const ask: PagesWorld["ask"] = async ({ limit }) => {
    asked.push([clock.now() - began, limit]);
    const replayed = Math.min(limit, wanted - done);
    done += replayed;
    return { ...NOTHING, replayed, destinations: { crm: replayed }, cursor: done < wanted ? String(done) : null };
  };
  const result = goThrough({ ask, rate: null, took: () => {}, interrupted: NEVER, clock, ...options });
  return { asked, clock, result };
}

describe("the pages of a replay", () => {
  it("follow each other as fast as they are done, unless there is a rate", async () => {
    const { asked, clock, result } = start(1_200);
    await clock.rest();
    assert.deepEqual(
      asked,
      [500, 500, 500].map((limit) => [0, limit]),
    );
    assert.deepEqual(await result, { total: { ...total(1_200) }, ended: "done" });
  });

  it("wait until so many a second are due", async () => {
    const { asked, clock, result } = start(250, { rate: 100 });
    await clock.rest();
    await clock.advance("10s");
    assert.deepEqual(asked, [
      [0, 100],
      [1_000, 100],
      [2_000, 100],
    ]);
    assert.equal((await result).ended, "done");
  });

  it("have one delivery each at a rate below one a second", async () => {
    const { asked, clock } = start(3, { rate: 0.5 });
    await clock.rest();
    await clock.advance("1m");
    assert.deepEqual(
      asked,
      [0, 2_000, 4_000].map((at) => [at, 1]),
    );
  });

  it("end with the one under way when they are interrupted, also in the middle of a wait", async () => {
    const interrupting = new AbortController();
    const { asked, clock, result } = start(1_000, { rate: 10, interrupted: interrupting.signal });
    await clock.rest();
    interrupting.abort();
    assert.deepEqual(await result, { total: total(10), ended: "interrupted" });
    assert.equal(asked.length, 1);
  });

  it("add up to the oldest and the newest from all", async () => {
    const pages: Page[] = [
      { ...NOTHING, replayed: 1, destinations: { crm: 1 }, oldest: "2026-01-02", newest: "2026-01-03", cursor: "a" },
      { ...NOTHING, left: 2, deleted: 1, superseded: 3, cursor: "b" },
      { ...NOTHING, replayed: 2, destinations: { crm: 1, lake: 1 }, oldest: "2026-01-01", newest: "2026-01-02" },
    ];
    const { result } = start(0, { ask: async () => pages.shift() ?? assert.fail() });
    const { total } = await result;
    assert.deepEqual(total, {
      ...{
        replayed: 3,
        destinations: { crm: 2, lake: 1 },
        left: 2,
        deleted: 1,
        superseded: 3,
        oldest: "2026-01-01",
        newest: "2026-01-03",
      },
    });
  });

  it("end with what the daemon has against them", async () => {
    const refusal = { code: 1, message: "it is full" } as const;
    const pages = [{ ...NOTHING, replayed: 5, destinations: { crm: 5 }, cursor: "a" }, refusal];
    const { result } = start(0, { ask: async () => pages.shift() ?? assert.fail() });
    assert.deepEqual(await result, { total: total(5), ended: refusal });
  });
});

function total(replayed: number) {
  return { replayed, destinations: { crm: replayed }, left: 0, deleted: 0, superseded: 0, oldest: null, newest: null };
}
