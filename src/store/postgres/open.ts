import type { Postgres } from "../../model/config.ts";
import type { Store, StoreOptions } from "../../model/ports.ts";
import { openPool } from "./pool.ts";
import { openPostgres } from "./store.ts";

/** Opens the outbox in this database. Rejects with a message for the operator. */
export async function openOutbox(postgres: Postgres, options: StoreOptions): Promise<Store> {
  const { path, about } = options;
  if (!about) throw new Error("the daemon has no name for the others that share the outbox");
  try {
    const maintenance = openPool({ ...postgres, connections: 1 }, { statement: 0 });
    const named = { name: about.name, about: JSON.stringify(about) };
    return await openPostgres({ ...options, ...named, pool: openPool(postgres), maintenance });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot open the outbox at ${path}: ${why}`, { cause: error });
  }
}
