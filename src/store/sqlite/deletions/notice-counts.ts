import type { NoticeCount, NoticeState } from "../../../model/deletion.ts";

/** What has become of one notice, by destination. A list of pairs: a destination may be called as a key of every object. */
export type Fates = readonly (readonly [destination: string, state: NoticeState])[];

const NONE: Record<NoticeState, number> = { waiting: 0, delivered: 0, failed: 0, expired: 0, forgotten: 0 };

type Change = { readonly source: string; readonly before: Fates; readonly now: Fates };

/** The counts after a notice of this source has changed. */
export function recount(counts: readonly NoticeCount[], { source, before, now }: Change): readonly NoticeCount[] {
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
