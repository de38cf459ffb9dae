import type { MemberChange, Value } from "../../../model/audience.ts";
import type { Database } from "../driver.ts";

/** What an event of a sync does in its own transaction. */
export type MemberRows = {
  /** The numbers of the last events about these users, in the computations concerned. */
  lastEvents(changes: readonly MemberChange[]): readonly number[];
  /** Whether the change is still to be made; it is made from now on. */
  take(change: MemberChange): boolean;
  /** Writes the value, and which event told of it; null if it went nowhere. */
  write(change: MemberChange, event: number | null): void;
  /** Writes that so many changes of a sync are done, and by how many users its computation has grown. */
  count(sync: number, done: number): void;
  /** Writes by how many users a computation has grown. */
  grow(computation: number, by: number): void;
};

type Row = { value: string | null; event: number | null };

export function createMemberRows(db: Database): MemberRows {
  const find = db.prepare<[number, string], Row>("SELECT value, event FROM members WHERE computation = ? AND user = ?");
  const remove = db.prepare<[number, string]>("DELETE FROM members WHERE computation = ? AND user = ?");
  const upsert = db.prepare<[number, string, string | null, number | null]>(
    `INSERT INTO members VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, event = excluded.event`,
  );
  const takeChange = db.prepare<[number, string]>("DELETE FROM changes WHERE sync = ? AND user = ?");
  const addDone = db.prepare<[number, number]>("UPDATE syncs SET done = done + ? WHERE number = ?");
  const addSize = db.prepare<[number, number]>("UPDATE computations SET size = size + ? WHERE number = ?");

  return {
    lastEvents: (changes) => changes.flatMap(({ computation, user }) => find.get(computation, user)?.event ?? []),
    take: ({ sync, user }) => takeChange.run(sync, user).changes > 0,
    write({ sync, computation, user, value }, event) {
      const had = hasValue(find.get(computation, user));
      if (value === null && event === null) remove.run(computation, user);
      else upsert.run(computation, user, toText(value), event);
      addDone.run(1, sync);
      const grown = Number(value !== null) - Number(had);
      if (grown !== 0) addSize.run(grown, computation);
    },
    count: (sync, done) => void addDone.run(done, sync),
    grow: (computation, by) => void addSize.run(by, computation),
  };
}

function hasValue(row: Row | undefined): boolean {
  return row !== undefined && row.value !== null;
}

/** A value as it is stored. */
export function toText(value: Value): string | null {
  return value === null ? null : JSON.stringify(value);
}

export function toValue(text: string | null): Value {
  return text === null ? null : JSON.parse(text);
}
