// The judgement of `fairlead doctor` of an outbox on PostgreSQL.
import type { Ms } from "../../model/units.ts";
import { type Finding, findingsOf } from "./judge.ts";

const store = findingsOf("store");

export type DatabaseFacts =
  /** `code`: `database_away` if it cannot be reached. */
  { readonly kind: "away"; readonly path: string; readonly code: string; readonly why: string } | DatabaseAnswer;

type DatabaseAnswer = {
  readonly kind: "answers";
  readonly path: string;
  readonly version: string;
  readonly roundTrip: Ms;
  /** The version of its tables; 0 if there are none. */
  readonly schema: number;
  /** The newest one that this binary knows. */
  readonly newest: number;
  /** Why the daemon cannot use it; null if it can. */
  readonly refused: { readonly code: string; readonly message: string } | null;
  /** Whether the role may make or change the tables. */
  readonly mayChange: boolean;
  /** The role, if it may not VACUUM the tables. */
  readonly mayNotVacuum: string | null;
  /** How many daemons share it now. */
  readonly daemons: number;
  readonly doubts: readonly { readonly code: string; readonly what: string; readonly remedy: string }[];
};

/** Judges whether the daemon can use the database, and whether acknowledged calls are safe there. */
export function judgeDatabase(facts: DatabaseFacts): readonly Finding[] {
  if (facts.kind === "away")
    return [store.error(facts.code, facts.why, "check that the server runs, and look at its log")];
  const { mayNotVacuum, doubts } = facts;
  const found = [judgeTables(facts), ...doubts.map(({ code, what, remedy }) => store.warning(code, what, remedy))];
  if (mayNotVacuum === null) return found;
  const what = `the role ${mayNotVacuum} may not VACUUM the tables, so deletions that erase wait until the owner does`;
  return [...found, store.warning("may_not_vacuum", what, MAINTAIN)];
}

const MAINTAIN =
  "from PostgreSQL 17 on, run fairlead migrate --as OWNER, which grants it; on older servers, make the role a member of the owner, " +
  "or let the owner run VACUUM (FREEZE) on the tables every night";

function judgeTables(facts: DatabaseAnswer): Finding {
  const { path, version, roundTrip, schema, newest, refused, mayChange, daemons } = facts;
  const server = `${path} is on PostgreSQL ${version}, which answers in ${roundTrip.toFixed(1)} ms`;
  if (refused) return store.error(refused.code, `${server}; ${refused.message}`);
  if (schema < newest) {
    const what = schema === 0 ? `${server}; it has no tables yet` : `${server}; its tables have version ${schema}`;
    const code = schema === 0 ? "schema_missing" : "schema_older";
    const by = schema === 0 ? "creates them" : `upgrades them to ${newest}`;
    if (mayChange) return store.warning(code, what, `the next start ${by}; so does fairlead migrate`);
    return store.error(code, `${what}, and the role may not change that`, `fairlead migrate --as OWNER ${by}`);
  }
  const known = schema === newest ? "as this binary expects" : "which this binary can use";
  const users = daemons === 1 ? "1 daemon uses it" : `${daemons} daemons use it`;
  return store.ok(`${server}; its tables have version ${schema}, ${known}; ${users}`);
}
