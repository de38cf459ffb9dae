import type { Clock } from "../../model/ports.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import { MOST_EVENTS } from "../segment.ts";
import type { Sql } from "./database.ts";

/** How long a block is used, so that the numbers of all daemons grow with time. */
const USED_FOR: Ms = SECOND;

/** Numbers for new events. Each daemon takes them in blocks: asking for each would be a round trip. */
export type Numbers = {
  /** Makes sure that this many follow each other, at most 256. */
  prepare(sql: Sql, count: number): Promise<void>;
  /** The next one. */
  peek(): number;
  /** It is given away. */
  use(): void;
};

type Block = { next: number; readonly end: number; readonly since: At };

export function createNumbers(clock: Pick<Clock, "now">): Numbers {
  let block: Block = { next: 0, end: 0, since: Number.NEGATIVE_INFINITY };
  return {
    async prepare(sql, count) {
      const since = clock.now();
      if (block.end - block.next >= count && since - block.since < USED_FOR) return;
      const [row] = await sql.query<{ first: number }>("SELECT nextval('event_numbers') AS first");
      if (!row) throw new Error("the sequence event_numbers has no number");
      block = { next: row.first, end: row.first + MOST_EVENTS, since };
    },
    peek: () => block.next,
    use() {
      block.next += 1;
    },
  };
}
