import type { Fault } from "../../model/fault.ts";
import type { Halt, Spell, StoredHalts } from "../../model/pause.ts";
import type { At } from "../../model/units.ts";
import type { Commits } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Meta } from "./meta.ts";

export type HaltsParts = {
  readonly commits: Commits;
  readonly meta: Pick<Meta, "touch">;
  readonly failed: (error: unknown) => Fault;
};

type Row = { destination: string; kind: "paused" | "unserved" | "over"; from: At; until: At | null };

/** The times in which nothing is delivered to a destination: in memory, and in the table that outlives it. */
export function createStoredHalts(db: Database, { commits, meta, failed }: HaltsParts): StoredHalts {
  const load = db.prepare<[], Row>(
    "SELECT destination, kind, from_at AS 'from', until_at AS until FROM spells ORDER BY destination, kind, from_at",
  );
  const remove = db.prepare<[string]>("DELETE FROM spells WHERE destination = ?");
  const insert = db.prepare<[string, string, At, At | null]>("INSERT INTO spells VALUES (?, ?, ?, ?)");
  const kept = new Map<string, Halt>();
  for (const row of load.all()) kept.set(row.destination, withRow(row, kept.get(row.destination)));

  return {
    all: () => [...kept.values()],
    async save(halts) {
      const run = (): null => write(halts);
      const refused = await commits.add<Fault | null>({ rows: rowsOf(halts), run, failed });
      if (refused === null) for (const halt of halts) keep(halt);
      return refused;
    },
  };

  function write(halts: readonly Halt[]): null {
    for (const halt of halts) {
      remove.run(halt.destination);
      for (const { destination, kind, from, until } of toRows(halt)) insert.run(destination, kind, from, until);
    }
    // After a crash the clock goes on from here: no spell begins in the future.
    meta.touch();
    return null;
  }

  function keep(halt: Halt): void {
    if (toRows(halt).length > 0) kept.set(halt.destination, halt);
    else kept.delete(halt.destination);
  }
}

function withRow({ destination, kind, from, until }: Row, known: Halt | undefined): Halt {
  const halt = known ?? { destination, pausedAt: null, unservedAt: null, spells: [] };
  if (kind === "paused") return { ...halt, pausedAt: from };
  if (kind === "unserved") return { ...halt, unservedAt: from };
  return { ...halt, spells: [...halt.spells, { from, until: until ?? from }] };
}

function toRows({ destination, pausedAt, unservedAt, spells }: Halt): readonly Row[] {
  const lasting = (kind: Row["kind"], from: At | null): Row[] =>
    from === null ? [] : [{ destination, kind, from, until: null }];
  const over = spells.map(({ from, until }: Spell): Row => ({ destination, kind: "over", from, until }));
  return [...lasting("paused", pausedAt), ...lasting("unserved", unservedAt), ...over];
}

function rowsOf(halts: readonly Halt[]): number {
  return halts.reduce((rows, halt) => rows + toRows(halt).length, 1);
}
