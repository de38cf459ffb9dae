import type { Clock } from "../../model/ports.ts";
import type { At, Ms } from "../../model/units.ts";
import { asAway, CommitLost, isLost, isTransient } from "./errors.ts";

/** One connection of the pool. A query that fails leaves it usable, unless the connection itself was lost. */
export type Connection = {
  /**
   * Values may be numbers, strings, booleans, null, bytes, and arrays of these; int8 is read as a number, json as text. Without
   * values, the text may have several statements, and the answer is that of the last one.
   */
  query<R>(text: string, values?: readonly unknown[]): Promise<readonly R[]>;
  /** Gives it back to the pool; `broken`: it is closed instead. */
  release(broken?: boolean): void;
};

export type Pool = {
  /** Rejects when there is no connection within the limit. */
  connect(): Promise<Connection>;
  /** Closes all connections. */
  end(): Promise<void>;
};

export type Sql = Pick<Connection, "query">;

declare const underWay: unique symbol;

/** A transaction under way. Functions that write take it as an argument, and only `transaction` gives one. */
export type Tx = Sql & { readonly now: At; readonly [underWay]: true };

export type Database = Sql & {
  /** Commits what `run` has done, or nothing if it rejects. Runs it again after a conflict, so it must not keep anything. */
  transaction<T>(run: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
};

type TransactionOptions = {
  /** Losing it in a crash of the server costs nothing but a repeat: the commit does not wait for the disk. */
  readonly mayBeLost?: boolean;
  /** How long a statement waits at most for what others have locked; if left out, as long as the connection says. */
  readonly patience?: Ms;
  /** It sees what was committed before its first statement, until its end, and changes nothing. */
  readonly snapshot?: boolean;
};

/** How often a transaction, or a statement by itself, is run until a conflict is an error. */
const MOST_TRIES = 5;

export function createDatabase(pool: Pool, clock: Pick<Clock, "now">): Database {
  let isClosed = false;
  return {
    query: (text, values) => withoutConflict((connection) => connection.query(text, values)),
    transaction(run, { mayBeLost = false, patience, snapshot = false } = {}) {
      const settings = [
        ...(mayBeLost ? ["SET LOCAL synchronous_commit = off"] : []),
        ...(patience === undefined ? [] : [`SET LOCAL lock_timeout = ${patience}`]),
      ];
      const begin = [snapshot ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN", ...settings].join("; ");
      return withoutConflict((connection) => once(connection, begin, run));
    },
    close() {
      isClosed = true;
      return pool.end();
    },
  };

  async function once<T>(connection: Connection, begin: string, run: (tx: Tx) => Promise<T>): Promise<T> {
    await connection.query(begin);
    try {
      const query: Sql["query"] = (text, values) => connection.query(text, values);
      const result = await run({ query, now: clock.now() } as Tx);
      await connection.query("COMMIT").catch((error: unknown) => {
        throw isLost(error) ? new CommitLost(error) : error;
      });
      return result;
    } catch (error) {
      if (!isLost(error)) await connection.query("ROLLBACK");
      throw error;
    }
  }

  async function withoutConflict<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await withConnection(use);
      } catch (error) {
        if (tries === MOST_TRIES || !isTransient(error)) throw error;
      }
    }
  }

  async function withConnection<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    if (isClosed) throw new Error("the outbox is closed");
    const connection = await pool.connect();
    let broken = false;
    try {
      return await use(connection);
    } catch (error) {
      broken = isLost(error);
      throw asAway(error);
    } finally {
      connection.release(broken);
    }
  }
}
