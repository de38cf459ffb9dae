import type { DeliveryState } from "../../model/delivery.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";

export type Count = { readonly destination: string; readonly state: DeliveryState; readonly count: number };

/** How many deliveries of each destination are in each state, in memory and in their table. */
export type Counts = Keeper & {
  all(): readonly Count[];
  /** `change` may be negative. */
  add(tx: Tx, destination: string, state: DeliveryState, change: number): void;
};

export function createCounts(db: Database): Counts {
  const load = db.prepare<[], Count>("SELECT destination, state, count FROM counts");
  const upsert = db.prepare<[string, string, number]>(
    "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
  );
  // By destination, then state: the committed counts, and the changes of the transaction.
  const kept: Tally = new Map();
  const changes: Tally = new Map();
  for (const { destination, state, count } of load.all()) bump(kept, destination, state, count);

  return {
    all: () => rowsOf(kept),
    add: (_tx, destination, state, change) => bump(changes, destination, state, change),
    write() {
      for (const { destination, state, count } of rowsOf(changes)) {
        if (count !== 0) upsert.run(destination, state, count);
      }
    },
    committed() {
      for (const { destination, state, count } of rowsOf(changes)) bump(kept, destination, state, count);
      changes.clear();
    },
    rolledBack() {
      changes.clear();
    },
  };
}

type Tally = Map<string, Map<DeliveryState, number>>;

function bump(tally: Tally, destination: string, state: DeliveryState, change: number): void {
  let states = tally.get(destination);
  if (!states) {
    states = new Map();
    tally.set(destination, states);
  }
  states.set(state, (states.get(state) ?? 0) + change);
}

function rowsOf(tally: Tally): Count[] {
  return [...tally].flatMap(([destination, states]) =>
    [...states].map(([state, count]) => ({ destination, state, count })),
  );
}
