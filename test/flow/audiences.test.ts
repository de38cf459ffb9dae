import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { Secret } from "../../src/model/secret.ts";
import { formatTime, HOUR } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { type Answer, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource } from "./make.ts";

const PATH = "/api/sources/website/audiences/Big%20Spenders";
const DOWN = { answers: () => 503 };

type Query = "" | `?${string}`;

async function put(d: TestDaemon, users: readonly unknown[], query: Query = "", path = PATH): Promise<Answer> {
  const answer = await d.admin("PUT", `${path}${query}`, { body: users });
  await d.clock.rest();
  return answer;
}

async function change(d: TestDaemon, body: object): Promise<Answer> {
  const answer = await d.admin("POST", `${PATH}/members`, { body });
  await d.clock.rest();
  return answer;
}

type Call = { type: string; userId: string; messageId: string; traits: Record<string, unknown>; context: object };

function calls({ sent }: Pick<TestDaemon, "sent">): readonly Call[] {
  return sent.map(({ body }) => JSON.parse(body));
}

function personasOf(call: Call | undefined): Record<string, string> {
  const { personas } = (call?.context ?? {}) as { personas?: Record<string, string> };
  return personas ?? {};
}

/** As `u1 true`, in order of the users. */
function told(d: Pick<TestDaemon, "sent">): readonly string[] {
  return calls(d)
    .map(({ userId, traits }) => `${userId} ${Object.values(traits)}`)
    .sort();
}

/** These pieces, and then its end; or that it breaks off. */
function streamOf(pieces: readonly Uint8Array[], broken?: Error): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = pieces[at];
      at += 1;
      if (piece) controller.enqueue(piece);
      else if (broken) controller.error(broken);
      else controller.close();
    },
  });
}

function counts({ json }: Answer): readonly unknown[] {
  return [json.added, json.removed, json.size];
}

function users(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, n) => `u${from + n}`);
}

async function states(d: TestDaemon): Promise<readonly string[]> {
  const rows = await d.rows();
  // Numbers of events have gaps on PostgreSQL.
  const events = [...new Set(rows.map(({ event }) => event))];
  return rows.map(
    ({ event, state, reason }) => `${events.indexOf(event) + 1} ${state}${reason === null ? "" : `: ${reason}`}`,
  );
}

describe("an audience's list (SPEC.md 6)", () => {
  it("is sent for everyone the first time, and for those who have changed later", async () => {
    await using d = await startDaemon();
    const first = await put(d, ["u1", "u2", { userId: "u3", plan: "pro" }, 4, "u1"]);
    assert.deepEqual([first.status, counts(first), first.json.key], [200, [4, 0, 4], "big_spenders"]);
    assert.deepEqual(told(d), ["4 true", "u1 true", "u2 true", "u3 true"]);
    const second = await put(d, ["u3", "u2", "4", "u5"]);
    assert.deepEqual(counts(second), [1, 1, 4]);
    assert.deepEqual(told(d).slice(-2).concat(told(d).slice(1, 2)), ["u3 true", "u5 true", "u1 false"]);
    assert.equal(d.sent.length, 6);
    assert.equal((await put(d, ["u3", "u2", "4", "u5"])).json.added, 0);
    assert.equal(d.sent.length, 6);
  });

  it("is told by identify calls, which say what was computed, and have an id of their own", async () => {
    await using d = await startDaemon();
    await put(d, ["u1"]);
    await put(d, []);
    const [one, other] = calls(d);
    assert.deepEqual([one?.type, one?.userId, one?.traits], ["identify", "u1", { big_spenders: true }]);
    assert.deepEqual(other?.traits, { big_spenders: false });
    const personas = personasOf(one);
    const { computation_id: id, ...rest } = personas;
    assert.match(String(id), /^aud_[0-9a-f]{20}$/);
    assert.deepEqual(rest, {
      computation_class: "audience",
      computation_key: "big_spenders",
      computation_name: "Big Spenders",
      namespace: "website",
    });
    assert.deepEqual(other?.context, one?.context);
    assert.match(String(one?.messageId), /^audience-[0-9a-f]{20}-[0-9a-f]{24}$/);
    assert.notEqual(one?.messageId, other?.messageId);
  });

  it("have messageIds that say nothing of the user: the hash in them is keyed, by a key of the outbox", async () => {
    const suffixes: string[] = [];
    for (const _ of ["one outbox", "another"]) {
      await using first = await startDaemon();
      await put(first, ["u1"]);
      await using d = await first.crash();
      await put(d, []);
      const [before, after] = [first, d].map((one) => calls(one)[0]?.messageId.split("-").at(-1) ?? "");
      assert.equal(before, after);
      suffixes.push(before ?? "");
    }
    const plain = createHash("sha256").update("u1").digest("hex");
    assert.ok(suffixes.every((one) => one.length === 24 && !plain.startsWith(one)));
    assert.equal(new Set(suffixes).size, 2);
  });

  const FORMATS: Readonly<Record<string, string>> = {
    "application/json": ' [ "u1" ,{"userId":"u\\"2]", "a":[1,{"b":"]"}]},\n3 ] ',
    "application/x-ndjson": '"u1"\n\n{"userId":"u\\"2]"}\r\n3',
    "text/csv": 'name,userId\r\nAda,u1\n"a ""b"",\nc","u""2]"\n,3\n',
  };
  for (const [type, text] of Object.entries(FORMATS)) {
    it(`may be ${type}, compressed or not, in whatever pieces it comes`, async () => {
      await using d = await startDaemon();
      for (const bytes of [Buffer.from(text), gzipSync(text)]) {
        const gzip = bytes[0] === 0x1f ? { "content-encoding": "gzip" } : {};
        const body = streamOf(Array.from(bytes, (byte) => Uint8Array.of(byte)));
        const answer = await d.admin("PUT", PATH, { text: body, headers: { "content-type": type, ...gzip } });
        assert.deepEqual([answer.status, answer.json.size], [200, 3], answer.text);
      }
      await d.clock.rest();
      assert.deepEqual(told(d), ["3 true", 'u"2] true', "u1 true"]);
    });
  }

  const BAD: readonly (readonly [type: string, text: string, why: RegExp])[] = [
    ["application/json", '["u1", "u2"', /the body: its JSON array is incomplete/],
    ["application/json", '["u1",]', /entry 2: it is not JSON/],
    ["application/json", '{"users": []}', /the body: it is not a JSON array/],
    ["application/json", '["u1"] ["u2"]', /the body: there is more text after its array/],
    ["application/x-ndjson", '"u1"\n\nu2\n', /line 3: it is not JSON/],
    ["application/x-ndjson", '"u1"\n{"user":"u2"}\n', /line 2: it has no userId/],
    ["application/x-ndjson", '"u1"\n""\n', /line 2: it has no userId/],
    ["application/x-ndjson", '"\\ud800"\n', /line 1: its userId holds half of a surrogate pair/],
    ["text/csv", "name\nAda\n", /line 1: the header has no column userId/],
    ["text/csv", "", /the body: it has no header/],
    ["text/csv", "userId,name\nu1\n", /line 2: it has 1 columns, and the header has 2/],
    ["text/csv", 'userId\n"u1\n', /line 2: its quotes are unbalanced/],
    ["text/html", "u1", /Content-Type must be one of/],
  ];
  for (const [type, text, why] of BAD) {
    it(`changes nothing if it is wrong: ${type} ${JSON.stringify(text)}`, async () => {
      await using d = await startDaemon();
      await put(d, ["u1", "u9"]);
      const answer = await d.admin("PUT", PATH, { text, headers: { "content-type": type } });
      assert.match(String(answer.json.message), why);
      assert.ok(answer.status === 400 || answer.status === 415);
      await d.clock.rest();
      assert.equal(d.sent.length, 2);
      assert.equal((await put(d, ["u1", "u9"])).status, 200);
    });
  }

  it("changes nothing if it breaks off", async () => {
    await using d = await startDaemon();
    const body = streamOf([Buffer.from('["u1",')], new Error("the connection is gone"));
    const answer = await d.admin("PUT", PATH, { text: body, headers: { "content-type": "application/json" } });
    assert.equal(answer.json.code, "body_incomplete");
    assert.deepEqual((await d.admin("GET", "/api/audiences")).json, { audiences: [] });
    assert.deepEqual(d.sent, []);
  });

  it("is only counted on a dry run", async () => {
    await using d = await startDaemon();
    await put(d, users(1, 10));
    const answer = await put(d, users(6, 12), "?dryRun=1");
    assert.deepEqual([counts(answer), answer.json.sync], [[2, 5, 7], null]);
    assert.equal(d.sent.length, 10);
    assert.deepEqual(counts(await put(d, users(6, 12))), [2, 5, 7]);
  });

  it("may not take more than half of a large audience away, unless that is meant", async () => {
    await using d = await startDaemon();
    await put(d, users(1, 100));
    const refused = await put(d, users(1, 49));
    assert.deepEqual([refused.status, refused.json.code], [409, "list_shrinks"]);
    assert.match(String(refused.json.message), /would remove 51 of the 100 users .* \?allowShrink=1 or --allow-shrink/);
    const dry = await put(d, users(1, 49), "?dryRun=1");
    assert.deepEqual([dry.status, dry.json.code, dry.json.message], [409, "list_shrinks", refused.json.message]);
    assert.equal((await put(d, [], "?dryRun=1&allowShrink=1")).json.removed, 100);
    assert.equal((await put(d, users(1, 50))).json.removed, 50);
    assert.deepEqual(counts(await put(d, users(1, 20))), [0, 30, 20]);
    await put(d, users(1, 100));
    assert.deepEqual(counts(await put(d, users(1, 1), "?allowShrink=1")), [0, 99, 1]);
  });

  it("counts nobody who was deleted and is suppressed, whatever the list says", async () => {
    await using d = await startDaemon();
    await put(d, ["u1", "u2"]);
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], suppress: true } });
    await d.clock.advance("1m");
    assert.deepEqual(counts(await put(d, ["u1", "u2", "u3"], "?dryRun=1")), [1, 0, 2]);
    assert.deepEqual(
      d.told.filter(({ what }) => what === "callRejected"),
      [],
    );
    for (const expected of [
      [1, 0, 2],
      [0, 0, 2],
    ]) {
      const answer = await put(d, ["u1", "u2", "u3"]);
      assert.deepEqual(counts(answer), expected);
      assert.partialDeepStrictEqual(answer.json.sync, { added: expected[0], done: expected[0] });
    }
    assert.deepEqual(counts(await change(d, { add: ["u1", "u4"] })), [1, 0, 3]);
    assert.equal(d.told.filter(({ what }) => what === "callRejected").length, 3);
  });

  it("has no name that becomes a longer trait than a name may have; one that was made before is still synced", async () => {
    const path = `/api/sources/website/audiences/${encodeURIComponent("★".repeat(17))}`;
    await using d = await startDaemon();
    const { status, json } = await put(d, ["u1"], "", path);
    assert.deepEqual([status, json.code], [400, "invalid_request"]);
    assert.match(
      String(json.message),
      /would be the trait u2605_u2605\S+ of 101 characters for receivers, and may have 100/,
    );
    assert.equal((await put(d, ["u1"], "", path.replace("%E2%98%85", ""))).status, 200);
    const [name, key] = ["★".repeat(17), Array(17).fill("u2605").join("_")];
    await d.query(`UPDATE computations SET name = '${name}', key = '${key}'`);
    assert.deepEqual(counts(await put(d, ["u2"], "", path)), [1, 1, 1]);
  });

  it("is refused while another sync of the audience is running, and not of another", SLOW, async () => {
    await using d = await startDaemon({ config: { outbox: { ...(await config()).outbox, maxSize: 0 } } });
    const answering = d.admin("PUT", PATH, { body: ["u1"] });
    await d.clock.advance("6s");
    const first = await answering;
    assert.equal((first.json.sync as { state: string }).state, "running");
    const second = await put(d, ["u2"]);
    assert.deepEqual([second.status, second.json.code], [409, "sync_running"]);
    assert.equal((await change(d, { add: ["u3"] })).json.code, "sync_running");
    assert.equal((await d.admin("DELETE", PATH)).json.code, "sync_running");
    assert.ok(d.told.some(({ what, args }) => what === "syncWaits" && /the outbox is full/.test(String(args[1]))));
    const other = d.admin("PUT", "/api/sources/website/audiences/other", { body: ["u1"] });
    await d.clock.advance("6s");
    assert.equal((await other).status, 200);
  });
});

async function config() {
  await using d = await startDaemon();
  return d.config;
}

describe("an audience's members", () => {
  it("are added and removed one by one, and whoever is so already is not told again", async () => {
    await using d = await startDaemon();
    await put(d, ["u1", "u2"]);
    const answer = await change(d, { add: ["u2", "u3", 4], remove: ["u1", "u9"] });
    assert.deepEqual(counts(answer), [2, 1, 3]);
    assert.deepEqual(told(d), ["4 true", "u1 false", "u1 true", "u2 true", "u3 true"]);
  });

  it("are refused if there is no such audience, or a user is to be both", async () => {
    await using d = await startDaemon();
    assert.deepEqual((await change(d, { add: ["u1"] })).json.code, "unknown_audience");
    await put(d, []);
    const both = await change(d, { add: ["u1"], remove: ["u1"] });
    assert.deepEqual([both.json.code, both.json.message], ["invalid_request", "remove[0] is also in add"]);
    assert.deepEqual(d.sent, []);
  });
});

describe("an audience", () => {
  it("is listed with its size, and with what its last sync has changed", async () => {
    await using d = await startDaemon();
    await put(d, ["u1", "u2"]);
    await d.clock.advance("1h");
    await put(d, ["u2", "u3"]);
    const { json } = await d.admin("GET", "/api/sources/website/audiences");
    const at = new Date(d.clock.now()).toISOString();
    const [only, ...others] = json.audiences as Record<string, unknown>[];
    assert.deepEqual(others, []);
    assert.deepEqual([only?.name, only?.key, only?.size], ["Big Spenders", "big_spenders", 2]);
    const last = { number: 2, kind: "list", state: "finished", startedAt: at, finishedAt: at };
    assert.deepEqual(only?.lastSync, { ...last, added: 1, changed: 0, removed: 1, done: 2 });
    const { json: one } = await d.admin("GET", PATH);
    assert.equal((one.syncs as unknown[]).length, 2);
    assert.deepEqual((await d.admin("GET", "/api/audiences")).json, json);
    assert.equal((await d.admin("GET", "/api/sources/other/audiences")).json.code, "unknown_source");
    assert.equal((await d.admin("GET", "/api/sources/website/audiences/other")).json.code, "unknown_audience");
  });

  it("goes, and its members get false, unless nobody is to hear of it", async () => {
    for (const silent of [false, true]) {
      await using d = await startDaemon();
      await put(d, ["u1", "u2"]);
      const answer = await d.admin("DELETE", `${PATH}${silent ? "?silent=1" : ""}`);
      await d.clock.rest();
      assert.deepEqual(counts(answer), [0, 2, 0]);
      assert.deepEqual(
        told(d).filter((line) => line.endsWith("false")),
        silent ? [] : ["u1 false", "u2 false"],
      );
      assert.equal((await d.admin("GET", PATH)).json.code, "unknown_audience");
      assert.deepEqual((await d.admin("GET", "/api/audiences")).json, { audiences: [] });
      assert.deepEqual(counts(await put(d, ["u2"])), [1, 0, 1]);
    }
  });

  it("may not have the trait of another one, nor of a computed trait", async () => {
    await using d = await startDaemon();
    await put(d, ["u1"]);
    for (const path of ["/api/sources/website/audiences/big-spenders", "/api/sources/website/traits/bigSpenders"]) {
      const answer = await d.admin("PUT", path, { body: [] });
      assert.deepEqual([answer.status, answer.json.code], [409, "name_taken"]);
    }
  });

  it("belongs to a source that there is, and that takes calls", async () => {
    const off = makeSource({ name: "off", writeKey: new Secret("off"), enabled: false });
    await using d = await startDaemon({ config: { sources: [makeSource(), off] } });
    assert.equal((await put(d, ["u1"], "", "/api/sources/other/audiences/a")).json.code, "unknown_source");
    assert.equal((await put(d, ["u1"], "", "/api/sources/off/audiences/a")).json.code, "source_disabled");
  });

  it("goes only where events of its source go", async () => {
    const destinations = [makeDestination({ sources: ["app"] })];
    await using d = await startDaemon({ config: { destinations } });
    assert.deepEqual(counts(await put(d, ["u1"])), [1, 0, 1]);
    assert.deepEqual(d.sent, []);
    assert.deepEqual(counts(await put(d, [])), [0, 1, 0]);
  });
});

describe("a newer change for a user", () => {
  it("ends what still waits of the older one, so that nothing flips back after an outage", async () => {
    let down = true;
    await using d = await startDaemon({ answers: () => (down ? 503 : 200) });
    await put(d, ["u1", "u2"]);
    await put(d, ["u2"]);
    await change(d, { add: ["u1"] });
    const waiting = ["1 failed: superseded", "2 waiting: 503", "3 failed: superseded", "4 waiting: 503"];
    assert.deepEqual(await states(d), waiting);
    down = false;
    const before = d.sent.length;
    await d.clock.advance("1m");
    assert.deepEqual(
      told({ sent: d.sent.slice(before) }).filter((line) => line.startsWith("u1")),
      ["u1 true"],
    );
  });

  it("is not undone by a replay of what has failed", async () => {
    let down = true;
    await using d = await startDaemon({ answers: () => (down ? 503 : 200) });
    await put(d, ["u1"]);
    await put(d, []);
    down = false;
    await d.clock.advance("1m");
    const before = d.sent.length;
    const { json } = await d.admin("POST", "/api/replay", { body: { filter: {} } });
    await d.clock.advance("1m");
    assert.deepEqual([json.replayed, json.left, json.superseded, d.sent.length], [0, 0, 1, before]);
  });

  /** What becomes of the first call of all, and in what state a replay finds it. */
  const BEFORE = { expired: () => 503, failed: () => 400, delivered: () => 200 } as const;
  for (const [state, first] of Object.entries(BEFORE)) {
    for (const how of ["list", "removal", "removal and another list", "trait"] as const) {
      it(`stays, whatever became of the older one: a replay leaves what has ${state} before a newer call (${how})`, async () => {
        let answer: () => number = first;
        await using begun = await startDaemon({ answers: () => answer() });
        const trait = "/api/sources/website/traits/tier";
        if (how === "trait") await put(begun, [["u1", "gold"]], "", trait);
        else await put(begun, ["u1"]);
        await begun.clock.advance("5h");
        answer = () => 200;
        if (how === "list") await put(begun, []);
        else if (how === "trait") await put(begun, [["u1", null]], "", trait);
        else await begun.admin("DELETE", PATH);
        // Long enough for whoever has left to be forgotten.
        await begun.clock.advance("1h");
        if (how === "removal and another list") await put(begun, ["u2"]);
        // What becomes of it is written a little later.
        await begun.clock.advance("100ms");
        await using d = await begun.crash({ answers: () => 200 });
        const filter = { state, until: formatTime(d.clock.wall() - HOUR / 2), user: "u1" };
        for (const dryRun of [true, false]) {
          const { json } = await d.admin("POST", "/api/replay", { body: { filter, dryRun } });
          // Of what was delivered, the newer call is sent again.
          const again = state === "delivered" ? 1 : 0;
          assert.deepEqual([json.replayed, json.left, json.superseded], [again, 0, 1], JSON.stringify(json));
        }
        await d.clock.advance("1m");
        assert.deepEqual(told(d), state === "delivered" ? [how === "trait" ? "u1 " : "u1 false"] : []);
      });
    }
  }

  it("can be sent again itself, and gives way to what comes after it, also when the user was forgotten meanwhile", async () => {
    let answer = 200;
    await using d = await startDaemon({ answers: () => answer });
    await put(d, ["u1"]);
    answer = 503;
    await put(d, []);
    await d.clock.advance("5h");
    const { json } = await d.admin("POST", "/api/replay", { body: { filter: { state: "expired" } } });
    assert.deepEqual([json.replayed, json.superseded], [1, 0]);
    await d.clock.advance("1s");
    await put(d, ["u1"]);
    answer = 200;
    const before = d.sent.length;
    await d.clock.advance("1h");
    assert.deepEqual(told({ sent: d.sent.slice(before) }), ["u1 true"]);
    assert.deepEqual(await states(d), ["1 delivered", "2 failed: superseded", "3 delivered"]);
  });

  it("leaves the calls of others alone that only look like ours", async () => {
    await using d = await startDaemon({ answers: () => 400 });
    const personas = { computation_class: "audience", computation_key: "big_spenders" };
    const messageId = `audience-${"0".repeat(20)}-${"0".repeat(24)}`;
    await d.call("/v1/identify", { userId: "u1", messageId, traits: { big_spenders: true }, context: { personas } });
    const { json } = await d.admin("POST", "/api/replay", { body: { filter: {} } });
    assert.deepEqual([json.replayed, json.superseded], [1, 0]);
  });

  it("does so also when the audience was removed in between", async () => {
    await using d = await startDaemon(DOWN);
    await put(d, ["u1"]);
    await d.admin("DELETE", PATH);
    await d.clock.rest();
    await put(d, ["u1"]);
    const ended = (await states(d)).map((line) => line.replace(/ waiting.*/, " waiting"));
    assert.deepEqual(ended, ["1 failed: superseded", "2 failed: superseded", "3 waiting"]);
  });
});

describe("a sync", () => {
  it("goes on after a crash: each change is sent, and none twice", SLOW, async () => {
    await using first = await startDaemon({ config: { outbox: { ...(await config()).outbox, maxSize: 0 } } });
    const answering = first.admin("PUT", PATH, { body: users(1, 1_000) });
    await first.clock.advance("6s");
    assert.deepEqual(counts(await answering), [1_000, 0, 1_000]);
    assert.deepEqual(first.sent, []);
    await using second = await first.crash({ config: { outbox: (await config()).outbox } });
    await second.clock.rest();
    await second.clock.advance("10s");
    assert.equal(new Set(calls(second).map(({ messageId }) => messageId)).size, 1_000);
    assert.equal(second.sent.length, 1_000);
    assert.equal((await put(second, users(1, 1_001))).json.added, 1);
  });

  it("waits while its source is out of the config, and goes on when it is back", SLOW, async () => {
    await using d = await startDaemon({ config: { outbox: { ...(await config()).outbox, maxSize: 0 } } });
    const answering = d.admin("PUT", PATH, { body: ["u1"] });
    await d.clock.advance("6s");
    await answering;
    const outbox = { ...d.config.outbox, maxSize: 1_000_000_000 };
    await d.app.reload({ ...d.config, outbox, sources: [] });
    await d.clock.advance("1m");
    assert.deepEqual(d.sent, []);
    await d.app.reload({ ...d.config, outbox });
    await d.clock.advance("10s");
    assert.deepEqual(told(d), ["u1 true"]);
  });

  it("is told: its beginning, its end, and each change", async () => {
    await using d = await startDaemon();
    await put(d, ["u1", "u2"]);
    const whats = d.told.map(({ what }) => what).filter((what) => /^(sync|members)/.test(what));
    assert.deepEqual(whats, ["syncStarted", "membersChanged", "syncFinished"]);
    const [, counted] = d.told.find(({ what }) => what === "membersChanged")?.args ?? [];
    assert.equal((counted as unknown[]).length, 2);
  });
});

describe("a computed trait's list (SPEC.md 6)", () => {
  const TRAIT = "/api/sources/website/traits/Lifetime%20Value";

  it("is sent for each user whose value is another one; null takes it away", async () => {
    await using d = await startDaemon();
    await put(d, [["u1", 5], { userId: "u2", value: "high" }, ["u3", true], ["u4", null]], "", TRAIT);
    assert.deepEqual(told(d), ["u1 5", "u2 high", "u3 true"]);
    const before = d.sent.length;
    const answer = await put(
      d,
      [
        ["u1", 5],
        ["u2", "low"],
        ["u3", null],
        ["u5", 0],
      ],
      "",
      TRAIT,
    );
    assert.deepEqual([answer.json.added, answer.json.changed, answer.json.removed, answer.json.size], [1, 1, 1, 3]);
    assert.deepEqual(told({ sent: d.sent.slice(before) }), ["u2 low", "u3 ", "u5 0"]);
    const last = calls(d).find(({ userId, traits }) => userId === "u3" && traits.lifetime_value === null);
    assert.equal(personasOf(last).computation_class, "trait");
  });

  it("leaves users alone that it does not name", async () => {
    await using d = await startDaemon();
    await put(
      d,
      [
        ["u1", 1],
        ["u2", 2],
      ],
      "",
      TRAIT,
    );
    assert.equal((await put(d, [["u2", 3]], "", TRAIT)).json.size, 2);
    assert.equal(d.sent.length, 3);
  });

  it("may be CSV, in which every value is text", async () => {
    await using d = await startDaemon();
    const text = "value,user_id\n007,u1\n,u2\n";
    await d.admin("PUT", TRAIT, { text, headers: { "content-type": "text/csv; charset=utf-8" } });
    await d.clock.rest();
    assert.deepEqual(
      calls(d).map(({ userId, traits }) => [userId, traits.lifetime_value]),
      [
        ["u1", "007"],
        ["u2", ""],
      ],
    );
  });

  it("is refused with the entry that has no value", async () => {
    await using d = await startDaemon();
    const answer = await d.admin("PUT", TRAIT, {
      body: [
        ["u1", 1],
        ["u2", { a: 1 }],
      ],
    });
    assert.equal(answer.json.message, "entry 2: its value must be a string, a number, true, false or null");
  });

  it("goes, and its users get null", async () => {
    await using d = await startDaemon();
    await put(d, [["u1", 1]], "", TRAIT);
    await d.admin("DELETE", TRAIT);
    await d.clock.rest();
    assert.deepEqual(told(d), ["u1 ", "u1 1"]);
  });
});
