import type { IsForgotten } from "../../model/deletion.ts";
import type { At } from "../../model/units.ts";
import { isErased, previousIn } from "../erasing.ts";
import { createUserHash, type UserHash } from "../user-hash.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Tables } from "./tables.ts";

type Suppression = Keeper & {
  /** Whether calls about any of these users from this source are refused. An undefined id is nobody. */
  refuses(userIds: readonly (string | undefined)[], source: string): boolean;
  /** Whether calls about the user with this hash are refused, from whichever source. */
  isKnown(hash: string): boolean;
  /** Refuses calls about these users from now on, in the same transaction too. */
  add(tx: Tx, those: Suppressed): void;
  /** Accepts calls about these users again. Answers how many of them were suppressed. */
  lift(tx: Tx, userIds: readonly string[]): number;
};

/** `sources` null: from all. */
type Suppressed = {
  readonly userIds: readonly string[];
  readonly sources: readonly string[] | null;
  readonly since: At;
};

type Row = { hash: string; source: string };

/** Stands for all sources: none has an empty name. */
const ALL = "";

/** Users whose calls are refused, by their hash, in memory and in their table. */
export function createSuppression(db: Database, hash: UserHash): Suppression {
  const load = db.prepare<[], Row>("SELECT hash, source FROM suppressed ORDER BY hash, source");
  const insert = db.prepare<[string, string, At]>("INSERT INTO suppressed VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const remove = db.prepare<[string]>("DELETE FROM suppressed WHERE hash = ?");
  // Sources by hash. Changes of a transaction count at once, and are undone if it fails.
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
    add(_tx, { userIds, sources, since }) {
      for (const userId of userIds) {
        for (const source of sources ?? [ALL]) {
          const row = { hash: hash.of(userId), source };
          insert.run(row.hash, row.source, since);
          if (keep(row)) undo.push(() => forget(row));
        }
      }
    },
    lift(_tx, userIds) {
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

/** Tells which deliveries must not be sent again: their user was deleted after the event came, or the event was erased. */
export function createIsForgotten(db: Database, { userHash, kept }: Pick<Tables, "userHash" | "kept">): IsForgotten {
  const any = db.prepare<[]>("SELECT 1 FROM deletions LIMIT 1");
  const find = db.prepare<[string, number], { scope: string | null }>(
    `SELECT d.scope FROM deletion_users u CROSS JOIN deletions d ON d.id = u.deletion
     WHERE u.hash = ? AND d.up_to >= ?`,
  );

  return function isForgotten({ id, destination, source, type, messageId, userId }) {
    if (isErased(messageId)) return true;
    // A notice tells the receivers of the deletion, so it may be sent again.
    if (type === "delete" || any.get() === undefined) return false;
    const people = [userId, type === "alias" ? previousIn(kept.body({ id, destination })) : null];
    return people.some((one) => one !== null && wasDeleted(one, { id, source }));
  };

  function wasDeleted(userId: string, { id, source }: { readonly id: number; readonly source: string }): boolean {
    return find.all(userHash.of(userId), id).some(({ scope }) => scope === null || JSON.parse(scope).includes(source));
  }
}

export function readUserHash(db: Database): UserHash {
  return createUserHash(db.prepare<[], string>("SELECT value FROM salt").pluck().get() ?? "");
}

/** Prefix of ids that are stored as JSON. */
const AS_JSON = "\u0000json:";

/** A userId in a form that SQLite stores without loss. */
export function toStoredId(userId: string): string {
  return userId.isWellFormed() && !userId.startsWith(AS_JSON) ? userId : AS_JSON + JSON.stringify(userId);
}

export function fromStoredId(stored: string): string {
  return stored.startsWith(AS_JSON) ? JSON.parse(stored.slice(AS_JSON.length)) : stored;
}
