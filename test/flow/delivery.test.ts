import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HOUR, MINUTE } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { START } from "./clock.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A } from "./make.ts";
import { type Behaviour, OFFLINE, REFUSED, SELF_SIGNED, type Sent } from "./network.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m1" };

/** When each attempt began, in seconds after the first. */
function secondsAfterFirst({ sent }: TestDaemon): readonly number[] {
  const first = sent[0]?.at ?? 0;
  return sent.map(({ at }) => (at - first) / 1_000);
}

describe("a webhook request (SPEC.md 4.1)", () => {
  it("is a POST to the configured URL, with the product token, JSON and the static headers", async () => {
    await using d = await startDaemon({
      config: { destinations: [makeDestination({ headers: { "X-Team": "growth" } })] },
    });
    await d.call("/v1/track", TRACK);
    const [request] = d.sent;
    assert.equal(request?.url, URL_A);
    assert.deepEqual(request?.headers, {
      "User-Agent": "Fairlead/1.0",
      "Content-Type": "application/json",
      "X-Team": "growth",
    });
  });

  it("carries one message, whatever the size of the batch it came in", async () => {
    await using d = await startDaemon();
    const batch = ["A", "B", "C"].map((event) => ({ type: "track", userId: "u1", event }));
    await d.call("/v1/batch", { batch });
    const events = d.sent.map(({ body }) => JSON.parse(body).event);
    assert.deepEqual(events.sort(), ["A", "B", "C"]);
  });

  it("goes out at once, not when a timer allows it", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", TRACK);
    assert.equal(d.sent[0]?.at, d.clock.now());
  });

  it("is the same to the byte at every attempt", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth < 5 ? 503 : 200) });
    await d.call("/v1/track", { ...TRACK, properties: { b: 1, a: [1, { é: "ü" }] } });
    await d.clock.advance("1m");
    assert.equal(d.sent.length, 5);
    assert.equal(new Set(d.sent.map(({ body }) => body)).size, 1);
  });
});

describe("the outcome of an attempt (SPEC.md 7)", () => {
  const delivered: readonly number[] = [200, 201, 202, 204, 299];
  for (const status of delivered) {
    it(`is success at ${status}`, () => settlesAtOnce(status, "delivered", null));
  }

  const final: readonly number[] = [400, 402, 406, 409, 410, 413, 415, 422, 451];
  for (const status of final) {
    it(`is final at ${status}, which is about the event`, () => settlesAtOnce(status, "failed", `answered ${status}`));
  }

  const redirects: readonly number[] = [301, 302, 303, 307, 308];
  for (const status of redirects) {
    it(`is final at ${status}, and says where the receiver has gone`, async () => {
      const behaviour = { status, headers: { Location: "https://new.example.com/hook" } };
      await settlesAtOnce(behaviour, "failed", "set url to https://new.example.com/hook");
    });
  }

  const again: readonly (readonly [string, Behaviour])[] = [
    ...[500, 501, 502, 503, 504, 505, 511, 599].map((status) => [`${status}`, status] as const),
    ...[408, 423, 425, 429].map((status) => [`${status}, which asks for patience`, status] as const),
    ...[401, 403, 404, 405, 407].map((status) => [`${status}, which is about the webhook`, status] as const),
    ["a refused connection", REFUSED],
    ["a certificate that is not trusted", SELF_SIGNED],
    ["no network", OFFLINE],
    ["no answer within five seconds", "hang"],
    ["an answer after five seconds", { status: 200, after: 5_001 }],
  ];
  for (const [name, behaviour] of again) {
    it(`is tried again after ${name}`, () => isTriedAgain(behaviour));
  }

  async function settlesAtOnce(behaviour: Behaviour, state: string, reason: string | null): Promise<void> {
    await using d = await startDaemon({ answers: () => behaviour });
    await d.call("/v1/track", TRACK);
    const row = await d.row();
    assert.equal(row.state, state);
    if (reason) assert.match(row.reason ?? "", new RegExp(reason.replaceAll(".", "\\.")));
    await d.clock.advance("5h");
    assert.equal(d.sent.length, 1);
  }

  async function isTriedAgain(behaviour: Behaviour): Promise<void> {
    await using d = await startDaemon({ answers: ({ nth }) => (nth === 1 ? behaviour : 200) });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("5s");
    await d.clock.advance("30s");
    assert.equal(d.sent.length, 2);
    assert.equal((await d.row()).state, "delivered");
  }
});

describe("the time to answer (SPEC.md 4.1, 7, 8)", () => {
  it("is five seconds: an answer after 4.999 s counts", async () => {
    await using d = await startDaemon({ answers: () => ({ status: 200, after: 4_999 }) });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("5s");
    assert.equal((await d.row()).state, "delivered");
  });

  it("is over after five seconds: the timeout is told, and the event is retried", async () => {
    await using d = await startDaemon({ answers: () => "hang" });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("5s");
    const [, outcome] = d.told.find(({ what }) => what === "attempted")?.args ?? [];
    assert.partialDeepStrictEqual(outcome, { kind: "timeout", after: 5_000 });
    assert.match((await d.row()).reason ?? "", /no answer within 5s/);
  });
});

describe("retries (SPEC.md 7, 8)", () => {
  it("wait one second, doubling to ten minutes", async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("40m");
    assert.deepEqual(secondsAfterFirst(d), [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1623, 2223]);
  });

  it("give up four hours after the first attempt, whatever the receiver says", async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("4h1m");
    const row = await d.row();
    assert.equal(row.state, "expired");
    assert.match(row.reason ?? "", /no success within 4h; last answer 503/);
    const count = d.sent.length;
    await d.clock.advance("24h");
    assert.equal(d.sent.length, count);
  });

  it("make the last attempt at the cutoff, and none after it", async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("5h");
    assert.equal(secondsAfterFirst(d).at(-1), 4 * 3_600);
  });

  it("are delivered if the receiver comes back in the last second", async () => {
    await using d = await startDaemon({ answers: ({ at }) => (at < recovery ? 503 : 200) });
    const recovery = d.clock.now() + 4 * 3_600_000;
    await d.call("/v1/track", TRACK);
    await d.clock.advance("4h");
    assert.equal((await d.row()).state, "delivered");
  });

  it("wait as long as Retry-After says, if that is longer", async () => {
    const answers = ({ nth }: { nth: number }): Behaviour =>
      nth === 1 ? { status: 503, headers: { "Retry-After": "120" } } : 200;
    await using d = await startDaemon({ answers });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("3m");
    assert.deepEqual(secondsAfterFirst(d), [0, 120]);
  });

  it("do not wait less because Retry-After says so", async () => {
    await using d = await startDaemon({ answers: () => ({ status: 500, headers: { "Retry-After": "0" } }) });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("4s");
    assert.deepEqual(secondsAfterFirst(d), [0, 1, 3]);
  });

  it("do not wait past the cutoff, whatever Retry-After says", async () => {
    const answers = (): Behaviour => ({ status: 500, headers: { "Retry-After": "864000" } });
    await using d = await startDaemon({ answers });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("4h");
    assert.deepEqual(secondsAfterFirst(d), [0, 4 * 3_600]);
    assert.equal((await d.row()).state, "expired");
  });
});

describe("a machine without network", () => {
  it("expires nothing in two days, and delivers when the network is back", SLOW, async () => {
    await using d = await startDaemon({ answers: ({ at }) => (at < back ? OFFLINE : 200) });
    const back = d.clock.now() + 48 * 3_600_000;
    for (let n = 0; n < 20; n += 1) await d.call("/v1/track", { userId: "u1", event: `E${n}` });
    await d.clock.advance("48h");
    assert.deepEqual(new Set((await d.rows()).map(({ state }) => state)), new Set(["waiting"]));
    await d.clock.advance("1m");
    assert.deepEqual(new Set((await d.rows()).map(({ state }) => state)), new Set(["delivered"]));
  });

  it("does not use up the four hours of a delivery that had been tried before", SLOW, async () => {
    await using d = await startDaemon({ answers: ({ at }) => (at < cut ? 503 : at < back ? OFFLINE : 500) });
    const cut = d.clock.now() + 60_000;
    const back = d.clock.now() + 12 * 3_600_000;
    await d.call("/v1/track", TRACK);
    await d.clock.advance("12h");
    await d.clock.advance("3h50m");
    assert.equal((await d.row()).state, "waiting");
    await d.clock.advance("15m");
    assert.equal((await d.row()).state, "expired");
  });

  it("does not use up the four hours over a crash either", SLOW, async () => {
    const answers = ({ at }: Sent): Behaviour => (at < START + MINUTE ? 503 : at < START + 12 * HOUR ? OFFLINE : 500);
    await using first = await startDaemon({ answers });
    await first.call("/v1/track", TRACK);
    await first.clock.advance("6h");
    await using second = await first.crash({ answers });
    await second.clock.advance("6h");
    await second.clock.advance("3h50m");
    assert.equal((await second.row()).state, "waiting");
    await second.clock.advance("15m");
    assert.equal((await second.row()).state, "expired");
  });

  it("does not use up the four hours of what was not even tried while it lasted", SLOW, async () => {
    await using d = await startDaemon({ answers: ({ at }) => (at < cut ? 503 : at < back ? OFFLINE : 500) });
    const cut = d.clock.now() + 60_000;
    const back = d.clock.now() + 12 * 3_600_000;
    for (let n = 0; n < 20; n += 1) await d.call("/v1/track", { userId: "u1", event: `E${n}` });
    await d.clock.advance("15h");
    assert.deepEqual(new Set((await d.rows()).map(({ state }) => state)), new Set(["waiting"]));
  });
});

describe("a clock that is set wrong", () => {
  it("neither expires nor freezes what waits, whichever way it jumps", SLOW, async () => {
    for (const jump of [-365 * 86_400_000, 365 * 86_400_000]) {
      await using d = await startDaemon({ answers: ({ nth }) => (nth < 4 ? 503 : 200) });
      await d.call("/v1/track", TRACK);
      d.clock.setWall(d.clock.wall() + jump);
      await d.clock.advance("10s");
      assert.equal((await d.row()).state, "delivered");
    }
  });
});
