import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdminWorld } from "../../src/admin/world.ts";
import { type Delivery, type Detail, detailWords, listWords } from "../../src/cli/deliveries.ts";
import { toQueryTime } from "../../src/cli/options.ts";
import type { ListedDelivery, PageAsk, Search } from "../../src/model/lookup.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

const NOW = Date.UTC(2026, 10, 20, 12);

function makeListed(id: number): ListedDelivery {
  return {
    id,
    destination: "crm",
    state: "failed",
    source: "website",
    type: "track",
    messageId: `m${id}`,
    userId: "u\u001b1",
    acceptedAt: NOW - 60_000,
    replayedAt: null,
    attempts: 1,
    dueAt: null,
    settledAt: NOW,
    url: null,
    status: null,
    reason: "refused: answered 400",
  };
}

type Asked = { readonly search: Search; readonly page: PageAsk };

/** The operator's API of a daemon with five deliveries, of which it finds two at a time, and each second time none. */
async function startAdmin() {
  const asked: Asked[] = [];
  const world: Partial<AdminWorld> = {
    clock: { now: () => NOW } as AdminWorld["clock"],
    destinations: () => [],
    lookup: {
      async deliveries(search, page) {
        asked.push({ search, page });
        const step = Number(page.cursor ?? 0);
        if (step % 2 === 1) return { deliveries: [], cursor: String(step + 1) };
        const ids = [5 - step, 4 - step].filter((id) => id > 0).slice(0, page.limit);
        return { deliveries: ids.map(makeListed), cursor: step < 4 ? String(step + 1) : null };
      },
      delivery: async () => null,
      event: async () => ({ events: [], seen: [], complete: true }),
    },
  };
  const daemon = await serveAdmin(world);
  return {
    asked,
    run: (...args: readonly string[]) => daemon.run(["deliveries", ...args]),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}

describe("fairlead deliveries", () => {
  it("asks page after page until it has as many as it shall list", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out, err } = await admin.run("--limit", "3", "--state", "failed", "--since", "2h");
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(
      [...out.matchAll(/^(\d-crm) .*u\\u001b1/gm)].map(([, id]) => id),
      ["5-crm", "4-crm", "3-crm"],
    );
    assert.match(out, /\n3 deliveries, the newest first\. There are more: try --limit 30\.\n$/);
    assert.deepEqual(
      admin.asked.map(({ page }) => page),
      [
        { limit: 3, cursor: null },
        { limit: 1, cursor: "1" },
        { limit: 1, cursor: "2" },
      ],
    );
    assert.equal(admin.asked[0]?.search.since, NOW - 2 * 3_600_000);
  });

  it("prints JSON, with the cursor of what is left", SLOW, async () => {
    await using admin = await startAdmin();
    const { out } = await admin.run("--json", "--user", "u1");
    const { deliveries, cursor } = JSON.parse(out);
    assert.deepEqual(
      [deliveries.map(({ id }: { id: string }) => id), cursor],
      [["5-crm", "4-crm", "3-crm", "2-crm", "1-crm"], null],
    );
    assert.equal(admin.asked[0]?.search.user, "u1");
  });

  it("says what is wrong with an option, or with an id", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, err } = await admin.run("--state", "faild");
    assert.deepEqual(
      [code, err.split("\n")[0]],
      [2, "error: option '--state <state>' argument 'faild' is invalid. Did you mean failed?"],
    );
    const shown = await admin.run("show", "7-crm", "--json");
    assert.equal(shown.code, 1);
    assert.match(shown.err, / refused with 404 unknown_delivery: there is no delivery \\"7-crm\\"/);
    assert.equal(JSON.parse(shown.err).code, "unknown_delivery");
    assert.deepEqual(admin.asked, []);
  });
});

const at = (ms: number): string => new Date(NOW + ms).toISOString();

const ONE: Delivery = {
  id: "42-crm",
  destination: "crm",
  state: "waiting",
  source: "website",
  type: "track",
  messageId: "m1",
  userId: "u1",
  acceptedAt: at(-60_000),
  attempts: 2,
  dueAt: at(4_000),
  heldBack: null,
  settledAt: null,
  replayedAt: null,
  url: null,
  status: null,
  reason: "503",
};

describe("a delivery that is held back", () => {
  const heldBack = { by: "rate", why: "its turn: crm takes 50/s" } as const;
  const asked = { limit: 20, most: 10_000, more: false, now: NOW };

  it("says in the list what it waits for, and what its last attempt met", () => {
    const untried = { ...ONE, attempts: 0, reason: null, heldBack };
    assert.match(listWords([untried], asked), / waits for its turn: crm takes 50\/s\n/);
    assert.match(listWords([{ ...ONE, heldBack }], asked), / waits for its turn: crm takes 50\/s; last: 503\n/);
  });
});

const ATTEMPT: Detail["log"]["first"][number] = {
  at: at(-60_000),
  url: "https://crm.example.com/in",
  duration: 40,
  outcome: "retry",
  status: 503,
  reason: "503",
  answer: "closed\u001b[2J\nfor today\n",
  trigger: "first",
};
const DETAIL: Detail = {
  ...ONE,
  firstAttemptAt: at(-60_000),
  finals: [],
  body: '{"type":"track","properties":{"a":"\u0080"}}',
  requests: [{ url: "https://crm.example.com/in", headers: { Authorization: "***" } }],
  troubled: [],
  log: { first: [ATTEMPT], omitted: 0, last: [] },
};
const ASKED = { limit: 20, most: 10_000, more: false, now: NOW };

describe("the list of deliveries, for a person", () => {
  it("is a table, with why each stands where it does", () => {
    const delivered = { ...ONE, id: "7-crm", state: "delivered", settledAt: at(-1), url: "https://crm/", status: 204 };
    assert.equal(
      listWords([ONE, { ...delivered, userId: null, reason: null }], ASKED),
      [
        "id      state      since                     attempts  source   type   user  why",
        "42-crm  waiting    2026-11-20T11:59:00.000Z  2         website  track  u1    next in 4s: 503",
        "7-crm   delivered  2026-11-20T11:59:59.999Z  2         website  track  -     204 from https://crm/",
        "",
        "2 deliveries, the newest first.",
      ].join("\n"),
    );
  });

  it("says how to see the others, and when there is none", () => {
    assert.match(listWords([ONE], { ...ASKED, more: true }), /\n1 delivery\. There are more: try --limit 200\.$/);
    assert.match(listWords([ONE], { ...ASKED, limit: 10_000, more: true }), /--until with the time of the last line/);
    assert.match(listWords([], ASKED), /^No delivery matches\. /);
  });

  it("lets nobody write to the terminal, and cuts what is long", () => {
    const evil = { ...ONE, userId: `\u001b[2J${"u".repeat(99)}`, reason: "x".repeat(200) };
    const text = listWords([evil], ASKED);
    assert.match(text, /\\u001b\[2Ju+… {2}next in 4s: x+…$/m);
    assert.ok(text.split("\n").every((line) => line.length < 200));
  });
});

describe("a delivery, for a person", () => {
  it("is what it is, how it stands, what is sent, and what came of it", () => {
    assert.equal(
      detailWords(DETAIL, NOW),
      [
        "delivery 42-crm: waiting",
        "  event     track m1 of user u1",
        "  from      website, accepted 2026-11-20T11:59:00.000Z (1m ago)",
        "  to        crm",
        "  attempts  2 rounds",
        "  reason    503",
        "  next      in 4s (2026-11-20T12:00:04.000Z)",
        "",
        "POST https://crm.example.com/in",
        "  Authorization: ***",
        "",
        "  {",
        '    "type": "track",',
        '    "properties": {',
        '      "a": "\\u0080"',
        "    }",
        "  }",
        "",
        "attempts",
        "  2026-11-20T11:59:00.000Z  first: 503 after 40ms (to be retried), https://crm.example.com/in",
        "      | closed\\u001b[2J",
        "      | for today",
        "  next in 4s",
      ].join("\n"),
    );
  });

  it("has the waits between attempts, and says how many are not kept", () => {
    const second = { ...ATTEMPT, at: at(-58_960), trigger: "retry", answer: null };
    const last = {
      ...ATTEMPT,
      at: at(0),
      trigger: "probe",
      outcome: "delivered",
      status: 200,
      reason: "200",
      answer: null,
    };
    const some = detailWords({ ...DETAIL, log: { first: [ATTEMPT, second], omitted: 9, last: [last] } }, NOW);
    const lines = some.split("\n");
    assert.deepEqual(lines.slice(lines.indexOf("    1s later"), -1), [
      "    1s later",
      "  2026-11-20T11:59:01.040Z  retry: 503 after 40ms (to be retried), https://crm.example.com/in",
      "      | (the answer's body came too late)",
      "  … 9 attempts are not kept …",
      "  2026-11-20T12:00:00.000Z  probe: 200 after 40ms (delivered), https://crm.example.com/in",
    ]);
  });

  it("says so when there was none, and when nothing is known of them", () => {
    const none = { first: [], omitted: 0, last: [] };
    assert.match(detailWords({ ...DETAIL, attempts: 0, log: none }, NOW), /\n\nNo attempt yet\.$/);
    assert.match(
      detailWords({ ...DETAIL, attempts: 0, state: "failed", log: none }, NOW),
      /\n\nNo attempt was made\.$/,
    );
    assert.match(detailWords({ ...DETAIL, log: none }, NOW), /\n\nThe attempts are not known\.\n {2}next in 4s$/);
  });

  it("says who took it, and who has refused it", () => {
    const settled = { settledAt: at(-5), url: "https://b/", status: 201, dueAt: null, reason: null };
    const finals = [{ url: "https://a/", reason: "410" }];
    const text = detailWords({ ...DETAIL, ...settled, state: "delivered", finals }, NOW);
    assert.match(text, /^ {2}delivered 2026-11-20T11:59:59\.995Z to https:\/\/b\/, which answered 201$/m);
    assert.match(text, /^ {2}refused {3}permanently by https:\/\/a\/: 410$/m);
  });
});

describe("--since and --until", () => {
  it("take how long ago, and a time of any zone", () => {
    assert.equal(toQueryTime("2h 30m"), "2h 30m");
    assert.equal(toQueryTime("2026-11-20T12:00+02:00"), "2026-11-20T10:00:00.000Z");
    assert.equal(toQueryTime("2026-11-20"), new Date(2026, 10, 20).toISOString());
    assert.equal(toQueryTime("2026-11-20T12:00"), new Date(2026, 10, 20, 12).toISOString());
    for (const bad of [
      "",
      "soon",
      "2026-13-01",
      "20.11.2026",
      "2026-11-20 12:00",
      "2009-02-31",
      "9999-12-31T23:50-23:59",
      "2026-02-29T12:00",
    ])
      assert.equal(toQueryTime(bad), null);
  });
});
