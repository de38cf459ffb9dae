import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InvalidOptionError } from "../../src/client/errors.ts";
import type { ToldHooks } from "../../src/client/platform.ts";
import { type ClientOptions, startClient } from "./world.ts";

/** A client of a process that is told to end by the test. */
function startTold(options: Omit<ClientOptions, "closeOnSignal"> & { readonly timeout?: number }) {
  const { timeout, ...rest } = options;
  const hooks = new Set<ToldHooks>();
  const back: string[] = [];
  const c = startClient({
    ...rest,
    closeOnSignal: { timeout, onUndelivered: (calls) => back.push(...calls.map(({ event = "" }) => event)) },
    world: {
      onSignal(hook) {
        hooks.add(hook);
        return () => hooks.delete(hook);
      },
    },
  });
  return { ...c, back, hooks, told: () => [...hooks][0] ?? assert.fail("nobody listens") };
}

describe("a client whose process is told to end", () => {
  it("sends its queue", async () => {
    const c = startTold({});
    void c.track("E");
    await c.told().toEnd();
    assert.deepEqual([c.batches(), c.back], [[["E"]], []]);
    assert.deepEqual(c.lines, []);
  });

  it("gives back what is left when the time is over", async () => {
    const c = startTold({ answers: () => "hang", timeout: 200 });
    void c.track("E");
    const ended = c.told().toEnd();
    await c.clock.advance("200ms");
    await ended;
    assert.deepEqual(c.back, ["E"]);
  });

  it("tells onError what is left, if nobody asked for it to be given back", async () => {
    for (const hook of ["told", "idle"] as const) {
      let told: ToldHooks | undefined;
      const onSignal = (hooks: ToldHooks) => {
        told = hooks;
        return () => {};
      };
      const c = startClient({ answers: () => "hang", closeOnSignal: { timeout: 200 }, world: { onSignal } });
      void c.track("E");
      if (hook === "told") void told?.toEnd();
      else c.exit("idle");
      await c.clock.advance("200ms");
      assert.deepEqual(
        c.lost.map(({ call, reason }) => [call.event, reason]),
        [["E", "exited"]],
      );
    }
  });

  it("takes calls until the end: what a program still does must not throw", async () => {
    const c = startTold({ answers: () => "hang", timeout: 200 });
    void c.track("1");
    const ended = c.told().toEnd();
    await c.clock.advance("100ms");
    void c.track("2");
    await c.clock.advance("100ms");
    await ended;
    assert.deepEqual(c.back, ["1", "2"]);
  });

  it("sends its queue and goes on if the program listens itself", async () => {
    const c = startTold({});
    void c.track("1");
    c.told().toSend();
    await c.clock.rest();
    void c.track("2");
    await c.client.flush();
    assert.deepEqual(c.batches(), [["1"], ["2"]]);
    assert.deepEqual(c.back, []);
  });

  it("gives back, too, what is left a while after the program has nothing else to do", async () => {
    const c = startTold({ answers: () => "hang" });
    void c.track("E");
    c.exit("idle");
    await c.clock.advance("5s");
    assert.deepEqual([c.back, c.lost], [["E"], []]);
  });
});

describe("the option closeOnSignal", () => {
  it("has an end with close()", async () => {
    const c = startTold({});
    await c.client.close(0);
    assert.equal(c.hooks.size, 0);
  });

  it("is refused where there are no signals, and with what it does not have", () => {
    assert.throws(() => startClient({ closeOnSignal: true }), InvalidOptionError);
    assert.throws(() => startClient({ closeOnSignal: { after: 1 } as never }), /no option closeOnSignal.after/);
    assert.throws(
      () => startClient({ closeOnSignal: { timeout: -1 } }),
      /closeOnSignal.timeout must be a whole number/,
    );
  });
});
