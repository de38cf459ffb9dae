import type { Deletion } from "../model/deletion.ts";

/** A row of `deletions`, which is the same in all engines, except for their booleans. */
export type DeletionRow = Pick<Deletion, "id" | "status" | "stage" | "requestedAt" | "endedAt" | "users" | "upTo"> & {
  readonly erase: boolean | number;
  readonly suppress: boolean | number;
  readonly forced: boolean | number;
  readonly scope: string | null;
  readonly sources: string;
  readonly notices: string;
  readonly erased: string | null;
  readonly untold: string;
};

/** The names of its columns. */
export const DELETION = `id, status, stage, requested_at AS "requestedAt", ended_at AS "endedAt", users, scope, sources,
  up_to AS "upTo", erase, suppress, forced, notices, erased, untold`;

export function fromDeletionRow(row: DeletionRow | undefined): Deletion | null {
  if (!row) return null;
  const { erase, suppress, forced, scope, sources, notices, erased, untold, ...rest } = row;
  return {
    ...rest,
    erase: Boolean(erase),
    suppress: Boolean(suppress),
    forced: Boolean(forced),
    scope: scope === null ? null : JSON.parse(scope),
    sources: JSON.parse(sources),
    notices: JSON.parse(notices),
    untold: JSON.parse(untold),
    erased: erased === null ? null : JSON.parse(erased),
  };
}

/** Requests in one answer of `unfinished`. */
export const DELETIONS_IN_PAGE = 100;
