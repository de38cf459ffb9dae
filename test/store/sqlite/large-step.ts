// A large step, as a later schema may have one: it marks each row of "tried" once, and says so in its column.
import type { Database } from "../../../src/store/sqlite/driver.ts";
import type { LargeStep } from "../../../src/store/sqlite/migrate.ts";
import { STEPS } from "../../../src/store/sqlite/migrations.ts";

export const ROWS = 95;
/** So many rows a page: ten pages, the last of them short. */
const PAGE = 10;
export const PAGES = Math.ceil(ROWS / PAGE);

/** `page` is called before each page, with its number from 1. */
export function largeStep(page: (nth: number) => void = () => {}): LargeStep {
  let nth = 0;
  return {
    begin: "ALTER TABLE tried ADD COLUMN marks INTEGER NOT NULL DEFAULT 0;",
    last: (db) => Number(db.prepare<[], number>("SELECT max(event) FROM tried").pluck().get()),
    page(db, after) {
      nth += 1;
      page(nth);
      const mark = db.prepare<[number, number], number>(
        `UPDATE tried SET marks = marks + 1
          WHERE event IN (SELECT event FROM tried WHERE event > ? ORDER BY event LIMIT ?) RETURNING event`,
      );
      const events = mark.pluck().all(after, PAGE);
      return events.length < PAGE ? null : Math.max(...events);
    },
    end: "CREATE INDEX tried_marks ON tried (marks);",
  };
}

/** The schema after the present one. */
export const NEXT = STEPS.length + 1;

/** Rows for it, in a store of the present schema. */
export function fillTried(db: Database): void {
  const insert = db.prepare<[number]>(
    `INSERT INTO tried (event, destination, state, due_at, attempts, stood_still, accepted_at, about, body)
      VALUES (?, 'crm', 'waiting', 5, 1, 0, 1, '["website","track","m","u1"]', '{}')`,
  );
  db.transaction(() => {
    for (let event = 1; event <= ROWS; event += 1) insert.run(event);
  })();
}

/** How many marks each row has, and whether the step is over. */
export function marksIn(db: Database): {
  readonly marks: readonly number[];
  readonly over: boolean;
  readonly schema: unknown;
} {
  const marks = db.prepare<[], number>("SELECT marks FROM tried ORDER BY event").pluck().all();
  const left = db.prepare("SELECT name FROM sqlite_schema WHERE name = 'migration'").all();
  return { marks, over: left.length === 0, schema: db.pragma("user_version", { simple: true }) };
}

export const ALL_ONCE = { marks: Array.from({ length: ROWS }, () => 1), over: true, schema: NEXT };
