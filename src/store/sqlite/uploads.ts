import type { Member, Upload } from "../../model/audience.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { toText } from "./members.ts";

/** KB of a list's pages in memory. SQLite writes changed pages early, a few at a time. */
const CACHE_KB = 4_000;

export type Uploads = Keeper & {
  open(): Upload;
  /** The next users of a list after this one; their values as they are stored. */
  read(upload: Upload, after: string, limit: number): readonly Staged[];
  /** Removes a user from all lists, once the transaction is committed. */
  forget(tx: Tx, user: string): void;
};

type Staged = { user: string; value: string | null };

/**
 * Each list is staged in a temporary file of its own, which SQLite removes when it is closed or the process ends. So a broken
 * upload leaves nothing behind, and its rows, in whatever order they come, do not touch the outbox.
 */
export function createUploads(openTemporary: () => Database): Uploads {
  const stagings = new Map<Upload, Staging>();
  let leaving: string[] = [];
  return {
    open() {
      const staging = createStaging(openTemporary());
      const upload: Upload = {
        add: async (members) => staging.add(members),
        count: async () => staging.count(),
        async close() {
          if (stagings.delete(upload)) staging.close();
        },
      };
      stagings.set(upload, staging);
      return upload;
    },
    read: (upload, after, limit) => stagings.get(upload)?.read(after, limit) ?? [],
    forget: (_tx, user) => void leaving.push(user),
    write() {},
    committed() {
      for (const staging of stagings.values()) for (const user of leaving) staging.leaving.add(user);
      leaving = [];
    },
    rolledBack() {
      leaving = [];
    },
  };
}

type Staging = ReturnType<typeof createStaging>;

function createStaging(db: Database) {
  db.pragma("journal_mode = OFF");
  db.pragma("synchronous = OFF");
  db.pragma(`cache_size = -${CACHE_KB}`);
  db.exec("CREATE TABLE staged (user TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID");
  const upsert = db.prepare<[string, string | null]>(
    "INSERT INTO staged VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const read = db.prepare<[string, number], Staged>("SELECT * FROM staged WHERE user > ? ORDER BY user LIMIT ?");
  const count = db.prepare<[], number>("SELECT count(*) FROM staged").pluck();
  const remove = db.prepare<[string]>("DELETE FROM staged WHERE user = ?");
  const upsertAll = db.transaction((members: readonly Member[]) => {
    for (const { user, value } of members) upsert.run(user, toText(value));
  });
  // Removed before the next use: a commit of the outbox must not fail because of this file.
  const leaving = new Set<string>();

  return {
    leaving,
    add(members: readonly Member[]): void {
      removeLeaving();
      upsertAll(members);
    },
    count(): number {
      removeLeaving();
      return count.get() ?? 0;
    },
    read(after: string, limit: number): readonly Staged[] {
      removeLeaving();
      return read.all(after, limit);
    },
    close: () => void db.close(),
  };

  function removeLeaving(): void {
    for (const user of leaving) {
      remove.run(user);
      leaving.delete(user);
    }
  }
}
