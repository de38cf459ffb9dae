import { type Fault, fault, isFault } from "../model/fault.ts";
import type { ListedDelivery, ListedPage, PageAsk, Search } from "../model/lookup.ts";
import type { Clock } from "../model/ports.ts";

/** Steps of one page. */
const MOST_STEPS = 50;

/** A walk through the deliveries, from the newest on, in steps of about 1,000 rows. */
export type Walk = {
  /** Part of each cursor, so that a cursor of another walk is refused. */
  readonly name: string;
  step(search: Search, after: Position | null): Promise<Step>;
};

/** Where a walk continues: after the delivery with these values. */
export type Position = readonly [number, string | number];
export type Hit = { readonly delivery: ListedDelivery; readonly position: Position };
/** `next`: null at the end. */
type Step = { readonly hits: readonly Hit[]; readonly next: Position | null };

/** Reads one page of a list, in steps, so that the daemon works in between. */
export async function readPage(
  search: Search,
  { limit, cursor }: PageAsk,
  { walk, clock }: { readonly walk: Walk; readonly clock: Clock },
): Promise<ListedPage | Fault> {
  const after = cursor === null ? null : parseCursor(cursor, walk);
  if (isFault(after)) return after;
  const hits: Hit[] = [];
  let next = after;
  for (let steps = 0; steps < MOST_STEPS && hits.length < limit; steps += 1) {
    if (steps > 0) await clock.nextTurn();
    const step = await walk.step(search, next);
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

function parseCursor(cursor: string, { name }: Walk): Position | Fault {
  try {
    const [walk, first, second]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (walk !== name || !Number.isSafeInteger(first)) return BAD_CURSOR;
    return typeof second === "string" || Number.isSafeInteger(second)
      ? [Number(first), second as string | number]
      : BAD_CURSOR;
  } catch {
    return BAD_CURSOR;
  }
}

/** The answer to a cursor of another list. */
export const BAD_CURSOR = fault(
  "invalid_request",
  "cursor must come from an answer to the same query; leave it out for the first page",
);

/** Whether a delivery matches the search. */
export function isWanted(one: ListedDelivery, search: Search): boolean {
  const { state, destination, source, type, user, since, until } = search;
  if (state !== null && one.state !== state) return false;
  if (destination !== null && one.destination !== destination) return false;
  if (source !== null && one.source !== source) return false;
  if (type !== null && one.type !== type) return false;
  if (user !== null && one.userId !== user) return false;
  const at = one.settledAt ?? one.acceptedAt;
  return (since === null || at >= since) && (until === null || at < until);
}
