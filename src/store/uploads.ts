import type { Upload, Value } from "../model/audience.ts";
import type { Value as StoredValue } from "./compare.ts";
import { type Database, openTemporary } from "./sqlite/driver.ts";

/** KB of a list's pages in memory. SQLite writes changed pages early, a few at a time. */
const CACHE_KB = 4_000;

export type Uploads = {
  open(): Promise<Upload>;
  /** The next users of a list after this one, in their stored form. */
  read(upload: Upload, after: string, limit: number): readonly StoredValue[];
  /** Leaves users out of all lists that are open now, by the hash of their stored form. */
  forget(hashes: readonly string[]): void;
};

type UploadsParts = {
  /** The form in which the engine stores a user, so that both sides of a comparison are in one order. */
  readonly toStored: (user: string) => string;
  readonly hashOf: (stored: string) => string;
};

/**
 * Each list is staged in a temporary SQLite file of its own, which SQLite removes when it is closed or the process ends. So a
 * broken upload leaves nothing behind, and its rows, in whatever order they come, do not touch the outbox, whichever its
 * engine. The file orders users by code points, as the outbox does.
 */
export function createUploads({ toStored, hashOf }: UploadsParts): Uploads {
  const stagings = new Map<Upload, Staging>();
  return {
    async open() {
      const staging = createStaging(await openTemporary());
      const upload: Upload = {
        add: async (members) => staging.add(members.map(({ user, value }) => [toStored(user), toText(value)])),
        count: async () => staging.count(),
        async close() {
          if (stagings.delete(upload)) staging.close();
        },
      };
      stagings.set(upload, staging);
      return upload;
    },
    read(upload, after, limit) {
      const staging = stagings.get(upload);
      if (!staging) return [];
      const rows = staging.read(after, limit);
      if (staging.left.size === 0) return rows;
      // Without a value they count as absent.
      return rows.map((row) => (staging.left.has(hashOf(row.user)) ? { ...row, value: null } : row));
    },
    forget(hashes) {
      for (const { left } of stagings.values()) for (const hash of hashes) left.add(hash);
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
  const read = db.prepare<[string, number], StoredValue>("SELECT * FROM staged WHERE user > ? ORDER BY user LIMIT ?");
  const count = db.prepare<[], number>("SELECT count(*) FROM staged").pluck();
  const add = db.transaction((rows: readonly [string, string | null][]) => {
    for (const row of rows) upsert.run(...row);
  });
  return {
    /** Hashes of users who were deleted while the list was open. */
    left: new Set<string>(),
    add,
    count: () => count.get() ?? 0,
    read: (after: string, limit: number) => read.all(after, limit),
    close: () => void db.close(),
  };
}

/** A value as it is stored. */
export function toText(value: Value): string | null {
  return value === null ? null : JSON.stringify(value);
}

export function toValue(text: string | null): Value {
  return text === null ? null : JSON.parse(text);
}
