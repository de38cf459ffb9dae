import type { SettledState } from "../../model/delivery.ts";
import type { Wish } from "../../model/replay.ts";
import type { At } from "../../model/units.ts";

/** Where a replay goes on. */
export type Cursor = {
  /** The list that it goes through. */
  readonly state: SettledState;
  /** What came into its state from then on is left. */
  readonly until: At;
  /** The same for all that follows: what is settled after the replay began was not there to be wanted. */
  readonly untilNext: At;
  /** Where in the list; null at its beginning. */
  readonly list: string | null;
};

/** Reads the cursor of a page, or makes that of the first one. It has to be of the same filter. */
export function readCursor({ search, page }: Wish, now: At): Cursor | "bad_cursor" {
  const states: readonly string[] = search.state === null ? ["failed", "expired"] : [search.state];
  if (page.cursor === null) {
    const until = search.until ?? now + 1;
    // What has settled in this very millisecond is wanted too, but only as it is found now: what is delivered later in it is not.
    return {
      ...{ state: search.state ?? "failed", list: null },
      ...{ until: Math.min(until, now + 1), untilNext: Math.min(until, now) },
    };
  }
  const [, state = "", until = "", list = ""] = /^([a-z]+):(\d{1,15}):(.*)$/.exec(page.cursor) ?? [];
  if (!states.includes(state) || Number(until) > (search.until ?? Number(until))) return "bad_cursor";
  const at = Number(until);
  return { state: state as SettledState, until: at, untilNext: at, list: list === "" ? null : list };
}

export function formatCursor({ state, until, list }: Cursor): string {
  return `${state}:${until}:${list ?? ""}`;
}
