import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SLOW } from "../slow.ts";
import { startDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";
import type { Behaviour, Sent } from "./network.ts";
import { REFUSED } from "./network.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m1" };
const URLS = [1, 2, 3, 4, 5].map((n) => `https://hook${n}.example.com/`);

function two(a: (sent: Sent) => Behaviour, b: (sent: Sent) => Behaviour) {
  return {
    config: { destinations: [makeDestination({ urls: [URL_A, URL_B] })] },
    answers: (sent: Sent) => (sent.url === URL_A ? a(sent) : b(sent)),
  };
}

describe("delivery to multiple webhooks (SPEC.md 6)", () => {
  it("sends to each of up to five webhooks", async () => {
    await using d = await startDaemon({
      config: { destinations: [makeDestination({ urls: URLS })] },
      answers: () => ({ status: 200, after: 50 }),
    });
    await d.call("/v1/track", TRACK);
    assert.deepEqual(d.sent.map(({ url }) => url).sort(), URLS);
  });

  it("counts the message as processed when any one succeeds, and retries it to nobody", async () => {
    await using d = await startDaemon(
      two(
        () => 503,
        () => 200,
      ),
    );
    await d.call("/v1/track", TRACK);
    await d.clock.advance("5h");
    assert.equal(d.sent.length, 2);
    const { state, url } = await d.row();
    assert.deepEqual({ state, url }, { state: "delivered", url: URL_B });
  });

  it("settles at the first success, without waiting for the others", async () => {
    await using d = await startDaemon(
      two(
        () => "hang",
        () => 200,
      ),
    );
    await d.call("/v1/track", TRACK);
    assert.equal((await d.row()).state, "delivered");
  });

  it("only tells of an answer that comes after the success", async () => {
    await using d = await startDaemon(
      two(
        () => ({ status: 500, after: 3_000 }),
        () => 200,
      ),
    );
    await d.call("/v1/track", TRACK);
    await d.clock.advance("5s");
    assert.equal(d.told.filter(({ what }) => what === "attempted").length, 2);
    assert.equal(d.told.filter(({ what }) => what === "settled").length, 1);
    assert.equal((await d.row()).state, "delivered");
  });

  it("waits for all of them before it decides that a round has failed", async () => {
    await using d = await startDaemon(
      two(
        () => 503,
        () => ({ status: 200, after: 4_000 }),
      ),
    );
    await d.call("/v1/track", TRACK);
    await d.clock.advance("3s");
    assert.equal(d.sent.length, 2);
    await d.clock.advance("2s");
    assert.equal((await d.row()).state, "delivered");
  });

  it("leaves out a webhook that has refused the event for good, and goes on with the others", async () => {
    await using d = await startDaemon(
      two(
        () => 422,
        ({ nth }) => (nth < 4 ? 503 : 200),
      ),
    );
    await d.call("/v1/track", TRACK);
    await d.clock.advance("1m");
    assert.equal(d.sent.filter(({ url }) => url === URL_A).length, 1);
    assert.equal(d.sent.filter(({ url }) => url === URL_B).length, 4);
    assert.equal((await d.row()).state, "delivered");
  });

  it("remembers who refused for good over a restart", async () => {
    const behaviour = two(
      () => 422,
      () => 503,
    );
    await using first = await startDaemon(behaviour);
    await first.call("/v1/track", TRACK);
    await first.clock.advance("100ms");
    await using second = await first.crash({ answers: () => 200 });
    await second.clock.advance("2s");
    assert.deepEqual(
      second.sent.map(({ url }) => url),
      [URL_B],
    );
  });

  it("fails with everybody's reason when all have refused for good", async () => {
    await using d = await startDaemon(
      two(
        () => 422,
        ({ nth }) => (nth < 3 ? 503 : 410),
      ),
    );
    await d.call("/v1/track", TRACK);
    await d.clock.advance("1m");
    const { state, reason } = await d.row();
    assert.equal(state, "failed");
    assert.match(reason ?? "", /a\.example\.com\/hook answered 422; https:\/\/b\.example\.com\/hook answered 410/);
  });

  it("delivers through the others while one of them is closed", async () => {
    await using d = await startDaemon(
      two(
        () => "hang",
        () => 200,
      ),
    );
    for (let n = 0; n < 50; n += 1) {
      await d.call("/v1/track", { ...TRACK, messageId: `m${n}` });
      await d.clock.advance("5s");
    }
    assert.ok(d.told.some(({ what, args }) => what === "laneClosed" && args[1] === URL_A));
    assert.equal(new Set((await d.rows()).map(({ state }) => state)).size, 1);
    assert.ok(d.sent.filter(({ url }) => url === URL_A).length < 30, "a closed webhook is only probed");
  });

  it("tries each destination for itself", async () => {
    await using d = await startDaemon({
      config: { destinations: [makeDestination(), makeDestination({ name: "warehouse", urls: [URL_B] })] },
      answers: ({ url }) => (url === URL_A ? 503 : 200),
    });
    await d.call("/v1/track", TRACK);
    const states = (await d.rows()).map(({ destination, state }) => `${destination} ${state}`);
    assert.deepEqual(states, ["crm waiting", "warehouse delivered"]);
  });

  it(
    "drains at full speed what waits for one webhook alone, while another is idle that has refused it for good",
    SLOW,
    async () => {
      let well = false;
      await using d = await startDaemon(
        two(
          () => (well ? { status: 200, after: 10 } : REFUSED),
          () => 400,
        ),
      );
      for (let n = 1; n <= 1_000; n += 1) await d.ask("/v1/track", { ...TRACK, messageId: `m${n}` });
      await d.clock.advance("10m");
      well = true;
      const states = async () => new Set((await d.rows()).map(({ state }) => state));
      while (!(await states()).has("delivered")) await d.clock.advance("5s");
      await d.clock.advance("5s");
      assert.deepEqual(await states(), new Set(["delivered"]));
    },
  );
});
