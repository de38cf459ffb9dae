import type { DeliveryState } from "../../model/delivery.ts";
import type { DeliveryCount } from "../../model/ports.ts";
import type { Sql, Tx } from "./database.ts";

/**
 * How many deliveries of each destination are in each state, by stream. A row that each commit changes would be what all of
 * them wait for. So the holder of a stream sums up in memory what its appends and settlements change, and writes it with its
 * beat. If it dies before, the next holder counts anew.
 */
export type Counts = {
  /** Notes a change that has just been committed, in a stream that this daemon holds. */
  note(stream: number, destination: string, state: DeliveryState, by: number): void;
  /** Writes the changes of an operator in their transaction, in whichever streams. */
  add(tx: Tx, changes: readonly Change[]): Promise<void>;
  all(sql: Sql): Promise<readonly DeliveryCount[]>;
  /** Writes what was noted; `written`: that was committed. */
  write(tx: Tx): Promise<void>;
  written(): void;
  /** Counts the deliveries of a stream, whose row must be locked. */
  recount(tx: Tx, stream: number): Promise<void>;
  /** A connection was lost in the middle of a write: it is not known what it has changed in these streams. */
  doubt(streams: readonly number[]): void;
  /** The streams to be counted anew; from then on they are believed. */
  takeDoubts(): readonly number[];
};

export type Change = {
  readonly stream: number;
  readonly destination: string;
  readonly state: DeliveryState;
  readonly by: number;
};

export function createCounts(): Counts {
  let noted = new Map<string, Sum>();
  /** What a write that is not known to be committed has. */
  let writing = new Map<string, Sum>();
  const doubts = new Set<number>();

  return {
    doubt(streams) {
      for (const stream of streams) doubts.add(stream);
    },
    takeDoubts() {
      const taken = [...doubts];
      doubts.clear();
      return taken;
    },
    note: (stream, destination, state, by) => bump(noted, { stream, destination, state, by }),
    async add(tx, changes) {
      if (changes.length === 0) return;
      // So that they are not counted twice by a daemon that takes a stream now.
      const streams = [...new Set(changes.map(({ stream }) => stream))].sort((one, other) => one - other);
      await tx.query("SELECT FROM streams WHERE id = ANY ($1::smallint[]) ORDER BY id FOR KEY SHARE", [streams]);
      const sums = new Map<string, Sum>();
      for (const change of changes) bump(sums, change);
      await save(tx, [...sums.values()]);
    },
    async all(sql) {
      const rows = await sql.query<DeliveryCount>(
        "SELECT destination, state, sum(count)::bigint AS count FROM counts GROUP BY destination, state",
      );
      const sums = new Map<string, Sum>();
      for (const { destination, state, count } of rows) bump(sums, { stream: 0, destination, state, by: count });
      for (const change of [...noted.values(), ...writing.values()]) bump(sums, { ...change, stream: 0 });
      return [...sums.values()].map(({ destination, state, by }) => ({ destination, state, count: by }));
    },
    async write(tx) {
      // A transaction that failed has written nothing.
      for (const change of writing.values()) bump(noted, change);
      writing = noted;
      noted = new Map();
      await save(tx, [...writing.values()]);
    },
    written() {
      writing = new Map();
    },
    async recount(tx, stream) {
      for (const changes of [noted, writing]) {
        for (const [key, change] of changes) if (change.stream === stream) changes.delete(key);
      }
      await tx.query("DELETE FROM counts WHERE stream = $1", [stream]);
      await tx.query(
        `INSERT INTO counts
         SELECT $1, destination, state, sum(count) FROM (
           SELECT destination, 'waiting' AS state, sum(bit_count(waiting)) AS count FROM progress WHERE stream = $1 GROUP BY 1
           UNION ALL
           SELECT destination, 'delivered', sum(bit_count(delivered)) FROM progress WHERE stream = $1 GROUP BY 1
           UNION ALL
           SELECT destination, state, count(*) FROM tried WHERE stream = $1 GROUP BY 1, 2
         ) AS kept GROUP BY destination, state`,
        [stream],
      );
    },
  };
}

type Sum = Change & { by: number };

function bump(sums: Map<string, Sum>, change: Change): void {
  const key = `${change.stream} ${change.state} ${change.destination}`;
  const sum = sums.get(key);
  if (sum) sum.by += change.by;
  else sums.set(key, { ...change });
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
