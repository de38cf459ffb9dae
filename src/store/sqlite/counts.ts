import type { DeliveryState } from "../../model/delivery.ts";
import type { Database } from "./driver.ts";

export type Count = { readonly destination: string; readonly state: DeliveryState; readonly count: number };

/** How many deliveries of each destination are in each state: in memory, and in the table that outlives it. */
export type Counts = {
  all(): readonly Count[];
  /** Inside a transaction. Negative numbers take away. */
  add(destination: string, state: DeliveryState, change: number): void;
  /** Inside a transaction, at its end. */
  write(): void;
  committed(): void;
  rolledBack(): void;
};

export function createCounts(db: Database): Counts {
  const load = db.prepare<[], Count>("SELECT destination, state, count FROM counts");
  const upsert = db.prepare<[string, string, number]>(
    "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
  );
  const counts = new Map(load.all().map((row) => [keyOf(row.destination, row.state), row]));
  const changes = new Map<string, Count>();

  return {
    all: () => [...counts.values()],
    add(destination, state, change) {
      const key = keyOf(destination, state);
      changes.set(key, { destination, state, count: (changes.get(key)?.count ?? 0) + change });
    },
    write() {
      for (const { destination, state, count } of changes.values()) {
        if (count !== 0) upsert.run(destination, state, count);
      }
    },
    committed() {
      for (const [key, change] of changes) {
        counts.set(key, { ...change, count: (counts.get(key)?.count ?? 0) + change.count });
      }
      changes.clear();
    },
    rolledBack() {
      changes.clear();
    },
  };
}

function keyOf(destination: string, state: DeliveryState): string {
  return `${state} ${destination}`;
}
