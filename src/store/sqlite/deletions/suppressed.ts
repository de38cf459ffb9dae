import type { At } from "../../../model/units.ts";
import type { Keeper } from "../commits.ts";
import type { Database } from "../driver.ts";
import type { UserHash } from "./user-hash.ts";

export type Suppression = Keeper & {
  /** Whether calls about any of these users from this source are refused. An undefined id is nobody. */
  refuses(userIds: readonly (string | undefined)[], source: string): boolean;
  /** Whether calls about the user with this hash are refused, from whichever source. */
  isKnown(hash: string): boolean;
  /** Inside a transaction: calls about these users are refused from now on, those of the same transaction too. */
  add(those: Suppressed): void;
  /** Inside a transaction: takes the calls of these users again. Answers how many of them were suppressed. */
  lift(userIds: readonly string[]): number;
};

/** `sources` null: from all. */
export type Suppressed = {
  readonly userIds: readonly string[];
  readonly sources: readonly string[] | null;
  readonly since: At;
};

type Row = { hash: string; source: string };

/** Stands for all of them: no source has an empty name. */
const ALL = "";

/** Users whose calls are refused: by their hash, in memory and in the table that outlives it. */
export function createSuppression(db: Database, hash: UserHash): Suppression {
  const load = db.prepare<[], Row>("SELECT hash, source FROM suppressed ORDER BY hash, source");
  const insert = db.prepare<[string, string, At]>("INSERT INTO suppressed VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const remove = db.prepare<[string]>("DELETE FROM suppressed WHERE hash = ?");
  // By hash: the sources. What the running transaction changes counts at once, and is undone if it fails.
  const kept = new Map<string, Set<string>>();
  let undo: (() => void)[] = [];
  for (const row of load.iterate()) keep(row);

  return {
    refuses(userIds, source) {
      if (kept.size === 0) return false;
      return userIds.some((userId) => {
        const sources = userId === undefined ? undefined : kept.get(hash.of(userId));
        return sources !== undefined && (sources.has(ALL) || sources.has(source));
      });
    },
    isKnown: (one) => kept.has(one),
    add({ userIds, sources, since }) {
      for (const userId of userIds) {
        for (const source of sources ?? [ALL]) {
          const row = { hash: hash.of(userId), source };
          insert.run(row.hash, row.source, since);
          if (keep(row)) undo.push(() => forget(row));
        }
      }
    },
    lift(userIds) {
      const hashes = [...new Set(userIds)].map(hash.of).filter((one) => kept.has(one));
      for (const one of hashes) {
        const sources = kept.get(one);
        remove.run(one);
        kept.delete(one);
        if (sources) undo.push(() => kept.set(one, sources));
      }
      return hashes.length;
    },
    write() {},
    committed() {
      undo = [];
    },
    rolledBack() {
      for (const step of undo.reverse()) step();
      undo = [];
    },
  };

  function forget({ hash: one, source }: Row): void {
    const sources = kept.get(one);
    sources?.delete(source);
    if (sources?.size === 0) kept.delete(one);
  }

  /** Whether it is new. */
  function keep({ hash: one, source }: Row): boolean {
    const sources = kept.get(one) ?? new Set();
    kept.set(one, sources);
    return sources.size < sources.add(source).size;
  }
}
