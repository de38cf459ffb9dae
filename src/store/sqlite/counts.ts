import type { DeliveryState } from "../../model/delivery.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";

export type Count = { readonly destination: string; readonly state: DeliveryState; readonly count: number };

/** How many deliveries of each destination are in each state, in memory and in their table. */
export type Counts = Keeper & {
  all(): readonly Count[];
  /** `change` may be negative. */
  add(tx: Tx, destination: string, state: DeliveryState, change: number): void;
  /** The same for a delivery in the tail: the table has it when the tail is folded. */
  later(tx: Tx, destination: string, state: DeliveryState, change: number): void;
  /** The table gets what `later` has noted so far. */
  fold(tx: Tx): void;
  /** Counts a delivery that an earlier process has left in the tail. */
  restore(destination: string, state: DeliveryState, change: number): void;
};

export function createCounts(db: Database): Counts {
  const load = db.prepare<[], Count>("SELECT destination, state, count FROM counts");
  const upsert = db.prepare<[string, string, number]>(
    "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
  );
  // The committed counts, and what the table lacks of them.
  const kept: Tally = new Map();
  const lacking: Tally = new Map();
  // Of the transaction: its changes, those that it writes, and those that the table will lack.
  const changes: Tally = new Map();
  const writing: Tally = new Map();
  const leaving: Tally = new Map();
  let isFolded = false;
  for (const { destination, state, count } of load.all()) bump(kept, destination, state, count);

  return {
    all: () => rowsOf(kept),
    add(_tx, destination, state, change) {
      bump(changes, destination, state, change);
      bump(writing, destination, state, change);
    },
    later(_tx, destination, state, change) {
      bump(changes, destination, state, change);
      bump(leaving, destination, state, change);
    },
    fold() {
      if (!isFolded) addAll(writing, lacking);
      addAll(writing, leaving);
      leaving.clear();
      isFolded = true;
    },
    restore(destination, state, change) {
      bump(kept, destination, state, change);
      bump(lacking, destination, state, change);
    },
    write() {
      for (const { destination, state, count } of rowsOf(writing)) {
        if (count !== 0) upsert.run(destination, state, count);
      }
    },
    committed() {
      addAll(kept, changes);
      if (isFolded) lacking.clear();
      addAll(lacking, leaving);
      begin();
    },
    rolledBack: begin,
  };

  function begin(): void {
    for (const tally of [changes, writing, leaving]) tally.clear();
    isFolded = false;
  }
}

/** By destination, then state. */
type Tally = Map<string, Map<DeliveryState, number>>;

function bump(tally: Tally, destination: string, state: DeliveryState, change: number): void {
  let states = tally.get(destination);
  if (!states) {
    states = new Map();
    tally.set(destination, states);
  }
  states.set(state, (states.get(state) ?? 0) + change);
}

function addAll(to: Tally, from: Tally): void {
  for (const [destination, states] of from) for (const [state, count] of states) bump(to, destination, state, count);
}

function rowsOf(tally: Tally): Count[] {
  return [...tally].flatMap(([destination, states]) =>
    [...states].map(([state, count]) => ({ destination, state, count })),
  );
}
