import type { ComparedPage, Computation, Member, Members, SyncCounts, Upload } from "../model/audience.ts";
import type { Suppressed } from "../model/deletion.ts";
import { fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";

/** Users looked up or written at a time, so that other work is not held up. */
const IN_PAGE = 1_000;

export const NOBODY: SyncCounts = { added: 0, changed: 0, removed: 0 };

/** Users whose value changes, page by page. */
export type Pages = AsyncIterable<Pick<ComparedPage, "changes" | "counts">>;

export type PagesWorld = { readonly members: Members; readonly clock: Pick<Clock, "nextTurn"> };

export type Compared = {
  readonly upload: Upload | null;
  readonly known: Computation | null;
  readonly others: "remove" | "keep";
};

/** The changes of a list, as the store compares it. */
export async function* comparedPages({ upload, known, others }: Compared, { members, clock }: PagesWorld): Pages {
  let after: string | null = null;
  do {
    const page: ComparedPage = await members.compare({ upload, computation: known?.number ?? null, others, after });
    yield page;
    after = page.after;
    await clock.nextTurn();
  } while (after !== null);
}

/** For a silent removal: no changes are written down, and all users count as removed. */
export async function* noPages({ size }: Computation): Pages {
  yield { changes: [], counts: { ...NOBODY, removed: size } };
}

/** Those of these users whose value changes. Each user is listed once. */
export async function* changedPages(wanted: readonly Member[], known: Computation, members: Members): Pages {
  for (let from = 0; from < wanted.length; from += IN_PAGE) {
    const part = wanted.slice(from, from + IN_PAGE);
    const values = await members.values(
      known.number,
      part.map(({ user }) => user),
    );
    const changes = part.filter(({ user, value }) => (values.get(user) ?? null) !== value);
    const removed = changes.filter(({ value }) => value === null).length;
    const added = changes.filter(({ user }) => !values.has(user)).length;
    yield { changes, counts: { added, removed, changed: changes.length - added - removed } };
  }
}

export type AllowedWorld = {
  readonly suppressed: Pick<Suppressed, "among">;
  /** Left out on a dry run. */
  readonly report?: Pick<Report, "callRejected">;
};

/** Leaves out users who were deleted and are suppressed: no call about them is made, and they get no value. */
export async function* allowedPages(
  pages: Pages,
  { source }: { readonly source: string },
  { suppressed, report }: AllowedWorld,
): Pages {
  for await (const page of pages) {
    const users = page.changes.map(({ user }) => user);
    const deleted = await suppressed.among(users, source);
    const changes = page.changes.filter(({ user }) => !deleted.has(user));
    const refused = page.changes.length - changes.length;
    if (refused > 0) {
      report?.callRejected({ source, type: "identify", messageId: null, fault: SUPPRESSED, count: refused });
    }
    yield { changes, counts: { ...page.counts, added: page.counts.added - refused } };
  }
}

export const SUPPRESSED = fault(
  "user_suppressed",
  "the list contains users that were deleted and suppressed: calls about them are refused (fairlead deletions unsuppress)",
);

/** The sum of all pages. */
export async function count(pages: Pages): Promise<SyncCounts> {
  let sum = NOBODY;
  for await (const { counts } of pages) sum = plus(sum, counts);
  return sum;
}

export function plus(one: SyncCounts, other: SyncCounts): SyncCounts {
  return {
    added: one.added + other.added,
    changed: one.changed + other.changed,
    removed: one.removed + other.removed,
  };
}
