import type { Clock } from "../../model/ports.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import { isLost, isTransient } from "./errors.ts";

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
  /**
   * Where the answer to the commit is lost, asks whether it was made. Not for what must not be lost: a server that has crashed
   * may give the number of a transaction that it has forgotten to another one.
   */
  readonly resolved?: boolean;
};

/** How long a server that is away is waited for, to ask it whether a commit was made. */
const PATIENCE: Ms = 30 * SECOND;
const BETWEEN_QUESTIONS: Ms = 0.25 * SECOND;

/** How often a transaction is run until a conflict is an error. */
const MOST_TRIES = 5;

export function createDatabase(pool: Pool, clock: Pick<Clock, "now" | "sleep">): Database {
  let isClosed = false;
  const query: Sql["query"] = (text, values) => withConnection((connection) => connection.query(text, values));
  return {
    query,
    async transaction(run, { mayBeLost = false, resolved = false } = {}) {
      const begin = `BEGIN${mayBeLost ? "; SET LOCAL synchronous_commit = off" : ""}${resolved ? NUMBERED : ""}`;
      for (let tries = 1; ; tries += 1) {
        try {
          const { result, doubt, xid } = await withConnection((connection) => once(connection, begin, run));
          if (doubt !== null && !(xid && (await isCommitted(xid)))) throw doubt;
          return result;
        } catch (error) {
          if (tries === MOST_TRIES || !isTransient(error)) throw error;
        }
      }
    },
    close() {
      isClosed = true;
      return pool.end();
    },
  };

  async function once<T>(connection: Connection, begin: string, run: (tx: Tx) => Promise<T>): Promise<Ended<T>> {
    const [row] = await connection.query<{ xid?: string }>(begin);
    try {
      const tx = { query: (text, values) => connection.query(text, values), now: clock.now() } as Tx;
      const result = await run(tx);
      const doubt = await connection.query("COMMIT").then(() => null, lostOrThrow);
      return { result, doubt, xid: row?.xid };
    } catch (error) {
      if (!isLost(error)) await connection.query("ROLLBACK");
      throw error;
    }
  }

  async function isCommitted(xid: string): Promise<boolean> {
    const until = clock.now() + PATIENCE;
    while (clock.now() < until && !isClosed) {
      const [row] = await query<{ status: string }>(STATUS, [xid]).catch(noneIfLost);
      if (row && row.status !== "in progress") return row.status === "committed";
      await clock.sleep(BETWEEN_QUESTIONS, NEVER);
    }
    return false;
  }

  async function withConnection<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    if (isClosed) throw new Error("the outbox is closed");
    const connection = await pool.connect();
    let broken = false;
    try {
      return await use(connection);
    } catch (error) {
      broken = isLost(error);
      throw error;
    } finally {
      connection.release(broken);
    }
  }
}

/** `doubt`: why the commit was not answered; null if it was. `xid`: the number of the transaction, if it was asked for. */
type Ended<T> = { readonly result: T; readonly doubt: unknown; readonly xid: string | undefined };

const NUMBERED = "; SELECT pg_current_xact_id()::text AS xid";
const STATUS = "SELECT pg_xact_status($1::xid8) AS status";
const NEVER = new AbortController().signal;

function lostOrThrow(error: unknown): unknown {
  if (isLost(error)) return error;
  throw error;
}

function noneIfLost(error: unknown): readonly [] {
  lostOrThrow(error);
  return [];
}
