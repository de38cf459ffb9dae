import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ImportCall } from "../../../../src/cli/send/import/call.ts";
import { createDeliver, type SendBatch } from "../../../../src/cli/send/import/deliver.ts";
import type { Verdict } from "../../../../src/cli/send/import/verdict.ts";
import { createFalseClock } from "../../../flow/clock.ts";

function makeWorld(send: SendBatch) {
  const clock = createFalseClock();
  const stopping = new AbortController();
  const told: string[] = [];
  const random = { fraction: () => 0.5, hex: () => "" };
  const tell = (text: string): void => void told.push(text);
  const deliver = createDeliver({ send, clock, random, signal: stopping.signal, base: "http://f", tell });
  return { clock, stopping, told, deliver };
}

/** Answers in this order. */
function inTurn(verdicts: readonly Verdict[]) {
  const left = [...verdicts];
  return { verdicts: () => left.shift() ?? taken(0) };
}

function taken(accepted: number, rejected: readonly number[] = []): Verdict {
  const why = { code: "invalid_call", message: "no" };
  return { kind: "taken", accepted, duplicate: 0, rejected: rejected.map((index) => ({ index, ...why })) };
}

function later(why: string, wait = 0): Verdict {
  return { kind: "later", why, wait, nobody: false };
}

const NOBODY: Verdict = { kind: "later", why: "cannot be reached: connection refused", wait: 0, nobody: true };

function calls(count: number): readonly ImportCall[] {
  return Array.from({ length: count }, (_, index) => ({ line: index + 1, text: "{}" }));
}

describe("delivering a batch of an import", () => {
  it("tries again with growing waits until it is taken, and says so once for each reason", async () => {
    const turn = inTurn([later("answers 503"), later("answers 503"), later("answers 429"), taken(2)]);
    const times: number[] = [];
    const w = makeWorld(async () => {
      times.push(w.clock.now());
      return turn.verdicts();
    });
    const delivering = w.deliver(calls(2));
    await w.clock.advance("1m");
    assert.deepEqual(await delivering, taken(2));
    const [first = 0] = times;
    assert.deepEqual(
      times.map((time) => time - first),
      [0, 500, 1_500, 3_500],
    );
    assert.deepEqual(w.told, [
      "http://f answers 503; trying again until it takes them",
      "http://f answers 429; trying again until it takes them",
      "http://f is there again",
    ]);
  });

  it("waits as long as the daemon asks for", async () => {
    const turn = inTurn([later("answers 503", 30_000), taken(1)]);
    let tries = 0;
    const w = makeWorld(async () => {
      tries += 1;
      return turn.verdicts();
    });
    const delivering = w.deliver(calls(1));
    await w.clock.advance("29s");
    assert.equal(tries, 1);
    await w.clock.advance("1s");
    assert.deepEqual(await delivering, taken(1));
  });

  it("gives up at once if nobody has ever been there, and waits for one who was", async () => {
    const w = makeWorld(async () => NOBODY);
    const why = "http://f cannot be reached: connection refused; is `fairlead serve` running?";
    assert.deepEqual(await w.deliver(calls(1)), { kind: "given-up", why });

    const turn = inTurn([taken(1), NOBODY, taken(1)]);
    const other = makeWorld(async () => turn.verdicts());
    await other.deliver(calls(1));
    const delivering = other.deliver(calls(1));
    await other.clock.advance("1s");
    assert.deepEqual(await delivering, taken(1));
  });

  it("gives up after ten minutes without any success", async () => {
    const w = makeWorld(async () => later("answers 503"));
    let ended: unknown = null;
    void w.deliver(calls(1)).then((result) => (ended = result));
    await w.clock.advance("9m 59s");
    assert.equal(ended, null);
    await w.clock.advance("1m 1s");
    assert.deepEqual(ended, { kind: "given-up", why: "http://f answers 503, for 10m now" });
  });

  it("gives up at once where it is of no use", async () => {
    const w = makeWorld(async () => ({ kind: "useless", why: "answers 401" }));
    assert.deepEqual(await w.deliver(calls(1)), { kind: "given-up", why: "http://f answers 401" });
  });

  it("stops waiting when it is asked to", async () => {
    const w = makeWorld(async () => later("answers 503", 60_000));
    const delivering = w.deliver(calls(1));
    await w.clock.rest();
    w.stopping.abort();
    assert.deepEqual(await delivering, { kind: "given-up", why: null });
  });

  it("halves what is refused as a whole, and finds the calls that are to blame", async () => {
    const bad = new Set([2, 7]);
    const w = makeWorld(async (sent) => {
      if (sent.some(({ line }) => bad.has(line))) return { kind: "unfit", code: "invalid_call", message: "no" };
      return taken(sent.length);
    });
    assert.deepEqual(await w.deliver(calls(9)), taken(7, [1, 6]));
  });
});
