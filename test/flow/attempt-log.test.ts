import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Attempt, AttemptLog } from "../../src/model/delivery.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, URL_A, URL_B } from "./make.ts";
import { OFFLINE, REFUSED } from "./network.ts";

const CALL = { userId: "u1", event: "Order Completed" };

async function logs(daemon: TestDaemon): Promise<readonly (AttemptLog | null)[]> {
  const rows = await daemon.query<{ log: string | null }>("SELECT log FROM tried ORDER BY event, destination");
  return rows.map(({ log: text }) => (text === null ? null : JSON.parse(text)));
}

async function log(daemon: TestDaemon): Promise<AttemptLog> {
  const [only, ...others] = await logs(daemon);
  assert.deepEqual(others, []);
  return only ?? assert.fail("there is no log");
}

function summary({ outcome, status, reason, answer, trigger }: Attempt): readonly unknown[] {
  return [trigger, outcome, status, reason, answer];
}

describe("the log of attempts", () => {
  it("says of each attempt when, to whom, how long, what came of it, and what set it off", async () => {
    const answers = [
      { status: 503, body: "we are \u001b[31mclosed", after: 40 },
      REFUSED,
      OFFLINE,
      "hang",
      204,
    ] as const;
    await using d = await startDaemon({
      answers: ({ nth }) => answers[nth - 1] ?? 200,
      config: makeConfig({ destinations: [makeDestination({ urls: [`${URL_A}?token=t0ken`] })] }),
    });
    const at = d.clock.now();
    await d.call("/v1/track", CALL);
    await d.clock.advance("1m");
    const { first, omitted, last } = await log(d);
    assert.deepEqual(first.map(summary), [
      ["first", "retry", 503, "503", "we are \u001b[31mclosed"],
      ["retry", "retry", null, "connection refused", null],
      ["retry", "offline", null, "network is unreachable", null],
      ["retry", "retry", null, "no answer within 5s", null],
      ["retry", "delivered", 204, "204", null],
    ]);
    assert.deepEqual([first[0]?.at, first[0]?.duration, first[3]?.duration], [at, 40, 5_000]);
    assert.deepEqual([...new Set(first.map(({ url }) => url))], [URL_A]);
    assert.deepEqual([omitted, last], [0, []]);
  });

  it("has the attempt of the first round that failed while another webhook took it", async () => {
    await using d = await startDaemon({
      answers: ({ url }) => (url === URL_A ? 500 : { status: 200, after: 100 }),
      config: makeConfig({ destinations: [makeDestination({ urls: [URL_A, URL_B] })] }),
    });
    await d.call("/v1/track", CALL);
    await d.clock.advance("1s");
    assert.equal((await d.row()).state, "delivered");
    const { first } = await log(d);
    assert.deepEqual(
      first.map(({ url, reason }) => [url, reason]),
      [
        [URL_A, "500"],
        [URL_B, "200"],
      ],
    );
  });

  it("writes nothing for a delivery that its first attempt delivers", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", CALL);
    assert.equal((await d.row()).state, "delivered");
    assert.deepEqual(await logs(d), []);
  });

  it("writes nothing for a delivery that its first attempt delivers, even if that was a probe", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth <= 10 ? REFUSED : 200) });
    await d.call("/v1/track", CALL);
    // Ten in a row close the lane.
    while (d.sent.length < 10) await d.clock.advance("1s");
    await d.call("/v1/track", { ...CALL, userId: "u2" });
    await d.clock.advance("2s");
    assert.match(d.sent[10]?.body ?? "", /"u2"/);
    const [only, ...others] = await logs(d);
    assert.deepEqual([only?.first.length, only?.last.length, others], [5, 5, []]);
  });

  it("waits a quarter of a second for the text of a refusal, and no longer", async () => {
    await using d = await startDaemon({ answers: () => ({ status: 400, body: "never ends" }) });
    await d.call("/v1/track", CALL);
    assert.equal((await d.row()).state, "waiting");
    await d.clock.advance("249ms");
    assert.equal((await d.row()).state, "waiting");
    await d.clock.advance("1ms");
    assert.equal((await d.row()).state, "failed");
    assert.deepEqual((await log(d)).first.map(summary), [["first", "final", 400, "400", null]]);
  });

  it("has the attempts of all webhooks of a round", async () => {
    await using d = await startDaemon({
      answers: ({ url }) => (url === URL_A ? { status: 410, body: "gone" } : { status: 500, body: "oops", after: 10 }),
      config: makeConfig({ destinations: [makeDestination({ urls: [URL_A, URL_B] })] }),
    });
    await d.call("/v1/track", CALL);
    await d.clock.advance("20ms");
    const { first } = await log(d);
    assert.deepEqual(
      first.map((one) => [one.url, one.status, one.answer]),
      [
        [URL_A, 410, "gone"],
        [URL_B, 500, "oops"],
      ],
    );
  });

  it("keeps the first five and the last five of four hours, and says which of them were probes", async () => {
    await using d = await startDaemon({ answers: () => REFUSED });
    await d.call("/v1/track", CALL);
    await d.clock.advance("4h 10m");
    const { state } = await d.row();
    const { first, omitted, last } = await log(d);
    assert.equal(state, "expired");
    assert.deepEqual([first.length, last.length, 10 + omitted], [5, 5, d.sent.length]);
    assert.deepEqual(first[0] && summary(first[0])[0], "first");
    assert.ok(last.every(({ trigger, answer }) => trigger === "probe" && answer === null));
  });

  it("goes on over a restart", async () => {
    await using d = await startDaemon({ answers: () => 500 });
    await d.call("/v1/track", CALL);
    await d.clock.advance("100ms");
    await using again = await d.crash({ answers: () => 200 });
    await again.clock.advance("2s");
    const { first } = await log(again);
    assert.deepEqual(
      first.map(({ outcome }) => outcome),
      ["retry", "delivered"],
    );
  });
});
