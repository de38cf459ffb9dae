import type { Migrating } from "../../model/supervisor.ts";
import type { Database } from "./driver.ts";

/** One step from a schema to the next: SQL that is quick on an outbox of any size, in one transaction; or a large one. */
export type Step = string | LargeStep;

/**
 * A step over many rows. It goes page by page, each in a transaction of its own that also says how far it has come: a daemon
 * that ends in the middle goes on there at its next start. From `begin` on the file is of the new schema, so that no older
 * Fairlead opens it half done; the table "migration" is there until `end`.
 */
export type LargeStep = {
  /** SQL before the first page. */
  readonly begin: string;
  /** The number that the last row to be touched has; what `page` answers gets there. */
  last(db: Database): number;
  /** Brings the next rows up to date, some 1,000, those after this number. Answers the last one's, or null when none is left. */
  page(db: Database, after: number): number | null;
  /** SQL after the last page. */
  readonly end: string;
};

/** A store that a newer Fairlead has written. */
export class SchemaNewer extends Error {
  readonly code = "schema_newer";
}

export function isLarge(step: Step | undefined): step is LargeStep {
  return typeof step === "object";
}

/** The schema of a file; 0 if it is new. Throws if the file was written by a newer Fairlead, which knows more of them. */
export function schemaOf(db: Database, newest: number): number {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version <= newest) return version;
  throw new SchemaNewer(
    `its schema is version ${version}, and this Fairlead knows up to ${newest}; ` +
      "use the newer Fairlead that wrote it, or a backup from before the upgrade",
  );
}

/** The large step that was begun and not ended, as its schema and the number that it has come to; null if there is none. */
export function unfinishedStep(db: Database): Unfinished | null {
  const has = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'").get();
  return has ? (db.prepare<[], Unfinished>("SELECT step, after FROM migration").get() ?? null) : null;
}

type Unfinished = { readonly step: number; readonly after: number };

/** Takes the steps that the file has not seen, up to `upTo`; `migrating` hears of each step of a file that is not new. */
export function takeSteps(
  db: Database,
  steps: readonly Step[],
  { upTo = steps.length, migrating }: { readonly upTo?: number; readonly migrating?: Migrating | undefined } = {},
): void {
  const version = schemaOf(db, steps.length);
  const tell = (step: number, share?: number): void => {
    if (version > 0) migrating?.({ step, of: upTo, bytes: sizeOf(db), ...(share !== undefined && { share }) });
  };
  const unfinished = unfinishedStep(db);
  if (unfinished !== null) {
    tell(unfinished.step);
    goThrough(db, steps[unfinished.step - 1], { ...unfinished, tell });
  }
  for (let next = version + 1; next <= upTo; next += 1) {
    const step = steps[next - 1];
    tell(next);
    if (!isLarge(step)) {
      db.exec(`BEGIN IMMEDIATE; ${step} PRAGMA user_version = ${next}; COMMIT`);
      continue;
    }
    db.exec(`BEGIN IMMEDIATE; ${step.begin} CREATE TABLE migration (step INTEGER NOT NULL, after INTEGER NOT NULL) STRICT;
      INSERT INTO migration VALUES (${next}, ${BEFORE_ALL}); PRAGMA user_version = ${next}; COMMIT`);
    goThrough(db, step, { step: next, after: BEFORE_ALL, tell });
  }
}

/** No row has this number. */
const BEFORE_ALL = -1;

type Way = Unfinished & { readonly tell: (step: number, share: number) => void };

/** Goes on with a large step that was begun, to its end. */
function goThrough(db: Database, step: Step | undefined, { step: number, after: from, tell }: Way): void {
  if (!isLarge(step)) throw new Error(`it is in the middle of step ${number}, which goes by no pages here`);
  const last = Math.max(1, step.last(db));
  const remember = db.prepare<[number]>("UPDATE migration SET after = ?");
  let told = -1;
  for (let after: number | null = from; after !== null; ) {
    const percent = Math.min(100, Math.floor((Math.max(0, after) * 100) / last));
    if (percent > told) tell(number, percent / 100);
    told = percent;
    const begin: number = after;
    const page = db.transaction((): number | null => {
      const next = step.page(db, begin);
      if (next !== null) remember.run(next);
      return next;
    });
    after = page.immediate();
  }
  db.exec(`BEGIN IMMEDIATE; ${step.end} DROP TABLE migration; COMMIT`);
}

export function sizeOf(db: Database): number {
  return Number(db.pragma("page_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
}
