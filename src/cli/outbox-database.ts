// Opens an outbox on PostgreSQL. Migrate and doctor load it when there is one. Beside it, only copy-ends.ts does.

import type { Config, Postgres } from "../model/config.ts";
import { createClock } from "../runtime/clock.ts";
import { PACE } from "../store/postgres/claims.ts";
import { createDatabase, type Database } from "../store/postgres/database.ts";
import { isLost, OutboxRefused } from "../store/postgres/errors.ts";
import { grantTo, type Migrated, mayChange, prepareSchema, refusalOf, versionOf } from "../store/postgres/migrate.ts";
import { openPool } from "../store/postgres/pool.ts";
import { SCHEMA } from "../store/postgres/schema.ts";
import { readProbe } from "../store/postgres/scrub.ts";
import { judgeServer, readServer } from "../store/postgres/server.ts";
import { type Complaint, failed } from "./command.ts";
import type { DatabaseFacts } from "./doctor/database.ts";

/** `granted`: the role that may use the tables now; null if it is the one that has made them. */
export type Prepared = Migrated & { readonly granted: string | null };

/** Makes the tables, or brings them up to date, as this role; null: as that of the config. */
export async function prepareTables(postgres: Postgres, as: string | null): Promise<Prepared | Complaint> {
  const granted = as === postgres.user || as === null ? null : postgres.user;
  // The password of the config is that of its own role.
  const other = as === null || as === postgres.user ? postgres : { ...postgres, user: as, password: null };
  return withDatabase(other, { statement: 0 }, async (db) => {
    try {
      const migrated = await prepareSchema(db);
      if (granted !== null) await grantTo(db, granted);
      return { ...migrated, granted };
    } catch (error) {
      return { ...failed(messageOf(error)), error: codeOf(error) };
    }
  });
}

/** Examines the database for `fairlead doctor`, and changes nothing. */
export async function lookAtDatabase(
  outbox: Pick<Config["outbox"], "path">,
  postgres: Postgres,
): Promise<DatabaseFacts> {
  const { path } = outbox;
  return withDatabase(postgres, undefined, async (db) => {
    try {
      return { kind: "answers", path, newest: SCHEMA, ...(await readFacts(db, postgres)) };
    } catch (error) {
      return { kind: "away", path, code: codeOf(error), why: messageOf(error) };
    }
  });
}

async function readFacts(db: Database, { connections }: Postgres) {
  const server = await readServer(db, createClock());
  const refused = await refusalOf(db);
  const isUsable = refused === null && (await versionOf(db)).version > 0;
  const daemons = isUsable ? await countDaemons(db) : 0;
  return {
    version: server.version,
    roundTrip: server.roundTrip,
    schema: isUsable ? (await versionOf(db)).version : 0,
    refused: refused && { code: refused.code, message: refused.message },
    mayChange: await mayChange(db),
    mayNotVacuum: isUsable ? (await readProbe(db)).mayNot : null,
    daemons,
    doubts: judgeServer(server, { connections, daemons: Math.max(1, daemons) }),
  };
}

async function countDaemons(db: Database): Promise<number> {
  const alive = await db.query("SELECT FROM daemons WHERE beat_at >= the_time() - $1", [PACE.silence]);
  return alive.length;
}

async function withDatabase<T>(
  postgres: Postgres,
  limits: Parameters<typeof openPool>[1],
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const db = createDatabase(openPool({ ...postgres, connections: 1 }, limits), createClock());
  try {
    return await use(db);
  } finally {
    await db.close();
  }
}

function codeOf(error: unknown): string {
  if (error instanceof OutboxRefused) return error.code;
  return isLost(error) ? "database_away" : "store_failed";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
