import type { Computation, ComputationClass, ComputationName } from "../../../model/audience.ts";
import type { At } from "../../../model/units.ts";
import type { Database } from "../driver.ts";
import type { SyncRows } from "./syncs.ts";

export type ComputationRows = {
  all(): readonly Computation[];
  find(source: string, key: string): Computation | null;
  read(number: number): Computation | null;
  /** Inside a transaction: the one with this key, which is made if it is not there. */
  put(name: ComputationName & { readonly id: string }, now: At): number;
  /** Inside a transaction: for people it is gone. Its row stays while calls about its users may wait. */
  remove(number: number, now: At): void;
  /** Whether there are any that are gone. */
  isUntidy(): boolean;
  /** Inside a transaction: drops the rows of those that are gone, once nothing refers to them. */
  forgetRemoved(): void;
};

type Row = {
  number: number;
  id: string;
  source: string;
  class: ComputationClass;
  name: string;
  key: string;
  size: number;
  createdAt: At;
};

const READ = "SELECT number, id, source, class, name, key, size, created_at AS createdAt FROM computations";

export function createComputationRows(db: Database, syncs: Pick<SyncRows, "of">): ComputationRows {
  const all = db.prepare<[], Row>(`${READ} WHERE removed_at IS NULL ORDER BY source, class, name`);
  const find = db.prepare<[string, string], Row>(`${READ} WHERE source = ? AND key = ? AND removed_at IS NULL`);
  const read = db.prepare<[number], Row>(`${READ} WHERE number = ?`);
  // One that is gone comes back as a new one, and knows which calls about its users may still wait.
  const put = db
    .prepare<[string, string, string, string, string, number], number>(
      `INSERT INTO computations (id, source, class, name, key, size, created_at) VALUES (?, ?, ?, ?, ?, 0, ?)
       ON CONFLICT (source, key) DO UPDATE SET
         id = iif(removed_at IS NULL, id, excluded.id), created_at = iif(removed_at IS NULL, created_at, excluded.created_at),
         class = excluded.class, name = excluded.name, removed_at = NULL
       RETURNING number`,
    )
    .pluck();
  const remove = db.prepare<[number, number]>("UPDATE computations SET removed_at = ? WHERE number = ?");
  const removed = db.prepare<[]>("SELECT number FROM computations WHERE removed_at IS NOT NULL LIMIT 1");
  const forgetRemoved = db.prepare<[]>(
    `DELETE FROM computations WHERE removed_at IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM members WHERE computation = number)`,
  );
  const whole = (row: Row): Computation => ({ ...row, syncs: syncs.of(row.number) });
  const orNull = (row: Row | undefined): Computation | null => (row ? whole(row) : null);

  return {
    all: () => all.all().map(whole),
    find: (source, key) => orNull(find.get(source, key)),
    read: (number) => orNull(read.get(number)),
    put: (name, now) => put.get(name.id, name.source, name.class, name.name, name.key, now) ?? 0,
    remove: (number, now) => void remove.run(now, number),
    isUntidy: () => removed.get() !== undefined,
    forgetRemoved: () => void forgetRemoved.run(),
  };
}
