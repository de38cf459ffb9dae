import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Analytics, memoryTransport } from "../../src/client/analytics.ts";

describe("the transport for tests", () => {
  it("records each of the six calls once it is flushed, and lets nothing out", async () => {
    const transport = memoryTransport();
    const analytics = new Analytics("test", { fetch: transport.fetch });
    const who = { userId: "u" };
    void analytics.identify({ ...who, traits: { plan: "pro" } });
    void analytics.track({ ...who, event: "Signed Up" });
    void analytics.page({ ...who, name: "Home" });
    void analytics.screen({ ...who, name: "Start" });
    void analytics.group({ ...who, groupId: "g" });
    void analytics.alias({ ...who, previousId: "p" });
    assert.equal(transport.calls.length, 0);
    await analytics.flush();
    const types = transport.calls.map(({ type }) => type);
    assert.deepEqual(types, ["identify", "track", "page", "screen", "group", "alias"]);
    assert.deepEqual(transport.calls[0]?.traits, { plan: "pro" });
    assert.equal(transport.requests[0]?.url, "http://127.0.0.1:8080/v1/batch");
    transport.clear();
    assert.deepEqual([transport.calls, transport.requests], [[], []]);
    await analytics.close();
  });

  it("answers what a test wants to see handled", async () => {
    const rejected = [{ index: 0, code: "invalid_call", message: "no" }];
    const answers = [
      () => 401,
      () => ({ status: 200, body: { rejected } }),
      () => {
        throw new Error("no network");
      },
    ];
    for (const [answer, expected] of answers.map(
      (one, nth) => [one, ["refused", "rejected", "gave_up"][nth]] as const,
    )) {
      const transport = memoryTransport(answer);
      const lost: string[] = [];
      const analytics = new Analytics("test", {
        fetch: transport.fetch,
        retries: 0,
        onError: ({ reason }) => lost.push(reason),
      });
      void analytics.track({ userId: "u", event: "E" });
      await analytics.close();
      assert.deepEqual(lost, [expected]);
      assert.equal(transport.requests.length, 1);
    }
  });
});

describe("the class", () => {
  it("closes with a deadline of its caller's, or its own", async () => {
    const stuck = memoryTransport(() => new Promise(() => {}));
    const analytics = new Analytics("test", { fetch: stuck.fetch, onError: () => {} });
    const id = await analytics.track({ userId: "u", event: "E" });
    const { undelivered } = await analytics.close({ timeout: 1 });
    assert.deepEqual(
      undelivered.map(({ messageId }) => messageId),
      [id],
    );
    assert.throws(() => analytics.identify({ userId: "u" }), { code: "closed" });
  });

  it("throws at the call, not later", () => {
    const analytics = new Analytics("test", { fetch: memoryTransport().fetch });
    // @ts-expect-error: who it is about is missing
    assert.throws(() => analytics.track({ event: "E" }), {
      message: "You must pass either an 'anonymousId' or 'userId'.",
    });
  });
});
