import { isFault } from "../../model/fault.ts";
import type { Marks } from "../../model/ports.ts";
import type { Engine } from "./engine.ts";

/** Marks are rows of `meta`, beside what daemons count there. Their names have a slash, which the others have not. */
export function createMarks({ db, write }: Pick<Engine, "db" | "write">): Marks {
  return {
    async all(prefix) {
      const rows = await db.query<{ name: string; value: number }>(
        "SELECT name, value FROM meta WHERE starts_with(name, $1)",
        [prefix],
      );
      return new Map(rows.map(({ name, value }) => [name, value]));
    },
    async save(marks) {
      const kept = [...marks].flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
      const removed = [...marks].flatMap(([name, value]) => (value === null ? [name] : []));
      const refused = await write("save marks", async (tx) => {
        await tx.query("DELETE FROM meta WHERE name = ANY ($1::text[])", [removed]);
        await tx.query(
          `INSERT INTO meta SELECT * FROM unnest($1::text[], $2::bigint[]) m (name, value)
           ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
          [kept.map(([name]) => name), kept.map(([, value]) => value)],
        );
        return null;
      });
      return isFault(refused) ? refused : null;
    },
  };
}
