import type { NoticeCount, NoticeState } from "../model/deletion.ts";
import type { FoundEvent } from "../model/lookup.ts";

/** The state of one notice at each destination. A list of pairs, as a destination may be called `constructor`. */
export type Fates = readonly (readonly [destination: string, state: NoticeState])[];

/** The current state of a notice. A final state stays when the delivery is no longer kept. */
function fatesOf(before: Fates, found: FoundEvent | null): Fates {
  const now: Fates = (found?.deliveries ?? []).map(({ destination, state }) => [destination, state]);
  const known = new Set(now.map(([destination]) => destination));
  const gone = before.flatMap(([destination, was]): Fates => {
    if (known.has(destination)) return [];
    if (was !== "waiting") return [[destination, was]];
    // If the event is whole, the operator has moved the delivery to another destination.
    return found?.whole && !found.forgotten.includes(destination) ? [] : [[destination, "forgotten"]];
  });
  return [...now, ...gone];
}

/** How a notice has changed since it was written with these fates; null if it has not. */
export function noticeChange(written: string, found: FoundEvent | null): NoticeChange | null {
  const before: Fates = JSON.parse(written);
  const now = fatesOf(before, found);
  // A failed delivery can be sent again for as long as it is kept.
  const open = (found?.deliveries ?? []).some(({ state }) => state !== "delivered");
  return open && JSON.stringify(now) === written ? null : { before, now, open };
}

/** `open`: whether its state can still change. */
export type NoticeChange = { readonly before: Fates; readonly now: Fates; readonly open: boolean };

const NONE: Record<NoticeState, number> = { waiting: 0, delivered: 0, failed: 0, expired: 0, forgotten: 0 };

type CountChange = { readonly source: string; readonly before: Fates; readonly now: Fates };

/** The counts after a notice of this source has changed. */
export function recount(counts: readonly NoticeCount[], { source, before, now }: CountChange): readonly NoticeCount[] {
  const taken = before.reduce((sum, fate) => bump(sum, { source, fate, by: -1 }), counts);
  const given = now.reduce((sum, fate) => bump(sum, { source, fate, by: 1 }), taken);
  return given.filter((one) => totalOf(one) > 0);
}

type Bump = { readonly source: string; readonly fate: Fates[number]; readonly by: number };

function bump(counts: readonly NoticeCount[], { source, fate, by }: Bump): readonly NoticeCount[] {
  const [destination, state] = fate;
  const isIt = (one: NoticeCount): boolean => one.source === source && one.destination === destination;
  const known = counts.find(isIt) ?? { source, destination, ...NONE };
  const changed = { ...known, [state]: known[state] + by };
  return counts.some(isIt) ? counts.map((one) => (isIt(one) ? changed : one)) : [...counts, changed];
}

function totalOf({ waiting, delivered, failed, expired, forgotten }: NoticeCount): number {
  return waiting + delivered + failed + expired + forgotten;
}
