import type { Clock } from "../../model/ports.ts";
import { SECOND } from "../../model/units.ts";
import type { Complaint } from "../complain.ts";
import type { SaidPage } from "./said.ts";

/** What several pages come to. */
export type Total = Omit<SaidPage, "cursor">;

export const NOTHING: Total = {
  ...{ replayed: 0, destinations: {}, left: 0, deleted: 0, superseded: 0 },
  ...{ oldest: null, newest: null },
};

export type PagesWorld = {
  /** Has the daemon do so many, or fewer. */
  readonly ask: (page: { readonly limit: number; readonly cursor: string | null }) => Promise<SaidPage | Complaint>;
  /** How many a second at most; null for as fast as the daemon takes them. */
  readonly rate: number | null;
  /** Hears how far it is, after each page. */
  readonly took: (total: Total) => void;
  /** Aborted: the page under way is the last. */
  readonly interrupted: AbortSignal;
  readonly clock: Pick<Clock, "now" | "sleep">;
};

export type Ended = "done" | "interrupted" | Complaint;

/** In one question to the daemon. */
const MOST_IN_PAGE = 500;

/**
 * Goes through all that is wanted, page by page: whoever ends this ends the whole work. Answers what came of it, and how it
 * ended.
 */
export async function goThrough(world: PagesWorld): Promise<{ readonly total: Total; readonly ended: Ended }> {
  const { ask, rate, took, interrupted, clock } = world;
  const began = clock.now();
  const limit = rate === null ? MOST_IN_PAGE : Math.max(1, Math.min(MOST_IN_PAGE, Math.floor(rate)));
  let total = NOTHING;
  let cursor: string | null = null;
  do {
    if (interrupted.aborted) return { total, ended: "interrupted" };
    const page: SaidPage | Complaint = await ask({ limit, cursor });
    if ("code" in page) return { total, ended: page };
    total = add(total, page);
    took(total);
    cursor = page.cursor;
    const due = rate === null || cursor === null ? 0 : began + (total.replayed * SECOND) / rate - clock.now();
    if (due > 0) await clock.sleep(due, interrupted);
  } while (cursor !== null);
  return { total, ended: "done" };
}

function add(total: Total, page: SaidPage): Total {
  const destinations = { ...total.destinations };
  for (const [name, count] of Object.entries(page.destinations)) {
    destinations[name] = (destinations[name] ?? 0) + count;
  }
  return {
    ...{ replayed: total.replayed + page.replayed, destinations, left: total.left + page.left },
    deleted: (total.deleted ?? 0) + (page.deleted ?? 0),
    superseded: (total.superseded ?? 0) + (page.superseded ?? 0),
    oldest: [total.oldest, page.oldest].filter(isTime).sort()[0] ?? null,
    newest: [total.newest, page.newest].filter(isTime).sort().at(-1) ?? null,
  };
}

/** They are all in the same form, which sorts by time. */
function isTime(time: string | null): time is string {
  return time !== null;
}
