import type { Clock } from "../../model/ports.ts";
import { type Ms, SECOND } from "../../model/units.ts";
import type { Database } from "./database.ts";

/** How often the rows are measured; and how many times longer than that takes it waits until the next time. */
const EVERY: Ms = 30 * SECOND;
const REST = 100;

/**
 * The bytes of all events that are kept, by which `outbox.maxSize` bounds the outbox. Files do not tell: they keep the space
 * of removed rows for new ones. One daemon measures the rows now and then; until the next time each adds what it stores.
 */
export type Size = {
  used(): number;
  /** So many bytes more, or less, since it was measured. */
  add(bytes: number): void;
  /** Measures if `measures`, or reads what another daemon has measured. Rejects when the database fails. */
  look(measures: boolean): Promise<void>;
};

export function createSize(db: Database, clock: Pick<Clock, "now">, measured: (used: number) => void): Size {
  let kept = { at: Number.NEGATIVE_INFINITY, used: 0 };
  let since = 0;
  let nextAt = Number.NEGATIVE_INFINITY;

  return {
    used: () => Math.max(0, kept.used + since),
    add(bytes) {
      since += bytes;
      measured(Math.max(0, kept.used + since));
    },
    async look(measures) {
      if (measures && clock.now() >= nextAt) await measure();
      const rows = await db.query<{ name: string; value: number }>(
        "SELECT name, value FROM meta WHERE name IN ('bytes', 'bytes_at')",
      );
      const { bytes = 0, bytes_at = 0 } = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
      if (bytes_at === kept.at) return;
      kept = { at: bytes_at, used: bytes };
      since = 0;
      measured(bytes);
    },
  };

  async function measure(): Promise<void> {
    const startedAt = clock.now();
    await db.query(
      `INSERT INTO meta SELECT 'bytes', (SELECT coalesce(sum(bytes), 0) FROM segments) + (SELECT coalesce(sum(bytes), 0) FROM tried)
       UNION ALL SELECT 'bytes_at', the_time()
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    );
    const now = clock.now();
    nextAt = now + Math.max(EVERY, (now - startedAt) * REST);
  }
}
