import type { ComparedPage, Comparison, Member, SyncCounts } from "../model/audience.ts";

/** Users of each side in one page. */
export const IN_PAGE = 250;

/** A user's value as JSON. A user without a value counts as absent. */
export type Value = { readonly user: string; readonly value: string | null };

/** What one page of a list changes. Both sides are the next users in the order of the store, at most `IN_PAGE` of each. */
export function comparePage(
  wanted: readonly Value[],
  known: readonly Value[],
  others: Comparison["others"],
): ComparedPage {
  const end = endOf(wanted, known);
  const changes: Member[] = [];
  const counts = { added: 0, changed: 0, removed: 0 };
  for (const { user, was, is } of pairs(until(wanted, end), until(known, end))) {
    const next = is === undefined && others === "keep" ? was : (is ?? null);
    if (next === was) continue;
    changes.push({ user, value: next === null ? null : JSON.parse(next) });
    counts[kindOf(was, next)] += 1;
  }
  return { changes, counts, after: end };
}

/** The last user of this page; null if there are no others after it. */
function endOf(...sides: readonly (readonly Value[])[]): string | null {
  const ends = sides.flatMap((rows) => (rows.length === IN_PAGE ? (rows.at(-1)?.user ?? []) : []));
  return ends.toSorted(compareText)[0] ?? null;
}

function until<R extends Value>(rows: readonly R[], end: string | null): readonly R[] {
  return end === null ? rows : rows.filter(({ user }) => compareText(user, end) <= 0);
}

/** `is` is undefined for a user who is not in the list. */
type Pair = { readonly user: string; readonly was: string | null; readonly is: string | null | undefined };

/** Every user of either side, in the order of the store. */
function pairs(wanted: readonly Value[], known: readonly Value[]): readonly Pair[] {
  const all: Pair[] = [];
  let at = 0;
  for (const { user, value } of wanted) {
    for (let row = known[at]; row && compareText(row.user, user) < 0; row = known[at]) {
      all.push({ user: row.user, was: row.value, is: undefined });
      at += 1;
    }
    const same = known[at]?.user === user ? known[at] : undefined;
    if (same) at += 1;
    all.push({ user, was: same?.value ?? null, is: value });
  }
  return [...all, ...known.slice(at).map((row) => ({ user: row.user, was: row.value, is: undefined }))];
}

function kindOf(was: string | null, next: string | null): keyof SyncCounts {
  if (was === null) return "added";
  return next === null ? "removed" : "changed";
}

const SURROGATES = 0xd800;
const AFTER_SURROGATES = 0xe000;

/** Compares by code points, as SQLite does. JavaScript compares UTF-16 units, which puts surrogate pairs before U+E000. */
function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

function rank(unit: number): number {
  return unit >= SURROGATES && unit < AFTER_SURROGATES ? unit + 0x10000 : unit;
}
