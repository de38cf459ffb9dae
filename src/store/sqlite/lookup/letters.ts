import type { ListedDelivery, Search } from "../../../model/lookup.ts";
import type { At } from "../../../model/units.ts";
import { damaged } from "../bodies.ts";
import type { Database } from "../driver.ts";
import type { About, Letter } from "../letters.ts";
import { fromLetter, readSettled } from "./listed.ts";

export type SegmentRow = { first: number; events: number; acceptedAt: At; open: number; settledAt: At | null };

type States = { destination: string; states: string; settled: string };

export type Letters = {
  /** The deliveries that are letters of this segment, as far as state and destination are wanted. */
  read(segment: SegmentRow, search: Pick<Search, "state" | "destination">): readonly ListedDelivery[];
};

export function createLetters(db: Database): Letters {
  const progress = db.prepare<[number], States>(
    "SELECT destination, states, settled FROM progress WHERE segment = ? ORDER BY destination",
  );
  const contents = db.prepare<[number], string>("SELECT about FROM contents WHERE segment = ?").pluck();

  return {
    read(segment, { state, destination }) {
      const letters = lettersOf(state);
      const rows = progress
        .all(segment.first)
        .filter((row) => destination === null || row.destination === destination)
        .filter(({ states }) => letters.some((letter) => states.includes(letter)));
      if (rows.length === 0) return [];
      const text = contents.get(segment.first);
      if (text === undefined) throw damaged(segment.first, "it has no contents");
      const about: readonly About[] = JSON.parse(text);
      return rows.flatMap((row) => readRow(row, { segment, about, letters }));
    },
  };
}

function lettersOf(state: Search["state"]): readonly Letter[] {
  if (state === "waiting") return ["w"];
  return state === "delivered" ? ["d"] : ["w", "d"];
}

type Opened = {
  readonly segment: SegmentRow;
  readonly about: readonly About[];
  readonly letters: readonly Letter[];
};

function readRow({ destination, states, settled }: States, { segment, about, letters }: Opened): ListedDelivery[] {
  const { first, acceptedAt } = segment;
  const by = readSettled(first, settled);
  return about.flatMap((event, nth) => {
    if (!letters.some((letter) => letter === states[nth])) return [];
    const id = first + nth;
    return [fromLetter({ id, destination, about: event, acceptedAt, by: by.get(id) ?? null })];
  });
}
