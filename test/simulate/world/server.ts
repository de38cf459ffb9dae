/**
 * PostgreSQL under several daemons, as false as the network: it goes by the false clock, and the connections of a daemon can be
 * ended, kept away from it, or lose the answer to a commit. A daemon can be killed or suspended before and after each statement.
 */
import type { At } from "../../../src/model/units.ts";
import type { Connection, Pool } from "../../../src/store/postgres/database.ts";
import { createDatabase } from "../../../src/store/postgres/database.ts";
import { ConnectionLost } from "../../../src/store/postgres/errors.ts";
import { prepareSchema } from "../../../src/store/postgres/migrate.ts";
import { createFalseClock, type FalseClock } from "../../flow/clock.ts";
import { followClock, type TestPool, type TestServer } from "../../store/postgres/bed.ts";
import { startPglite } from "../../store/postgres/pglite.ts";
import type { Fault, Statement } from "../faults.ts";
import { isHalted, moment, runsAgain } from "./life.ts";
import type { Life, World } from "./world.ts";

export type FalseServer = {
  /** The connections of a daemon, which go by the clock of all. */
  connect(world: World, life: Life, clock: FalseClock): Pool;
  /** Ends the connections of a daemon. What they have open is rolled back. */
  end(life: Life): Promise<void>;
  /** Ends them if one is in a transaction: the server waits for nobody. */
  endIfOpen(life: Life): Promise<void>;
  /** The next answer to a commit of this daemon is lost, and so is the connection. */
  loseAnswer(life: Life): void;
  /** Empties all tables. */
  empty(): Promise<void>;
};

const SCHEMA = "simulate";
/** Removed rows are there until they are cleaned up, and tables get slow. */
const TO_CLEAN = 20;

/** One schema for all runs of this process: to make one takes as long as a short run. */
export async function createFalseServer(): Promise<FalseServer> {
  const server = await startPglite();
  const setup = await prepare(server);
  const lines = new Map<Life, Line>();
  const hands: Hands = { showing: null };
  let emptied = 0;

  return {
    connect(world, life, clock) {
      const line = createLine(server, hands, { world, life, clock });
      lines.set(life, line);
      return line;
    },
    async end(life) {
      await lines.get(life)?.drop();
      if (life.dead) lines.delete(life);
    },
    async endIfOpen(life) {
      if (lines.get(life)?.isOpen()) await lines.get(life)?.drop();
    },
    loseAnswer: (life) => lines.get(life)?.loseAnswer(),
    async empty() {
      lines.clear();
      hands.showing = null;
      emptied += 1;
      await setup.query(setup.empty);
      if (emptied % TO_CLEAN === 0) await setup.query("VACUUM");
    },
  };
}

/** Makes the tables, and keeps what is in them at first. */
async function prepare(server: TestServer) {
  const clock = createFalseClock();
  const database = createDatabase(followClock(await server.connect(SCHEMA), clock), clock);
  await prepareSchema(database);
  // The one thing in them that is left to chance.
  await database.query("UPDATE secrets SET salt = 'salt', call_key = 'key'");
  const tables = await database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = '${SCHEMA}' AND table_type = 'BASE TABLE' ORDER BY table_name`,
  );
  await database.query(`CREATE SCHEMA ${SCHEMA}_empty`);
  const statements = ["SELECT setval('event_numbers', 1, false)"];
  for (const { name } of tables) {
    statements.push(`DELETE FROM ${name}`);
    const rows = await database.query(`SELECT FROM ${name} LIMIT 1`);
    if (rows.length === 0) continue;
    await database.query(`CREATE TABLE ${SCHEMA}_empty.${name} AS SELECT * FROM ${name}`);
    statements.push(`INSERT INTO ${name} SELECT * FROM ${SCHEMA}_empty.${name}`);
  }
  const empty = statements.join("; ");
  return { query: database.query, empty };
}

type Line = Pool & {
  /** Whether a transaction is open. */
  isOpen(): boolean;
  drop(): Promise<void>;
  loseAnswer(): void;
};
/** What the clock of the server says: there is one session behind all connections. Null: nobody knows. */
type Hands = { showing: At | null };
type Ends = { readonly world: World; readonly life: Life; readonly clock: FalseClock };

/** How one daemon reaches the server. */
function createLine(server: TestServer, hands: Hands, { world, life, clock }: Ends): Line {
  let pool: Promise<TestPool> | null = null;
  let losesAnswer = false;
  const open = new Set<Connection>();

  return {
    async connect() {
      await mayGo();
      pool ??= server.connect(SCHEMA);
      return through(await clock.during(pool.then((made) => made.connect())));
    },
    async end() {
      await (await pool)?.end();
    },
    isOpen: () => open.size > 0,
    async drop() {
      const dropped = pool;
      pool = null;
      open.clear();
      hands.showing = null;
      if (dropped) await clock.during(dropped.then((one) => one.kill()));
    },
    loseAnswer() {
      losesAnswer = true;
    },
  };

  /** A suspended daemon asks nothing, and one that is cut off reaches nobody. */
  async function mayGo(): Promise<void> {
    if (isHalted(life)) await runsAgain(life);
    if (life.cutOff) throw new ConnectionLost("the server is not reached");
  }

  function through(real: Connection): Connection {
    let isLost = false;
    return {
      async query<R>(text: string, values?: readonly unknown[]) {
        moment(world, life);
        await mayGo();
        if (isLost) throw new ConnectionLost("the connection was lost");
        try {
          if (BEGINS.test(text)) open.add(real);
          const rows = await clock.during(send<R>(real, { text, values }, world.fault));
          if (ENDS.test(text)) open.delete(real);
          if (losesAnswer && !open.has(real) && COMMITS.test(text)) {
            losesAnswer = false;
            isLost = true;
            world.disturbedAt = clock.now();
            throw new ConnectionLost("the connection was lost before the answer");
          }
          return rows;
        } finally {
          moment(world, life);
          if (isHalted(life)) await runsAgain(life);
        }
      },
      release(broken) {
        open.delete(real);
        real.release(broken === true || isLost);
      },
    };
  }

  async function send<R>(real: Connection, statement: Statement, fault: Fault | null): Promise<readonly R[]> {
    const { text, values } = fault?.sql?.(statement, life) ?? statement;
    const now = clock.wall();
    // A transaction that has failed takes no other statement than its end, and what it has set is as it was before.
    if (now !== hands.showing && !ENDS.test(text)) {
      await real.query("SELECT set_config('test.now', $1, false)", [String(now)]);
      hands.showing = now;
    }
    if (text === "ROLLBACK") hands.showing = null;
    return real.query<R>(text, values);
  }
}

const BEGINS = /^BEGIN/;
const ENDS = /^(COMMIT|ROLLBACK)/;
/** The end of a transaction, and the statements that are one by themselves. */
const COMMITS = /^COMMIT|INSERT INTO seen|UPDATE progress/;
