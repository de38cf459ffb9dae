import type { DeliveryState } from "../../model/delivery.ts";
import type { DeliveryCount } from "../../model/ports.ts";
import type { Sql, Tx } from "./database.ts";

/**
 * How many deliveries of each destination are in each state, by stream. A row that each commit changes would be what all of
 * them wait for. So the holder of a stream sums up in memory what its appends and settlements change, and writes it with its
 * beats. If it dies before, the next holder counts the rows.
 */
export type Counts = {
  /** Notes a change that has just been committed, in a stream that this daemon holds. */
  note(stream: number, destination: string, state: DeliveryState, by: number): void;
  /** Writes the changes of an operator in their transaction, in whichever streams. */
  add(tx: Tx, changes: readonly Change[]): Promise<void>;
  all(sql: Sql): Promise<readonly DeliveryCount[]>;
  /** Writes what was noted, except for these streams; `written`: the write was committed. */
  write(tx: Tx, except?: ReadonlySet<number>): Promise<void>;
  written(): void;
  /** Somebody else has taken this stream, and counts it. */
  forget(stream: number): void;
  /** What was noted of this stream and is not written. */
  unwritten(stream: number): readonly Change[];
  /** Counts the rows of a stream. Answers what has to be added to its counts, of which so much is not written. */
  compare(tx: Tx, stream: number, unwritten: readonly Change[]): Promise<readonly Change[]>;
  /** It is not known what was written in these streams: a commit was not answered, or the server has crashed. */
  doubt(streams: readonly number[]): void;
  isDoubted(stream: number): boolean;
  /** The streams whose rows have to be counted. From then on their sums are trusted again. */
  takeDoubts(): readonly number[];
};

export type Change = {
  readonly stream: number;
  readonly destination: string;
  readonly state: DeliveryState;
  readonly by: number;
};

export function createCounts(): Counts {
  let noted = new Map<string, Change>();
  /** What a write that is not known to be committed has. */
  let writing = new Map<string, Change>();
  const doubts = new Set<number>();

  return {
    note(stream, destination, state, by) {
      bump(noted, { stream, destination, state, by });
    },
    doubt(streams) {
      for (const stream of streams) doubts.add(stream);
    },
    isDoubted: (stream) => doubts.has(stream),
    takeDoubts() {
      const taken = [...doubts];
      doubts.clear();
      return taken;
    },
    async add(tx, changes) {
      if (changes.length === 0) return;
      // So that they are not counted twice by a daemon that takes a stream now.
      const streams = [...new Set(changes.map(({ stream }) => stream))].sort((one, other) => one - other);
      await tx.query("SELECT FROM streams WHERE id = ANY ($1::smallint[]) ORDER BY id FOR KEY SHARE", [streams]);
      const sums = new Map<string, Change>();
      for (const change of changes) bump(sums, change);
      await save(tx, [...sums.values()]);
    },
    all: (sql) => sumAll(sql, () => [...noted.values(), ...writing.values()]),
    async write(tx, except = new Set()) {
      // A transaction that failed has written nothing.
      for (const change of writing.values()) bump(noted, change);
      const all = [...noted];
      writing = new Map(all.filter(([, { stream }]) => !except.has(stream)));
      noted = new Map(all.filter(([, { stream }]) => except.has(stream)));
      await save(tx, [...writing.values()]);
    },
    written() {
      writing = new Map();
    },
    forget(stream) {
      for (const changes of [noted, writing]) {
        for (const [key, change] of changes) if (change.stream === stream) changes.delete(key);
      }
    },
    unwritten: (stream) => [...noted.values(), ...writing.values()].filter((change) => change.stream === stream),
    compare,
  };
}

async function sumAll(sql: Sql, unwritten: () => readonly Change[]): Promise<readonly DeliveryCount[]> {
  const rows = await sql.query<DeliveryCount>(ALL);
  const sums = new Map<string, Change>();
  for (const { destination, state, count } of rows) bump(sums, { stream: 0, destination, state, by: count });
  for (const change of unwritten()) bump(sums, { ...change, stream: 0 });
  return [...sums.values()].map(({ destination, state, by }) => ({ destination, state, count: by }));
}

const ALL = "SELECT destination, state, sum(count)::bigint AS count FROM counts GROUP BY destination, state";

async function compare(tx: Tx, stream: number, unwritten: readonly Change[]): Promise<readonly Change[]> {
  const sums = new Map<string, Change>();
  for (const change of await tx.query<Change>(KEPT, [stream])) bump(sums, change);
  const counted = await tx.query<Change>(COUNTED, [stream]);
  for (const change of [...counted, ...unwritten]) bump(sums, { ...change, by: -change.by });
  return [...sums.values()].filter(({ by }) => by !== 0);
}

const COUNTED = "SELECT stream, destination, state, count AS by FROM counts WHERE stream = $1";

const KEPT = `
  SELECT $1::smallint AS stream, destination, state, by
  FROM (
    SELECT destination, sum(bit_count(waiting)) AS waiting, sum(bit_count(delivered)) AS delivered
    FROM progress WHERE stream = $1 GROUP BY destination
  ) AS bits, LATERAL (VALUES ('waiting', waiting), ('delivered', delivered)) AS each (state, by)
  UNION ALL
  SELECT $1, destination, state, count(*) FROM tried WHERE stream = $1 GROUP BY destination, state`;

function bump(sums: Map<string, Change>, change: Change): void {
  const key = `${change.stream} ${change.state} ${change.destination}`;
  sums.set(key, { ...change, by: change.by + (sums.get(key)?.by ?? 0) });
}

/** In the order of the key, so that two daemons do not wait for each other. */
async function save(tx: Tx, changes: readonly Change[]): Promise<void> {
  const some = changes.filter(({ by }) => by !== 0);
  if (some.length === 0) return;
  const columns = [some.map((one) => one.stream), some.map((one) => one.destination), some.map((one) => one.state)];
  await tx.query(
    `INSERT INTO counts SELECT * FROM unnest($1::smallint[], $2::text[], $3::text[], $4::bigint[]) c (stream, destination, state, by)
     ORDER BY stream, destination COLLATE "C", state COLLATE "C"
     ON CONFLICT (stream, destination, state) DO UPDATE SET count = counts.count + excluded.count`,
    [...columns, some.map(({ by }) => by)],
  );
}
