import type { Clock } from "../../model/ports.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import { MOST_EVENTS } from "../segment.ts";
import type { Sql } from "./database.ts";

/** How long a block is used, so that the numbers of all daemons grow with time. */
const USED_FOR: Ms = SECOND;

/** Blocks that are taken at once, at most. */
const MOST_BLOCKS = 16;

/** Numbers for new events. Each daemon takes them in blocks: asking for each would be a round trip. */
export type Numbers = {
  /** Makes sure that as many follow each other as one segment has, or all `count` of them if these are fewer. */
  prepare(sql: Sql, count: number): Promise<void>;
  /** The next one. */
  peek(): number;
  /** It is given away. */
  use(): void;
};

type Block = { next: number; readonly end: number };

export function createNumbers(clock: Pick<Clock, "now">): Numbers {
  let block: Block = { next: 0, end: 0 };
  let others: Block[] = [];
  let since: At = Number.NEGATIVE_INFINITY;
  let taken = 1;
  return {
    async prepare(sql, count) {
      const now = clock.now();
      const isFresh = now - since < USED_FOR;
      const wanted = Math.min(count, MOST_EVENTS);
      if (isFresh && block.end - block.next >= wanted) return;
      const next = isFresh ? others.shift() : undefined;
      if (next === undefined) {
        // Who uses them up within their time takes twice as many the next time.
        taken = Math.min(MOST_BLOCKS, Math.max(isFresh ? taken * 2 : 1, Math.ceil(count / MOST_EVENTS)));
        others = await takeBlocks(sql, taken);
        since = now;
      }
      block = next ?? others.shift() ?? block;
    },
    peek: () => block.next,
    use() {
      block.next += 1;
    },
  };
}

async function takeBlocks(sql: Sql, count: number): Promise<Block[]> {
  const rows = await sql.query<{ first: number }>(
    "SELECT nextval('event_numbers') AS first FROM generate_series(1, $1::int)",
    [count],
  );
  if (rows.length === 0) throw new Error("the sequence event_numbers has no number");
  return rows.map(({ first }) => ({ next: first, end: first + MOST_EVENTS }));
}
