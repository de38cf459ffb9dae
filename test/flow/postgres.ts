import type { ListedDelivery } from "../../src/model/lookup.ts";
import type { Clock, OpenStore } from "../../src/model/ports.ts";
import { HOUR, MINUTE } from "../../src/model/units.ts";
import { PACE, type Pace } from "../../src/store/postgres/claims.ts";
import { createKept } from "../../src/store/postgres/kept.ts";
import { openPostgres } from "../../src/store/postgres/store.ts";
import { followClock, type TestPool } from "../store/postgres/bed.ts";
import { startPglite } from "../store/postgres/pglite.ts";
import type { FalseClock } from "./clock.ts";
import type { DeliveryRow, Outbox } from "./outbox.ts";

/** Of a daemon that is alone: a test that lasts for days would mostly be beats. */
const SLOW: Pace = { beat: 10 * MINUTE, silence: HOUR, look: MINUTE };

export const openSlowly = openAt(SLOW);
/** As daemons do it that several are of. */
export const openPromptly = openAt(PACE);

/** By the clocks of their daemons. */
const pools = new Map<string, Map<Clock, TestPool>>();
let opened = 0;

/** The path is that of a schema. */
function openAt(pace: Pace): OpenStore {
  return async ({ path, clock, report, bounds, about }) => {
    const pool = await (await startPglite()).connect(path);
    pools.set(path, new Map(pools.get(path)).set(clock, pool));
    opened += 1;
    const follows = followClock(pool, clock as FalseClock);
    return openPostgres({
      clock,
      report,
      bounds,
      pace,
      pool: follows,
      name: `d${opened}`,
      about: JSON.stringify(about),
    });
  };
}

let schemas = 0;

/** A schema of PGlite. */
export async function createSchema(open: OpenStore): Promise<Outbox> {
  const server = await startPglite();
  schemas += 1;
  const path = `flow_${schemas}`;
  const pool = await server.connect(path);

  async function query<R>(text: string, values?: readonly unknown[]): Promise<readonly R[]> {
    const connection = await pool.connect();
    try {
      return await connection.query<R>(text, values);
    } finally {
      connection.release();
    }
  }

  const outbox: Outbox = {
    path,
    open,
    async rows() {
      const kept = createKept({ query });
      const segments = await kept.segmentsUp(0, NO_END, ALL);
      const inSegments = await kept.listedIn(segments, ["waiting", "delivered"]);
      const apart = await kept.rowsUp({ id: 0, destination: "" }, NO_END, ALL);
      return [...inSegments, ...apart].map(toRow).sort(byKey);
    },
    query,
    async lock() {
      await query("SET default_transaction_read_only = on");
      return async () => void (await query("SET default_transaction_read_only = off"));
    },
    async findText(text) {
      const tables = await query<{ name: string }>(
        `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '${path}' ORDER BY 1`,
      );
      const found: string[] = [];
      for (const { name } of tables) {
        const [row] = await query(`SELECT FROM ${name} t WHERE t::text LIKE $1 OR t::text LIKE $2 LIMIT 1`, [
          `%${text}%`,
          // Bytes are shown as hexadecimal digits.
          `%${Buffer.from(text).toString("hex")}%`,
        ]);
        if (row) found.push(name);
      }
      return found;
    },
    isCopied: false,
    async kill() {
      for (const pool of pools.get(path)?.values() ?? []) await pool.kill();
      pools.delete(path);
      // Nobody has to wait until the others believe it.
      for (const table of ["streams", "leases"]) await query(`UPDATE ${table} SET holder = NULL`);
      await query("DELETE FROM daemons");
      return outbox;
    },
    async disconnect(clock) {
      await pools.get(path)?.get(clock)?.kill();
    },
    async remove() {
      pools.delete(path);
      await server.drop(path);
    },
  };
  return outbox;
}

const ALL = 100_000;
const NO_END = Number.MAX_SAFE_INTEGER;

function toRow({ id: event, destination, state, attempts, dueAt, reason, url }: ListedDelivery): DeliveryRow {
  return { event, destination, state, attempts, due_at: dueAt, reason, url };
}

function byKey(a: DeliveryRow, b: DeliveryRow): number {
  return a.event - b.event || (a.destination < b.destination ? -1 : 1);
}
