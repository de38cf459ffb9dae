/** A PostgreSQL of the bench's own, and what it uses. */
import { chmodSync, readFileSync } from "node:fs";
import type { Pool, Sql } from "../../src/store/postgres/database.ts";
import { openPool } from "../../src/store/postgres/pool.ts";
import { createServer } from "../../test/store/postgres/server.ts";
import { median } from "../statistics.ts";
import { cpuSeconds } from "../usage.ts";

/** What differs from PostgreSQL's own defaults. */
const SETTINGS = ["shared_buffers=256MB", "max_wal_size=4GB"];

export type Postgres = {
  /** What it is, as a line of text. */
  readonly about: string;
  /** The folder of its socket. */
  readonly host: string;
  /** The same, by another folder. */
  by(host: string): Postgres;
  /** In ms. */
  roundTrip(): Promise<number>;
  /** A new, empty database. */
  createBase(): Promise<Base>;
  stop(): Promise<void>;
};

export type Base = Sql & {
  /** As `outbox.url` has it. */
  readonly url: string;
  readonly pool: Pool;
  used(): Promise<Used>;
  /** Begins a transaction that sees the database as it is now; it stays open until the function that it answers is called. */
  holdOpen(): Promise<() => Promise<void>>;
  drop(): Promise<void>;
};

/** Since the server was started. `transactions`: those that wrote something. */
export type Used = { readonly cpuSeconds: number; readonly walBytes: number; readonly transactions: number };

export async function startPostgres(folder: string): Promise<Postgres> {
  // PostgreSQL does not run as root: its user has to get to its own folder in here.
  chmodSync(folder, 0o711);
  const server = await createServer({ settings: SETTINGS, place: folder });
  const kill = (): void => void process.kill(server.pid, "SIGQUIT");
  process.once("exit", kill);
  const admin = openPool(server.postgres);
  let bases = 0;
  const { host } = server.postgres;
  const about = await describeServer(admin);
  const reached = (host: string): Postgres => ({
    about,
    host,
    by: reached,
    async createBase() {
      bases += 1;
      const database = `bench_${bases}`;
      await withConnection(admin, ({ query }) => query(`CREATE DATABASE ${database}`));
      const pool = openPool({ ...server.postgres, database });
      const query: Sql["query"] = (text, values) =>
        withConnection(pool, (connection) => connection.query(text, values));
      return {
        url: `postgres://${server.postgres.user}@/${database}?host=${encodeURIComponent(host)}`,
        pool,
        query,
        used: () => usedBy(server.pid, query),
        holdOpen: () => holdOpen(pool),
        async drop() {
          await pool.end();
          await withConnection(admin, (connection) => connection.query(`DROP DATABASE ${database} WITH (FORCE)`));
        },
      };
    },
    roundTrip: async () => {
      const pool = openPool({ ...server.postgres, host });
      return measureRoundTrip(pool).finally(() => pool.end());
    },
    async stop() {
      await admin.end();
      process.removeListener("exit", kill);
      await server.stop();
    },
  });
  return reached(host ?? "");
}

const ROUND_TRIPS = 500;

async function describeServer(pool: Pool): Promise<string> {
  const roundTrip = await measureRoundTrip(pool);
  const version = await withConnection(pool, async ({ query }) => {
    const [row] = await query<{ version: string }>("SELECT current_setting('server_version') AS version");
    return row?.version;
  });
  return `PostgreSQL ${version}, ${SETTINGS.join(", ")}, Unix socket, round trip ${roundTrip.toFixed(2)} ms`;
}

function measureRoundTrip(pool: Pool): Promise<number> {
  return withConnection(pool, async ({ query }) => {
    const times: number[] = [];
    for (let nth = 0; nth < ROUND_TRIPS; nth += 1) {
      const startedAt = performance.now();
      await query("SELECT $1::int", [nth]);
      times.push(performance.now() - startedAt);
    }
    return median(times);
  });
}

async function usedBy(pid: number, query: Sql["query"]): Promise<Used> {
  const [row] = await query<Omit<Used, "cpuSeconds">>(
    `SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS "walBytes",
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transactions`,
  );
  if (!row) throw new Error("PostgreSQL does not say what it has written");
  return { ...row, cpuSeconds: serverSeconds(pid) };
}

const TICKS = 100;

/** Of the first process, of its children, and of those that have ended. */
function serverSeconds(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  // Behind the name, which may have spaces: user and system time of its own, then the same of children that it buried.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ").map(Number) ?? [];
  const [ended = 0, endedInSystem = 0] = fields.slice(13, 15);
  return children.reduce((sum, child) => sum + cpuSeconds(child), cpuSeconds(pid) + (ended + endedInSystem) / TICKS);
}

async function holdOpen(pool: Pool): Promise<() => Promise<void>> {
  const connection = await pool.connect();
  await connection.query("SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ");
  await connection.query("SELECT pg_current_xact_id()");
  return async () => {
    await connection.query("ROLLBACK");
    connection.release(true);
  };
}

async function withConnection<T>(pool: Pool, use: (connection: Sql) => Promise<T>): Promise<T> {
  const connection = await pool.connect();
  try {
    return await use(connection);
  } finally {
    connection.release();
  }
}
