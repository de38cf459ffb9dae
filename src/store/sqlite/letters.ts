import type { EventType } from "../../model/event.ts";
import type { Skip } from "../../model/verdict.ts";

/**
 * What the column `states` says of one event: it waits for its first attempt, was delivered by it, has a row in `tried`,
 * or is not for this destination.
 */
export type Letter = "w" | "d" | "t" | "-";

/** What the column `about` says of one event, beside its body. A list: names would be longer than most of the values. */
export type About = readonly [
  source: string,
  type: EventType,
  messageId: string,
  userId: string | null,
  skipped?: readonly Skip[],
];

/** The states of a new segment of so many events, of which these (counted from 0, in their order) wait. */
export function statesOf(waiting: readonly number[], events: number): string {
  if (waiting.length === events) return "w".repeat(events);
  const states: Letter[] = new Array<Letter>(events).fill("-");
  for (const index of waiting) states[index] = "w";
  return states.join("");
}

/** How many of them say so. */
export function countLetter(states: string, letter: Letter): number {
  return states.split(letter).length - 1;
}
