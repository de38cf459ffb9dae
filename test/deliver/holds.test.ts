import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHolds } from "../../src/deliver/holds.ts";
import { type Fault, fault } from "../../src/model/fault.ts";
import type { Announcement, Hold } from "../../src/model/sharing.ts";
import { DAY, HOUR, MINUTE } from "../../src/model/units.ts";
import { createFalseClock } from "../flow/clock.ts";
import { makeDestination, URL_A, URL_B } from "../flow/make.ts";

function setUp(answer: Fault | null = null) {
  const clock = createFalseClock();
  const said: (readonly [number, readonly string[]])[] = [];
  const startedAt = clock.now();
  const stopping = new AbortController();
  const held: (readonly [string, number])[] = [];
  const holds = createHolds({
    clock,
    lanes: { hold: (_, url, until) => void held.push([url, until - startedAt]) },
    stopping: stopping.signal,
    async announce(what: Announcement) {
      assert.equal(what.kind, "holds");
      if (what.kind === "holds") said.push([clock.now() - startedAt, what.holds.map(describeHold)]);
      return answer;
    },
  });
  return {
    clock,
    said,
    held,
    holds,
    stop: () => stopping.abort(),
    /** A webhook wants silence for this many seconds from now on. */
    note: (url: string, seconds: number, destination = "crm") =>
      holds.note({ destination, url, until: clock.now() + seconds * 1_000 }),
  };

  function describeHold({ destination, url, until }: Hold): string {
    return `${destination} ${url} until ${until - startedAt}`;
  }
}

describe("what receivers have asked for", () => {
  it("is announced at once", () => {
    const { said, note } = setUp();
    note("a", 60);
    assert.deepEqual(said, [[0, ["crm a until 60000"]]]);
  });

  it("is announced once a second at most, the last wish of each webhook", async () => {
    const { clock, said, note } = setUp();
    for (let n = 0; n < 30; n += 1) {
      note("a", 60);
      note("b", 30);
      await clock.advance("50ms");
    }
    await clock.advance("10s");
    assert.deepEqual(said, [
      [0, ["crm a until 60000"]],
      [1_000, ["crm b until 30950", "crm a until 60950"]],
      [2_000, ["crm a until 61450", "crm b until 31450"]],
    ]);
  });

  it("is not announced if it is a moment", () => {
    const { said, note } = setUp();
    note("a", 1);
    assert.deepEqual(said, []);
  });

  it("is not announced any more once an operator wants the destination tried", async () => {
    const { clock, said, holds, note } = setUp();
    note("a", 60);
    note("a", 90);
    note("a", 90, "lake");
    holds.drop("crm");
    await clock.advance("10s");
    assert.deepEqual(said.slice(1), [[1_000, ["lake a until 90000"]]]);
  });

  it("is left to the receiver while the store is away", async () => {
    const { clock, said, note } = setUp(fault("store_failed", "the outbox cannot be written"));
    note("a", 60);
    await clock.advance("1h");
    assert.equal(said.length, 1);
    note("a", 60);
    assert.equal(said.length, 2);
  });

  it("holds the lanes of another daemon, for no longer than a delivery is tried", () => {
    const { clock, held, holds } = setUp();
    const until = clock.now() + MINUTE;
    holds.hear(
      [
        { destination: "crm", url: URL_A, until },
        { destination: "crm", url: URL_B, until: until + DAY },
        { destination: "theirs", url: URL_A, until },
      ],
      [makeDestination({ urls: [URL_A, URL_B] })],
    );
    assert.deepEqual(held, [
      [URL_A, MINUTE],
      [URL_B, 4 * HOUR],
    ]);
  });

  it("is not announced by a daemon that stops", () => {
    const { said, stop, note } = setUp();
    stop();
    note("a", 60);
    assert.deepEqual(said, []);
  });
});
