import type { Suppressed } from "../../../model/deletion.ts";
import type { Fault } from "../../../model/fault.ts";
import type { At } from "../../../model/units.ts";
import type { Commits } from "../commits.ts";
import type { Database } from "../driver.ts";
import type { UserHash } from "./user-hash.ts";

export type SuppressedRows = Suppressed & {
  /** In memory at once: whoever asks from now on is refused. Answers how to take it back. */
  announce(those: Those): () => void;
  /** Inside a transaction. */
  write(those: Those & { readonly since: At }): void;
  /** Whether calls with this hash are refused, from whichever source. */
  isKnown(hash: string): boolean;
};

/** `sources` null: from all. */
type Those = { readonly hashes: readonly string[]; readonly sources: readonly string[] | null };

export type SuppressedParts = {
  readonly hash: UserHash;
  readonly commits: Commits;
  readonly failed: (error: unknown) => Fault;
};

type Row = { hash: string; source: string };

/** Stands for all of them: no source has an empty name. */
const ALL = "";

/** Users whose calls are refused: by their hash, in memory and in the table that outlives it. */
export function createSuppressed(db: Database, { hash, commits, failed }: SuppressedParts): SuppressedRows {
  const load = db.prepare<[], Row>("SELECT hash, source FROM suppressed ORDER BY hash, source");
  const insert = db.prepare<[string, string, At]>("INSERT INTO suppressed VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const remove = db.prepare<[string]>("DELETE FROM suppressed WHERE hash = ?");
  // By hash: the sources.
  const kept = new Map<string, Set<string>>();
  for (const row of load.iterate()) add(row);

  return {
    any: () => kept.size > 0,
    has(userId, source) {
      const sources = kept.get(hash.of(userId));
      return sources !== undefined && (sources.has(ALL) || sources.has(source));
    },
    isKnown: (one) => kept.has(one),
    announce(those) {
      const added = rowsOf(those).filter(add);
      return () => {
        for (const row of added) drop(row);
      };
    },
    write(those) {
      for (const row of rowsOf(those)) insert.run(row.hash, row.source, those.since);
    },
    async lift(userIds) {
      const hashes = [...new Set(userIds)].map(hash.of).filter((one) => kept.has(one));
      const run = (): number => {
        for (const one of hashes) remove.run(one);
        return hashes.length;
      };
      const lifted = await commits.add<number | Fault>({ rows: hashes.length, run, failed });
      if (typeof lifted === "number") for (const one of hashes) kept.delete(one);
      return lifted;
    },
  };

  /** Answers whether it is new. */
  function add({ hash: one, source }: Row): boolean {
    const sources = kept.get(one) ?? new Set();
    kept.set(one, sources);
    return sources.size < sources.add(source).size;
  }

  function drop({ hash: one, source }: Row): void {
    const sources = kept.get(one);
    sources?.delete(source);
    if (sources?.size === 0) kept.delete(one);
  }
}

function rowsOf({ hashes, sources }: Those): readonly Row[] {
  return hashes.flatMap((hash) => (sources ?? [ALL]).map((source) => ({ hash, source })));
}
