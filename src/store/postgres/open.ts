import type { Postgres } from "../../model/config.ts";
import type { Store, StoreOptions } from "../../model/ports.ts";
import { createDatabase } from "./database.ts";
import { OutboxRefused } from "./errors.ts";
import { openPool } from "./pool.ts";
import { SCHEMA } from "./schema.ts";
import { judgeServer, readServer } from "./server.ts";
import { openPostgres } from "./store.ts";

/** Opens the outbox in this database. Rejects with a message for the operator, and a code if it is refused. */
export async function openOutbox(postgres: Postgres, options: StoreOptions): Promise<Store> {
  const { path, about, clock, report } = options;
  if (!about) throw new Error("the daemon has no name for the others that share the outbox");
  const pool = openPool(postgres);
  const maintenance = openPool({ ...postgres, connections: 1 }, { statement: 0 });
  const named = { name: about.name, about: JSON.stringify({ ...about, schema: SCHEMA }) };
  const store = await openPostgres({ ...options, ...named, pool, maintenance }).catch(refuse);
  await warn().catch((error: unknown) => report.storeFailed("check the settings of the server", error));
  return store;

  async function warn(): Promise<void> {
    const facts = await readServer(createDatabase(pool, clock), clock);
    const daemons = store.sharing?.alive() ?? 1;
    for (const { code, what, remedy } of judgeServer(facts, { connections: postgres.connections, daemons })) {
      report.daemon("database_doubtful", { code, reason: what, hint: remedy });
    }
  }

  function refuse(error: unknown): never {
    const why = error instanceof Error ? error.message : String(error);
    const refusal = new Error(`cannot open the outbox at ${path}: ${why}`, { cause: error });
    throw error instanceof OutboxRefused ? Object.assign(refusal, { code: error.code }) : refusal;
  }
}
