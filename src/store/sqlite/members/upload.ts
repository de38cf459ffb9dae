import type { Member, Upload } from "../../../model/audience.ts";
import type { Database } from "../driver.ts";
import { toText } from "./rows.ts";

/** Of the list's pages in memory, in KB. What has changed of them is written when it is a quarter: little at a time. */
const CACHE_KB = 4_000;

export type Uploads = {
  open(): Upload;
  /** The next so many users of one after this one; their values as they are stored. */
  read(upload: Upload, after: string, limit: number): readonly Staged[];
  /** Takes a user out of all of them. */
  forget(user: string): void;
};

export type Staged = { user: string; value: string | null };

/**
 * Lists are staged in files of their own, which SQLite makes where temporary files go, and which are gone when they are closed,
 * or the process is: a list that breaks off leaves nothing behind, and its rows, in whatever order they come, cost the
 * outbox nothing.
 */
export function createUploads(open: () => Database): Uploads {
  const readers = new Map<Upload, Staging>();
  return {
    open() {
      const staging = createStaging(open());
      const upload: Upload = {
        add: staging.add,
        count: staging.count,
        close() {
          if (readers.delete(upload)) staging.close();
        },
      };
      readers.set(upload, staging);
      return upload;
    },
    read: (upload, after, limit) => readers.get(upload)?.read(after, limit) ?? [],
    forget(user) {
      for (const { forget } of readers.values()) forget(user);
    },
  };
}

type Staging = Upload & { read(after: string, limit: number): readonly Staged[]; forget(user: string): void };

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
  return {
    add: (members) => putAll(members),
    count: () => count.get() ?? 0,
    read: (after, limit) => read.all(after, limit),
    forget: (user) => void remove.run(user),
    close: () => void db.close(),
  };
}
