import type { ListedDelivery, ListedPage, Lookup, PageAsk, Search } from "../../../model/lookup.ts";
import type { Clock } from "../../../model/ports.ts";
import type { Timeline } from "../../../model/timeline.ts";
import type { Database } from "../driver.ts";
import type { Repeats } from "../repeats.ts";
import { createWalkByEvent } from "./by-event.ts";
import { createWalkBySettled } from "./by-settled.ts";
import { createReadDetail } from "./detail.ts";
import { createFindTrail } from "./trail.ts";

/** Steps of one page. The daemon takes and delivers others in between. */
const MOST_STEPS = 50;

/** A way through the deliveries, from the newest on, in steps of which each touches about 1,000 rows. */
export type Walk = {
  /** In cursors: one of another way means nothing here. */
  readonly name: string;
  step(search: Search, after: Position | null): Step;
};

/** Where a walk goes on: behind the delivery that has these. */
export type Position = readonly [number, string | number];
export type Hit = { readonly delivery: ListedDelivery; readonly position: Position };
/** `next`: null at the end. */
export type Step = { readonly hits: readonly Hit[]; readonly next: Position | null };

export type LookupWorld = {
  readonly clock: Pick<Clock, "nextTurn">;
  readonly repeats: Pick<Repeats, "seenAt">;
  readonly timeline: Pick<Timeline, "fromWall">;
};

export function createLookup(db: Database, world: LookupWorld): Lookup {
  const { clock } = world;
  const byEvent = createWalkByEvent(db);
  const bySettled = createWalkBySettled(db);
  const readDetail = createReadDetail(db);
  const findTrail = createFindTrail(db, world);
  return {
    async deliveries(search, ask) {
      const walk = search.state === "failed" || search.state === "expired" ? bySettled : byEvent;
      const after = ask.cursor === null ? null : parseCursor(ask.cursor, walk);
      if (after === "bad_cursor") return after;
      return readPage(search, { ...ask, after }, { walk, clock });
    },
    delivery: async (place) => readDetail(place),
    event: findTrail,
  };
}

type From = Pick<PageAsk, "limit"> & { readonly after: Position | null };
type Way = { readonly walk: Walk; readonly clock: Pick<Clock, "nextTurn"> };

async function readPage(search: Search, { limit, after }: From, { walk, clock }: Way): Promise<ListedPage> {
  const hits: Hit[] = [];
  let next = after;
  for (let steps = 0; steps < MOST_STEPS && hits.length < limit; steps += 1) {
    if (steps > 0) await clock.nextTurn();
    const step = walk.step(search, next);
    for (const hit of step.hits) hits.push(hit);
    next = step.next;
    if (next === null) break;
  }
  const shown = hits.slice(0, limit);
  const last = hits.length > limit ? (shown.at(-1)?.position ?? null) : next;
  return { deliveries: shown.map(({ delivery }) => delivery), cursor: last && formatCursor(last, walk) };
}

function formatCursor(position: Position, { name }: Walk): string {
  return Buffer.from(JSON.stringify([name, ...position])).toString("base64url");
}

function parseCursor(cursor: string, { name }: Walk): Position | "bad_cursor" {
  try {
    const [walk, first, second]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (walk !== name || !Number.isSafeInteger(first)) return "bad_cursor";
    return typeof second === "string" || Number.isSafeInteger(second)
      ? [Number(first), second as string | number]
      : "bad_cursor";
  } catch {
    return "bad_cursor";
  }
}
