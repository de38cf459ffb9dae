import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Cost, Setup } from "../../bench/postgres/daemons.ts";
import { type Linked, writeLinks } from "../../bench/postgres/link.ts";
import { drawMinutes, type Minute, writeVerdict } from "../../bench/postgres/long.ts";
import { PARTS, readPostgresOptions } from "../../bench/postgres/options.ts";
import { writeCosts } from "../../bench/postgres/postgres.ts";

describe("the tables of daemons on PostgreSQL", () => {
  it("are one for each phase and kind of messageIds, with medians beside one daemon on SQLite", () => {
    const [sqlite, postgres] = [setup("sqlite"), setup("postgres")];
    const text = writeCosts([
      { setup: sqlite, costs: [cost(1_000, 0), cost(4_000, 0), cost(2_000, 0)] },
      { setup: postgres, costs: [cost(1_000, 0.5), cost(1_500, 0.5)] },
      { setup: { ...sqlite, ids: "random" }, costs: [cost(500, 0)] },
    ]);
    const [first = "", second = ""] = text.split("\n\n");
    const [head = "", ...rows] = first.split("\n");
    assert.match(head, /^single calls delivered, no messageId +ratio +events\/s/);
    assert.deepEqual(rows.map(cellsOf), [
      ["SQLite, 1 daemon", "1.00", "2,000 /s", "10.0 µs", "–", "–", "–"],
      ["PostgreSQL, 1 daemon", "0.63", "1,250 /s", "10.0 µs", "5.0 µs", "100 B", "0.5000"],
    ]);
    assert.match(second, /^single calls delivered, random messageIds/);
  });
});

describe("what a link costs", () => {
  it("is shown by medians of the rounds", () => {
    const rounds = [1, 3, 2].flatMap((p50) => [null, 0, 500].map((link) => linked({ link, p50 } as Partial<Linked>)));
    const [, ...rows] = writeLinks(rounds).split("\n");
    assert.deepEqual(rows.map(cellsOf), [
      ["SQLite", "–", "1,000 /s", "2.00 ms", "9.00 ms"],
      ["PostgreSQL", "0.70 ms", "1,000 /s", "2.00 ms", "9.00 ms"],
      ["PostgreSQL", "0.70 ms", "1,000 /s", "2.00 ms", "9.00 ms"],
    ]);
  });
});

describe("the verdict on a transaction that stays open", () => {
  it("compares the last third of the minutes with the first", () => {
    const of = (serverMicros: number, statementMicros: number) => minute({ serverMicros, statementMicros });
    const lines = writeVerdict([of(4, 4), of(4, 4), of(9, 9), of(1, 9), of(5, 6), of(5, 6)]).split("\n");
    assert.equal(lines[0], "beside a transaction that stays open for 6 minutes");
    assert.equal(lines[3], "processor time of the server: 1.25 of what it was (wanted ≤ 1.25): flat");
    assert.equal(lines[4], "time of statements: 1.50 of what it was (wanted ≤ 1.25): it grows");
  });

  it("is drawn with the three tables that have the most dead rows at the end", () => {
    const tables = ["progress", "streams", "counts", "daemons"].map((name, nth) => ({ name, dead: 9 - nth, bytes: 1 }));
    const drawing = drawMinutes([minute({ tables: [] }), minute({ tables })], 60);
    assert.deepEqual(drawing.match(/progress|streams|counts|daemons/g), ["progress", "streams", "counts"]);
    assert.match(drawing, /minutes since it began/);
  });
});

describe("the command line of the bench on PostgreSQL", () => {
  it("measures everything if nothing is named", () => {
    assert.deepEqual(optionsOf("--quick").parts, PARTS);
    assert.deepEqual(optionsOf("link", "long").parts, ["link", "long"]);
    assert.deepEqual(optionsOf("--daemons", "1,3").daemons, [1, 3]);
  });

  it("makes all smaller with --quick, but what is named", () => {
    const { rounds, minutes, minuteSeconds, calls } = optionsOf("--quick", "--minutes", "2");
    assert.deepEqual([rounds, minutes, minuteSeconds, calls], [1, 2, 5, 10_000]);
    assert.deepEqual([optionsOf().minutes, optionsOf().minuteSeconds], [30, 60]);
  });

  it("says what is wrong with it", () => {
    assert.throws(
      () => optionsOf("append", "short"),
      /postgres has no part short; there are daemons, append, link, long/,
    );
    assert.throws(() => optionsOf("--daemons", "1,x"), /--daemons must be a whole number above 0 \(got "x"\)/);
  });
});

function optionsOf(...argv: readonly string[]) {
  const options = readPostgresOptions(argv);
  return options === "help" ? assert.fail() : options;
}

function setup(store: Setup["store"]): Setup {
  return { store, daemons: 1, work: "singles", ids: "none" };
}

function cost(eventsPerSecond: number, transactions: number): Cost {
  const taken = { daemonMicros: 10, serverMicros: 5, walBytes: 100, transactions };
  return { phase: "single calls delivered", eventsPerSecond, ...taken };
}

function linked(some: Partial<Linked>): Linked {
  return { link: 0, roundTrip: 0.7, costs: [cost(1_000, 0)], p50: 1, p99: 9, ...some };
}

function minute(some: Partial<Minute>): Minute {
  return { ...cost(200, 1), p50: 1, p99: 2, statementMicros: 3, tables: [], ...some };
}

function cellsOf(row: string): readonly string[] {
  return row.trim().split(/ {2,}/);
}
