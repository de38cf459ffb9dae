import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, URL_A, URL_B } from "./make.ts";
import { type Behaviour, OFFLINE, REFUSED, type Sent } from "./network.ts";

const BOTH = { destinations: [makeDestination({ urls: [URL_A, URL_B] })] };

async function accept(d: TestDaemon, ...messageIds: readonly string[]): Promise<void> {
  const batch = messageIds.map((messageId) => ({ type: "track", userId: "u1", event: "E", messageId }));
  await d.call("/v1/batch", { batch });
}

function many(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `m${n}`);
}

type Said = {
  readonly problems: readonly { level: string; code: string; what: string; since: string | null; remedy: string }[];
  readonly destinations: readonly {
    state: string;
    failingSince: string | null;
    lastError: { reason: string } | null;
    webhooks: readonly { state: string; failingSince: string | null; nextTryAt: string | null }[];
  }[];
};

async function statusOf(d: TestDaemon): Promise<Said> {
  return (await d.admin("GET", "/api/status")).json as unknown as Said;
}

async function stateOf(d: TestDaemon): Promise<string | undefined> {
  return (await statusOf(d)).destinations[0]?.state;
}

/** A receiver that does not answer until it is told to. */
function mendable(broken: Behaviour = REFUSED) {
  let mended = false;
  return {
    answers: (): Behaviour => (mended ? 200 : broken),
    mend: () => {
      mended = true;
    },
  };
}

describe("the state of a destination", () => {
  it("is untried, working, failing, and working again", async () => {
    let status = 200;
    await using d = await startDaemon({ answers: () => status });
    assert.equal(await stateOf(d), "untried");
    await accept(d, "m1");
    assert.equal(await stateOf(d), "working");
    status = 500;
    await accept(d, "m2");
    assert.equal(await stateOf(d), "working", "one refusal right after a success says little");
    await d.clock.advance("2m");
    const { destinations } = await statusOf(d);
    assert.equal(destinations[0]?.state, "failing");
    assert.equal(destinations[0]?.failingSince, "2026-11-20T12:00:00.000Z");
    assert.equal(destinations[0]?.lastError?.reason, "500");
    status = 200;
    await d.clock.advance("10m");
    assert.equal(await stateOf(d), "working");
  });

  it("is degraded while one of two webhooks is down, whichever has answered last", async () => {
    await using d = await startDaemon({
      config: BOTH,
      answers: ({ url }) => (url === URL_A ? REFUSED : { status: 200, after: 10 }),
    });
    for (let n = 0; n < 20; n += 1) {
      await accept(d, `m${n}`);
      await d.clock.advance("5ms");
      if (n > 10) assert.equal(await stateOf(d), "degraded");
      await d.clock.advance("10s");
      if (n > 10) assert.equal(await stateOf(d), "degraded");
    }
    const { webhooks, failingSince } = (await statusOf(d)).destinations[0] ?? assert.fail();
    assert.deepEqual(
      webhooks.map(({ state }) => state),
      ["down", "working"],
    );
    assert.equal(failingSince, null);
    assert.ok(webhooks[0]?.failingSince && webhooks[0]?.nextTryAt);
  });

  it("is offline while this machine has no network", async () => {
    await using d = await startDaemon({ answers: () => OFFLINE });
    await accept(d, "m1");
    assert.equal(await stateOf(d), "offline");
  });
});

describe("the problems of a daemon", () => {
  it("are none while all is well", async () => {
    await using d = await startDaemon();
    await accept(d, "m1");
    assert.deepEqual((await statusOf(d)).problems, []);
  });

  it("are what is down, since when and what to do, and what waits for who is paused or gone, the worst first", async () => {
    const destinations = [makeDestination(), makeDestination({ name: "held", urls: [URL_B] })];
    await using d = await startDaemon({
      config: { destinations },
      answers: ({ url }) => (url === URL_A ? REFUSED : 200),
    });
    await d.admin("POST", "/api/destinations/held/pause");
    await accept(d, ...many(20));
    await d.clock.advance("1m");
    await d.app.reload(makeConfig({ ...d.config, destinations: destinations.slice(0, 1) }));
    const { problems } = await statusOf(d);
    assert.deepEqual(
      problems.map(({ level, code, since }) => [level, code, since]),
      [
        ["error", "webhook_down", "2026-11-20T12:00:00.000Z"],
        ["warning", "unserved", null],
      ],
    );
    assert.match(
      problems[0]?.what ?? "",
      /^crm: https:\/\/a\.example\.com\/hook does not answer \(connection refused\), 20/,
    );
    assert.equal(problems[0]?.remedy, "when it works again: fairlead retry crm");
  });
});

describe("a webhook that is down", () => {
  it("is said beside each delivery that waits for it: in lists, of one, and of an event", async () => {
    await using d = await startDaemon({ answers: () => REFUSED });
    await accept(d, ...many(20));
    await d.clock.advance("1m");
    const [{ id } = assert.fail()] = (await d.admin("GET", "/api/deliveries?limit=1")).json.deliveries as {
      id: string;
    }[];
    for (const path of ["/api/deliveries", `/api/deliveries/${id}`, "/api/events/m3"]) {
      const { troubled } = (await d.admin("GET", path)).json as { troubled: readonly Record<string, unknown>[] };
      const [one] = troubled;
      assert.deepEqual([one?.destination, one?.url, one?.state], ["crm", URL_A, "down"], path);
      assert.ok(one?.failingSince && one.nextTryAt && one.lastFailure, path);
    }
  });

  it("is not said where nothing waits for it", async () => {
    const { answers, mend } = mendable();
    await using d = await startDaemon({
      config: BOTH,
      answers: (sent: Sent) => (sent.url === URL_B ? 200 : answers()),
    });
    await accept(d, ...many(20));
    assert.deepEqual((await d.admin("GET", "/api/deliveries")).json.troubled, []);
    mend();
  });
});

describe("a receiver that is well again", () => {
  const ways = {
    "a retry of its destination": (d) => d.admin("POST", "/api/destinations/crm/retry"),
    "a resume": (d) => d.admin("POST", "/api/destinations/crm/resume"),
    "a reload": (d) => d.app.reload(d.config),
    "a retry of a delivery": (d) => d.admin("POST", "/api/deliveries/1-crm/retry"),
  } satisfies Record<string, (d: TestDaemon) => Promise<unknown>>;

  for (const [name, act] of Object.entries(ways)) {
    it(`gets all that waits at once by ${name}`, async () => {
      const { answers, mend } = mendable();
      await using d = await startDaemon({ answers });
      await accept(d, ...many(50));
      await d.clock.advance("1h");
      mend();
      await d.clock.advance("1s");
      assert.equal((await d.rows()).filter(({ state }) => state === "delivered").length, 0);
      await act(d);
      await d.clock.advance("1s");
      assert.equal((await d.rows()).filter(({ state }) => state === "delivered").length, 50);
    });
  }

  it("is left alone for as long as it wanted, but for a retry of its destination", async () => {
    let answer: Behaviour = { status: 503, headers: { "Retry-After": "3600" } };
    await using d = await startDaemon({ answers: ({ body }) => (body.includes('"m2"') ? 200 : answer) });
    await accept(d, "m1", "m2");
    answer = 200;
    const filter = { state: "delivered" };
    await d.clock.advance("10m");
    const before = d.sent.length;
    const { "a retry of its destination": retryIt, ...others } = ways;
    for (const act of Object.values(others)) await act(d);
    assert.equal((await d.admin("POST", "/api/replay", { body: { filter } })).json.replayed, 1);
    await d.clock.advance("10m");
    assert.equal(d.sent.length, before);
    await retryIt(d);
    await d.clock.rest();
    assert.equal(d.sent.length, before + 2);
  });

  it("gets what was refused before its wait is over by a retry of its destination", async () => {
    const { answers, mend } = mendable(500);
    await using d = await startDaemon({ answers });
    await accept(d, "m1");
    await d.clock.advance("1h");
    mend();
    const { json } = await d.admin("POST", "/api/destinations/crm/retry");
    assert.deepEqual([json.waiting, json.served], [1, true]);
    await d.clock.rest();
    assert.equal((await d.row()).state, "delivered");
    assert.deepEqual(d.told.find(({ what }) => what === "retriedNow")?.args, ["crm", 1]);
  });

  it("gets what is replayed at once", async () => {
    const { answers, mend } = mendable();
    await using d = await startDaemon({
      answers: (sent) => (JSON.parse(sent.body).messageId === "bad" ? 400 : answers()),
    });
    await accept(d, "bad", ...many(20));
    await d.clock.advance("1h");
    mend();
    await d.admin("POST", "/api/replay", { body: { filter: {} } });
    await d.clock.advance("1s");
    assert.equal((await d.rows()).filter(({ state }) => state === "delivered").length, 20);
  });

  it("gets nothing while its destination is paused, and a retry says so", async () => {
    await using d = await startDaemon();
    await d.admin("POST", "/api/destinations/crm/pause");
    await accept(d, "m1");
    const { json } = await d.admin("POST", "/api/destinations/crm/retry");
    assert.deepEqual([json.waiting, json.served], [1, false]);
    assert.equal(d.sent.length, 0);
    assert.equal((await d.admin("POST", "/api/destinations/nobody/retry")).json.code, "unknown_destination");
  });
});
