import type { Contents } from "../../../model/contents.ts";
import type { At } from "../../../model/units.ts";
import type { Database } from "../driver.ts";
import { readMemory } from "../meta.ts";

/** Looks through a store of any schema. Null if it is an SQLite file of something else. */
export function readContents(db: Database): Contents | null {
  const tables = new Set(db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all());
  if (!["segments", "contents", "progress", "tried", "counts", "meta"].every((name) => tables.has(name))) return null;
  const count = (table: string, what = "count(*)"): number =>
    tables.has(table) ? Number(db.prepare<[], number>(`SELECT ${what} FROM ${table}`).pluck().get()) : 0;
  return {
    schema: Number(db.pragma("user_version", { simple: true })),
    events: count("segments", "total(events)"),
    newestAt: newestOf(db),
    deliveries: deliveriesOf(db),
    computations: count("computations"),
    suppressed: count("suppressed", "count(DISTINCT hash)"),
  };
}

/**
 * By the machine's clock as it was last. Events that have left their segment are older than those that are still in one;
 * if there is no segment, they count.
 */
function newestOf(db: Database): At | null {
  const newest = db.prepare<[], number | null>(
    `SELECT max(at) FROM (SELECT * FROM (SELECT accepted_at AS at FROM segments ORDER BY first DESC LIMIT 1)
      UNION ALL SELECT * FROM (SELECT accepted_at FROM tried ORDER BY event DESC LIMIT 1))`,
  );
  const at = newest.pluck().get() ?? null;
  return at === null ? null : at + (readMemory(db)?.shift ?? 0);
}

function deliveriesOf(db: Database): Contents["deliveries"] {
  const none = { waiting: 0, delivered: 0, failed: 0, expired: 0 };
  const rows = db.prepare<[], { state: string; count: number }>(
    "SELECT state, sum(count) AS count FROM counts GROUP BY state",
  );
  return { ...none, ...Object.fromEntries(rows.all().map(({ state, count }) => [state, count])) };
}

/** How many rows each table has, by its name. */
export function countRows(db: Database): Readonly<Record<string, number>> {
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
  const counts = names.map((name) => [name, Number(db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get())]);
  return Object.fromEntries(counts);
}
