import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Complaint } from "../../src/cli/command.ts";
import { isYes } from "../../src/cli/confirm.ts";
import { aboutOf, complaintOf, doPages, progressOf } from "../../src/cli/waiting.ts";
import { createFalseClock } from "../flow/clock.ts";

type Page = { readonly count: number; readonly more: boolean };
type Answer = { readonly value: Page } | Complaint;

const BUSY: Complaint = { code: 1, message: "attempts still run", error: "destination_busy" };
const GONE: Complaint = { code: 1, message: "cannot reach the daemon", error: "unreachable" };

function page(count: number, more = true): Answer {
  return { value: { count, more } };
}

/** Asks for pages that are answered one after the other; the last answer is given again and again. */
function start(...answers: readonly Answer[]) {
  const clock = createFalseClock();
  const interrupting = new AbortController();
  const began = clock.now();
  const took: number[] = [];
  const askedAt: number[] = [];
  const ending = doPages<Page>({
    async ask() {
      askedAt.push(clock.now() - began);
      return answers[Math.min(askedAt.length, answers.length) - 1] ?? assert.fail();
    },
    took: ({ count }) => void took.push(count),
    interrupted: interrupting.signal,
    clock,
  });
  return { clock, took, askedAt, ending, interrupt: () => interrupting.abort() };
}

describe("page after page", () => {
  it("is done until there is no more", async () => {
    const { took, askedAt, ending } = start(page(3), page(3), page(1, false));
    assert.equal(await ending, "done");
    assert.deepEqual(
      [took, askedAt],
      [
        [3, 3, 1],
        [0, 0, 0],
      ],
    );
  });

  it("ends with the first refusal, and says why", async () => {
    const { took, ending } = start(page(3), GONE);
    assert.equal(await ending, GONE);
    assert.deepEqual(took, [3]);
  });

  it("waits, a second at a time, while attempts that were begun before still run", async () => {
    const { clock, took, askedAt, ending } = start(BUSY, BUSY, BUSY, page(3, false));
    await clock.advance("5s");
    assert.equal(await ending, "done");
    assert.deepEqual([took, askedAt], [[3], [0, 1_000, 2_000, 3_000]]);
  });

  it("has patience for forty seconds, and anew for each page", async () => {
    const { clock, askedAt, ending } = start(...new Array<Answer>(10).fill(BUSY), page(3), BUSY);
    await clock.advance("60s");
    assert.equal(await ending, BUSY);
    assert.equal(askedAt.at(-1), 10_000 + 40_000);
  });

  it("stops between two pages when it is interrupted: the one under way counts", async () => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const interrupting = new AbortController();
    const took: Page[] = [];
    const clock = createFalseClock();
    const ask = (): Promise<Answer> => promise;
    const ending = doPages<Page>({ ask, took: (one) => void took.push(one), interrupted: interrupting.signal, clock });
    interrupting.abort();
    resolve(page(3));
    assert.equal(await ending, "interrupted");
    assert.equal(took.length, 1);
  });

  it("is done, also if it is interrupted during the last page", async () => {
    const { ending, interrupt } = start(page(3, false));
    interrupt();
    assert.equal(await ending, "done");
  });

  it("does not wait for anything when it is interrupted", async () => {
    const { clock, askedAt, ending, interrupt } = start(page(3), BUSY);
    await clock.rest();
    interrupt();
    assert.equal(await ending, "interrupted");
    assert.deepEqual(askedAt, [0, 0]);
  });
});

describe("what waits", () => {
  it("is said in a person's words", () => {
    assert.equal(aboutOf(0, "old"), "No delivery is waiting for old");
    assert.equal(aboutOf(1, "old"), "1 delivery is waiting for old");
    assert.equal(aboutOf(1_234_567, "old"), "1,234,567 deliveries are waiting for old");
    assert.equal(aboutOf(2, "old\u001b[2J"), "2 deliveries are waiting for old\\u001b[2J");
  });

  it("may be more by now than was counted", () => {
    assert.equal(progressOf(500, 1_234), "500 of 1,234");
    assert.equal(progressOf(1_236, 1_234), "1,236 of 1,236");
  });
});

describe("what was not finished", () => {
  const progress = { done: 500, waiting: 1_234 };

  it("says how far it came", () => {
    assert.deepEqual(complaintOf("interrupted", progress), {
      code: 1,
      message: "interrupted: 500 of 1,234 are done, the others are still waiting",
      error: "interrupted",
    });
    const why = { code: 1, message: "crm is being served" } as const;
    assert.equal(complaintOf(why, progress).message, "crm is being served; 500 of 1,234 are done");
    assert.equal(complaintOf(why, { ...progress, done: 0 }), why);
  });
});

describe("an answer", () => {
  it("is a yes only if it says so", () => {
    for (const yes of ["y", "Y", " yes ", "YES\r"]) assert.ok(isYes(yes), yes);
    for (const no of ["", "n", "no", "yep", "yesterday", "y n"]) assert.ok(!isYes(no), no);
  });
});
