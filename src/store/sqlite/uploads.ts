import type { Member, Upload } from "../../model/audience.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { toText } from "./members.ts";

/** Of the list's pages in memory, in KB. What has changed of them is written when it is a quarter: little at a time. */
const CACHE_KB = 4_000;

export type Uploads = Keeper & {
  open(): Upload;
  /** The next so many users of one after this one; their values as they are stored. */
  read(upload: Upload, after: string, limit: number): readonly Staged[];
  /** Takes a user out of all of them once it is committed. */
  forget(tx: Tx, user: string): void;
};

export type Staged = { user: string; value: string | null };

/**
 * Lists are staged in files of their own, which SQLite makes where temporary files go, and which are gone when they are closed,
 * or the process is: a list that breaks off leaves nothing behind, and its rows, in whatever order they come, cost the
 * outbox nothing.
 */
export function createUploads(open: () => Database): Uploads {
  const readers = new Map<Upload, Staging>();
  let leaving: string[] = [];
  return {
    open() {
      const staging = createStaging(open());
      const upload: Upload = {
        add: async (members) => staging.add(members),
        count: async () => staging.count(),
        async close() {
          if (readers.delete(upload)) staging.close();
        },
      };
      readers.set(upload, staging);
      return upload;
    },
    read: (upload, after, limit) => readers.get(upload)?.read(after, limit) ?? [],
    forget: (_tx, user) => void leaving.push(user),
    write() {},
    committed() {
      for (const staging of readers.values()) staging.forget(leaving);
      leaving = [];
    },
    rolledBack() {
      leaving = [];
    },
  };
}

type Staging = {
  add(members: readonly Member[]): void;
  count(): number;
  close(): void;
  read(after: string, limit: number): readonly Staged[];
  /** Never throws: they are taken out before the file is used next. */
  forget(users: readonly string[]): void;
};

function createStaging(db: Database): Staging {
  db.pragma("journal_mode = OFF");
  db.pragma("synchronous = OFF");
  db.pragma(`cache_size = -${CACHE_KB}`);
  db.exec("CREATE TABLE staged (user TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID");
  const put = db.prepare<[string, string | null]>(
    "INSERT INTO staged VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const read = db.prepare<[string, number], Staged>("SELECT * FROM staged WHERE user > ? ORDER BY user LIMIT ?");
  const count = db.prepare<[], number>("SELECT count(*) FROM staged").pluck();
  const remove = db.prepare<[string]>("DELETE FROM staged WHERE user = ?");
  const putAll = db.transaction((members: readonly Member[]) => {
    for (const { user, value } of members) put.run(user, toText(value));
  });
  const leaving = new Set<string>();
  return {
    add(members) {
      takeOut();
      putAll(members);
    },
    count() {
      takeOut();
      return count.get() ?? 0;
    },
    read(after, limit) {
      takeOut();
      return read.all(after, limit);
    },
    forget(users) {
      for (const user of users) leaving.add(user);
    },
    close: () => void db.close(),
  };

  function takeOut(): void {
    for (const user of leaving) {
      remove.run(user);
      leaving.delete(user);
    }
  }
}
