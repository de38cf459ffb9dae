import { type At, MINUTE } from "../../model/units.ts";
import type { Keeper } from "./commits.ts";
import type { Database } from "./driver.ts";

/** Before every time, also on a machine that believes in 1970. */
const NEVER: At = Number.NEGATIVE_INFINITY;

/** Remembers the time across restarts, with at most one more row written a minute. */
export type Meta = Keeper & {
  /** The latest time known when the store was opened, or null if it is new. */
  readonly lastAt: At | null;
  /** Makes the next transaction write, even if it has nothing else to write. */
  touch(): void;
};

export function createMeta(db: Database): Meta {
  const load = db.prepare<[], { value: number }>("SELECT value FROM meta WHERE name = 'last_at'");
  const save = db.prepare<[number]>(
    "INSERT INTO meta VALUES ('last_at', ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
  );
  const lastAt = load.get()?.value ?? null;
  let writtenAt: At = NEVER;
  let writing: At | null = null;

  return {
    lastAt,
    touch() {
      writtenAt = NEVER;
    },
    write(now) {
      if (now - writtenAt < MINUTE) return;
      save.run(now);
      writing = now;
    },
    committed() {
      writtenAt = writing ?? writtenAt;
      writing = null;
    },
    rolledBack() {
      writing = null;
    },
  };
}
