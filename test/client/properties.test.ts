// Whatever a program calls and a server answers: each call is settled once, in order, in requests of the right size.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { QueueFullError } from "../../src/client/errors.ts";
import type { WhenFull } from "../../src/client/queue.ts";
import { SLOW } from "../slow.ts";
import { type Arrived, type Behaviour, startClient, type TestClient } from "./world.ts";

type Step =
  | { readonly kind: "track"; readonly bytes: number }
  | { readonly kind: "flush" | "idle" | "gone" }
  | { readonly kind: "advance"; readonly ms: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("track" as const), bytes: fc.nat(900) }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: "flush" }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(0, 1, 500, 5_000, 70_000) }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: "idle" }, { kind: "gone" }) },
);

/** `some`: the server rejects the first call of the batch. */
type Said = Behaviour | "some";
const anyAnswer: fc.Arbitrary<Said> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Said>(200) },
  fc.constantFrom<Said>("some", "hang", 400, 401, 500, 503, 302, new Error("reset")),
  fc.constant<Said>({ status: 429, headers: { "Retry-After": "2" } }),
);

const anyRun = runOf(anyAnswer);
/** A batch that is too large goes out again in halves: then requests do not follow each other in order alone. */
const anyRunInHalves = runOf(fc.oneof({ weight: 8, arbitrary: anyAnswer }, fc.constant<Said>(413)));

type Run = typeof anyRun extends fc.Arbitrary<infer One> ? One : never;
type Made = { readonly ids: string[]; readonly placed: Promise<string>[]; readonly flushes: Promise<unknown>[] };
type Ended = { readonly c: TestClient; readonly made: Made; readonly returned: readonly string[] };

describe("whatever is called and answered", () => {
  it("each call is delivered, lost or given back: one of them, and once", SLOW, async () => {
    const seen = { delivered: 0, lost: 0, returned: 0 };
    await fc.assert(
      fc.asyncProperty(anyRunInHalves, async (run) => {
        const { c, made, returned } = await play(run);
        const [delivered, lost] = [
          c.delivered.map(({ messageId }) => messageId),
          c.lost.map(({ messageId }) => messageId),
        ];
        assert.deepEqual([...delivered, ...lost, ...returned].toSorted(), made.ids.toSorted());
        // What was promised is kept, and nothing keeps the program alive.
        await Promise.all([...made.placed, ...made.flushes]);
        assert.equal(c.alive(), 0);
        seen.delivered += delivered.length;
        seen.lost += lost.length;
        seen.returned += returned.length;
      }),
      { numRuns: 300 },
    );
    assert.ok(Math.min(seen.delivered, seen.lost, seen.returned) > 50, JSON.stringify(seen));
  });

  it("calls go out in their order, in batches of the right size, one at a time", SLOW, async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const { c, made } = await play(run);
        const nth = new Map(made.ids.map((id, index) => [id, index]));
        let last = -1;
        for (const { batch, text } of c.arrived.map(({ envelope, text }) => ({ batch: envelope.batch, text }))) {
          const places = batch.map(({ messageId }) => nth.get(messageId) ?? -1);
          assert.deepEqual(
            places,
            places.toSorted((a, b) => a - b),
          );
          // The one before, again; or one behind it.
          assert.ok((places[0] ?? -1) > last || places.at(-1) === last, `${places} after ${last}`);
          last = places.at(-1) ?? -1;
          assert.ok(batch.length > 0 && batch.length <= run.options.flushAt);
          assert.ok(Buffer.byteLength(text) <= run.options.maxBatchSize);
        }
        assert.ok(c.mostAtOnce() <= 1);
      }),
      { numRuns: 300 },
    );
  });
});

async function play({ steps, answers, closeMs, options }: Run): Promise<Ended> {
  const c = startClient({
    ...options,
    answers: (arrived) => say(answers[(arrived.nth - 1) % answers.length] ?? 200, arrived),
  });
  const made: Made = { ids: [], placed: [], flushes: [] };
  for (const step of steps) await take(step, c, made);
  const closing = c.client.close(closeMs);
  await c.clock.advance(`${closeMs + 1}ms`);
  const { undelivered } = await closing;
  return { c, made, returned: undelivered.map(({ messageId }) => messageId) };
}

async function take(step: Step, c: TestClient, made: Made): Promise<void> {
  switch (step.kind) {
    case "track":
      return track(step.bytes, c, made);
    case "flush":
      return void made.flushes.push(c.client.flush());
    case "advance":
      return c.clock.advance(`${step.ms}ms`);
    default:
      return c.exit(step.kind);
  }
}

function runOf(answer: fc.Arbitrary<Said>) {
  return fc.record({
    steps: fc.array(anyStep, { maxLength: 60 }),
    answers: fc.array(answer, { minLength: 1, maxLength: 30 }),
    closeMs: fc.constantFrom(0, 800, 60_000),
    options: fc.record({
      flushAt: fc.integer({ min: 1, max: 6 }),
      retries: fc.nat(2),
      timeout: fc.constantFrom(400, 3_000),
      maxBatchSize: fc.constantFrom(2_000, 4_000, 512_000),
      queue: fc.record({
        limit: fc.integer({ min: 1, max: 12 }),
        whenFull: fc.constantFrom<WhenFull>("block", "reject", "dropOldest"),
      }),
    }),
  });
}

function track(bytes: number, c: TestClient, { ids, placed }: Made): void {
  const messageId = `m${ids.length}`;
  try {
    placed.push(c.track("E", { messageId, properties: { pad: "é".repeat(bytes / 2) } }));
    ids.push(messageId);
  } catch (error) {
    // It changes nothing: the call has not been made.
    assert.ok(error instanceof QueueFullError);
  }
}

function say(answer: Said, { envelope }: Arrived): Behaviour {
  if (answer !== "some") return answer;
  const rejected = [{ index: 0, messageId: envelope.batch[0]?.messageId, code: "invalid_call", message: "no" }];
  return { status: 200, body: { success: true, rejected } };
}
