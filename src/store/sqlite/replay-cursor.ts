import type { SettledState } from "../../model/delivery.ts";
import type { Wish } from "../../model/replay.ts";
import type { At } from "../../model/units.ts";

/** Where a replay goes on. */
export type Cursor = {
  /** The list that it goes through. */
  readonly state: SettledState;
  /** What came into its state from then on is left: it may have been sent again by the pages before. */
  readonly until: At;
  /** Where in the list; null at its beginning. */
  readonly list: string | null;
};

/** Reads the cursor of a page, or makes that of the first one. It has to be of the same filter. */
export function readCursor({ search, page }: Wish, now: At): Cursor | "bad_cursor" {
  const states: readonly string[] = search.state === null ? ["failed", "expired"] : [search.state];
  if (page.cursor === null) {
    // What has settled in this very millisecond is wanted too.
    return { state: search.state ?? "failed", until: search.until ?? now + 1, list: null };
  }
  const [, state = "", until = "", list = ""] = /^([a-z]+):(\d{1,15}):(.*)$/.exec(page.cursor) ?? [];
  if (!states.includes(state) || Number(until) > (search.until ?? Number(until))) return "bad_cursor";
  return { state: state as SettledState, until: Number(until), list: list === "" ? null : list };
}

export function formatCursor({ state, until, list }: Cursor): string {
  return `${state}:${until}:${list ?? ""}`;
}
