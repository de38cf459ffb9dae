import type { OpenStore } from "../model/ports.ts";
import { openStore as openSqlite } from "./sqlite/store.ts";

/** Opens the outbox of the config, by its engine. What PostgreSQL needs is only loaded for it. */
export const openStore: OpenStore = async (options) => {
  if (!options.postgres) return openSqlite(options);
  const { openOutbox } = await import("./postgres/open.ts");
  return openOutbox(options.postgres, options);
};
