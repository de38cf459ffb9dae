import type {
  Computation,
  ComputationClass,
  ComputationName,
  MemberChange,
  Members,
  OpenSync,
  Value,
} from "../../model/audience.ts";
import type { Fault } from "../../model/fault.ts";
import type { At } from "../../model/units.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { CallHash } from "./superseded.ts";
import { createLeaving, type ForgetMembers } from "./superseded.ts";
import { createCompare, createSyncRows, type SyncRows } from "./syncs.ts";
import type { Uploads } from "./uploads.ts";

type MembersParts = {
  readonly commits: Commits;
  readonly memberRows: MemberRows;
  /** Whether anything of an event still waits. */
  readonly waits: (event: number) => boolean;
  readonly uploads: Uploads;
  readonly forgetMembers: ForgetMembers;
  readonly callHash: Pick<CallHash, "of">;
  /** When the store cannot be written. */
  readonly failed: (error: unknown) => Fault;
};

/** Audiences and traits: who has which value, and the syncs that change it. */
export function createMembers(db: Database, parts: MembersParts): Members {
  const { uploads, forgetMembers } = parts;
  const syncs = createSyncRows(db);
  const computations = createComputationRows(db, syncs);
  const leaving = createLeaving(db, parts.waits);
  const write = createWrite(parts);
  const compare = createCompare(db, uploads);
  return {
    all: async () => computations.all(),
    find: async ({ source, key }) => computations.find(source, key),
    upload: async () => uploads.open(),
    compare: async (comparison) => compare(comparison),
    values: createValues(db),
    ...createSyncing({ syncs, computations, write, callHash: parts.callHash }),
    drop({ sync, computation }, limit) {
      return write(limit, (tx) => {
        const dropped = leaving.drop(tx, computation.number, limit);
        const of = { sync: sync.number, computation: computation.number };
        parts.memberRows.count(tx, of, { done: dropped, grown: -dropped });
        return dropped;
      });
    },
    async discard(limit) {
      return syncs.isUntidy() && write(limit, (tx) => syncs.discard(tx, limit));
    },
    async sweep(limit) {
      if (!leaving.isUntidy() && !computations.isUntidy()) return false;
      return write(limit, (tx) => {
        const more = leaving.sweep(tx, limit);
        if (!more) computations.forgetRemoved(tx);
        return more;
      });
    },
    forget: (user, sources) => write(1, (tx) => forgetMembers(tx, [user], sources)),
  };
}

type Write = <T>(rows: number, run: (tx: Tx) => T) => Promise<T | Fault>;

function createWrite({ commits, failed }: MembersParts): Write {
  return <T>(rows: number, run: (tx: Tx) => T) => commits.add<T | Fault>({ rows, run, failed });
}

function createValues(db: Database): Members["values"] {
  const find = db
    .prepare<[number, string], string | null>("SELECT value FROM members WHERE computation = ? AND user = ?")
    .pluck();
  return async (computation, users) =>
    new Map(
      users.flatMap((user) => {
        const value = toValue(find.get(computation, user) ?? null);
        return value === null ? [] : [[user, value] as const];
      }),
    );
}

type Syncing = {
  readonly syncs: SyncRows;
  readonly computations: ComputationRows;
  readonly write: Write;
  readonly callHash: Pick<CallHash, "of">;
};

function createSyncing({
  syncs,
  computations,
  write,
  callHash,
}: Syncing): Pick<Members, "prepare" | "note" | "abandon" | "begin" | "open" | "pending" | "finish"> {
  function read(sync: number, computation: number): OpenSync {
    const found = { sync: syncs.read(sync), computation: computations.read(computation) };
    if (!found.sync || !found.computation) throw new Error(`sync ${sync} of computation ${computation} is not there`);
    return { sync: found.sync, computation: found.computation };
  }
  return {
    prepare: (sync) => write(1, (tx) => syncs.prepare(tx, sync)),
    note(sync, changes) {
      return write(changes.length, (tx) => {
        syncs.note(tx, sync, changes);
        return null;
      });
    },
    abandon(sync) {
      return write(1, (tx) => {
        syncs.abandon(tx, sync);
        return null;
      });
    },
    begin(sync, of) {
      return write(1, (tx) => {
        const computation = computations.put(tx, of);
        syncs.begin(tx, sync, { ...of, computation });
        return read(sync, computation);
      });
    },
    open: async () => syncs.running().map(({ sync, computation }) => read(sync.number, computation)),
    pending: async (sync, limit) =>
      syncs.pending(sync, limit).map((member) => ({ ...member, hash: callHash.of(member.user) })),
    finish({ sync, computation }) {
      return write(1, (tx) => {
        syncs.finish(tx, sync.number, computation.number);
        const done = read(sync.number, computation.number);
        if (sync.kind === "list" || sync.kind === "members") return done;
        computations.remove(tx, computation.number);
        syncs.removeAll(tx, computation.number);
        return done;
      });
    },
  };
}

/** What the events of a sync do in their own transaction. */
export type MemberRows = {
  /** Reads what is known of these users. They are different ones, and all of one sync. */
  open(tx: Tx, changes: readonly MemberChange[]): MemberBatch;
  /** Writes that so many changes of a sync are done, and by how many users its computation has grown. */
  count(
    tx: Tx,
    of: Pick<MemberChange, "sync" | "computation">,
    what: { readonly done: number; readonly grown: number },
  ): void;
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

  const count: MemberRows["count"] = (_tx, { sync, computation }, { done, grown }) => {
    addDone.run(done, sync);
    if (grown !== 0) addSize.run(grown, computation);
  };

  return {
    count,
    open(tx, changes) {
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
          if (first && done > 0) count(tx, first, { done, grown });
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

type ComputationRows = {
  all(): readonly Computation[];
  find(source: string, key: string): Computation | null;
  read(number: number): Computation | null;
  /** The one with this key, which is made if it is not there. */
  put(tx: Tx, name: ComputationName & { readonly id: string }): number;
  /** For people it is gone. Its row stays while calls about its users may wait. */
  remove(tx: Tx, number: number): void;
  /** Whether there are any that are gone. */
  isUntidy(): boolean;
  /** Drops the rows of those that are gone, once nothing refers to them. */
  forgetRemoved(tx: Tx): void;
};

type ComputationRow = {
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

function createComputationRows(db: Database, syncs: Pick<SyncRows, "of">): ComputationRows {
  const all = db.prepare<[], ComputationRow>(`${READ} WHERE removed_at IS NULL ORDER BY source, class, name`);
  const find = db.prepare<[string, string], ComputationRow>(
    `${READ} WHERE source = ? AND key = ? AND removed_at IS NULL`,
  );
  const read = db.prepare<[number], ComputationRow>(`${READ} WHERE number = ?`);
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
  const whole = (row: ComputationRow): Computation => ({ ...row, syncs: syncs.of(row.number) });
  const orNull = (row: ComputationRow | undefined): Computation | null => (row ? whole(row) : null);

  return {
    all: () => all.all().map(whole),
    find: (source, key) => orNull(find.get(source, key)),
    read: (number) => orNull(read.get(number)),
    put: ({ now }, name) => put.get(name.id, name.source, name.class, name.name, name.key, now) ?? 0,
    remove: ({ now }, number) => void remove.run(now, number),
    isUntidy: () => removed.get() !== undefined,
    forgetRemoved: () => void forgetRemoved.run(),
  };
}
