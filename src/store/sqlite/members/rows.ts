import type { MemberChange, Value } from "../../../model/audience.ts";
import type { Database } from "../driver.ts";

/** What the events of a sync do in their own transaction. */
export type MemberRows = {
  /** Reads what is known of these users. They are different ones, and all of one sync. */
  open(changes: readonly MemberChange[]): MemberBatch;
  /** Writes that so many changes of a sync are done, and by how many users its computation has grown. */
  count(of: Pick<MemberChange, "sync" | "computation">, what: { readonly done: number; readonly grown: number }): void;
};

export type MemberBatch = {
  /** The numbers of the last events about them. */
  readonly older: readonly number[];
  /** Whether the change is still to be made; it is made from now on. */
  take(change: MemberChange): boolean;
  /** Writes the value, and which event told of it; null if it went nowhere. */
  write(change: MemberChange, event: number | null): void;
  /** After the last one. */
  close(): void;
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

  const count: MemberRows["count"] = ({ sync, computation }, { done, grown }) => {
    addDone.run(done, sync);
    if (grown !== 0) addSize.run(grown, computation);
  };

  return {
    count,
    open(changes) {
      const known = new Map<string, Row>();
      for (const { computation, user } of changes) {
        const row = find.get(computation, user);
        if (row) known.set(user, row);
      }
      let [done, grown] = [0, 0];
      return {
        older: [...known.values()].flatMap(({ event }) => event ?? []),
        take: ({ sync, user }) => takeChange.run(sync, user).changes > 0,
        write({ computation, user, value }, event) {
          if (value === null && event === null) remove.run(computation, user);
          else upsert.run(computation, user, toText(value), event);
          done += 1;
          grown += Number(value !== null) - Number(typeof known.get(user)?.value === "string");
        },
        close() {
          const [first] = changes;
          if (first && done > 0) count(first, { done, grown });
        },
      };
    },
  };
}

/** A value as it is stored. */
export function toText(value: Value): string | null {
  return value === null ? null : JSON.stringify(value);
}

export function toValue(text: string | null): Value {
  return text === null ? null : JSON.parse(text);
}
