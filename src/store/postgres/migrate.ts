import { PACE } from "./claims.ts";
import type { Database, Sql, Tx } from "./database.ts";
import { isNotAllowed, OutboxRefused } from "./errors.ts";
import { STEPS, type Step, TABLE_NAMES } from "./schema.ts";

/** The oldest PostgreSQL that has what the statements use, such as `bit_count`. */
const OLDEST_SERVER = 140_000;

/** The version of the tables before and after; 0: there were none. */
export type Migrated = { readonly from: number; readonly to: number };

/**
 * Makes the tables, or brings them up to date, if the role may do that. Rejects with `OutboxRefused` if the daemon cannot use the
 * database.
 */
export async function prepareSchema(db: Database, steps: readonly Step[] = STEPS): Promise<Migrated> {
  const refused = await refusalOf(db, steps);
  if (refused) throw refused;
  return migrate(db, steps);
}

/** Why the daemon cannot use this database, whatever is done to the tables; null if it can. Changes nothing. */
export async function refusalOf(sql: Sql, steps: readonly Step[] = STEPS): Promise<OutboxRefused | null> {
  return (await refusalOfServer(sql)) ?? (await refusalOfRole(sql)) ?? (await refusalOfNewer(sql, steps));
}

async function refusalOfServer(sql: Sql): Promise<OutboxRefused | null> {
  const [server] = await sql.query<{ number: number; version: string; isStandby: boolean }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version,
       pg_is_in_recovery() AS "isStandby"`,
  );
  if (server && server.number < OLDEST_SERVER) {
    const why = `the server is PostgreSQL ${server.version}, and the outbox needs 14 or later; upgrade the server`;
    return new OutboxRefused("server_too_old", why);
  }
  if (!server?.isStandby) return null;
  return new OutboxRefused("server_is_standby", "the server is a standby and takes no writes; name the primary");
}

/** Rights that are lacking on tables that are there. */
async function refusalOfRole(sql: Sql): Promise<OutboxRefused | null> {
  const lacking = await sql.query<{ role: string; rights: string; names: string }>(LACKING, [TABLE_NAMES]);
  const [first] = lacking;
  if (!first) return null;
  const said = lacking.map(({ rights, names }) => `${rights} on ${names}`).join("; ");
  const why = `the role ${first.role} lacks ${said}; ${remedyFor("the owner of the tables, which grants them")}`;
  return new OutboxRefused("grants_missing", why);
}

const LACKING = `
  WITH ours AS (SELECT relnamespace AS schema FROM pg_class WHERE oid = to_regclass('meta')), lacking (nth, rights, name) AS (
    SELECT 1, string_agg(p.wanted, ', ' ORDER BY p.nth), c.relname::text
    FROM ours JOIN pg_class c ON c.relnamespace = ours.schema AND c.relkind = 'r' AND c.relname = ANY ($1::text[]),
      unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) WITH ORDINALITY p (wanted, nth)
    WHERE NOT has_table_privilege(c.oid, p.wanted) GROUP BY c.relname
    UNION ALL
    SELECT 2, 'USAGE', 'event_numbers' FROM ours WHERE NOT has_sequence_privilege(to_regclass('event_numbers'), 'USAGE')
    UNION ALL
    SELECT 3, 'EXECUTE', 'the_time()' FROM ours WHERE NOT has_function_privilege(to_regprocedure('the_time()'), 'EXECUTE')
  )
  SELECT current_user::text AS role, rights, string_agg(name, ', ' ORDER BY name) AS names FROM lacking GROUP BY nth, rights ORDER BY nth, rights`;

/** Tables of a newer version are used if a step did not rule that out. */
async function refusalOfNewer(sql: Sql, steps: readonly Step[]): Promise<OutboxRefused | null> {
  const { version, oldest } = await versionOf(sql);
  const known = steps.length;
  if (version <= known || oldest <= known) return null;
  const why =
    `the tables of the outbox have version ${version}, which needs at least version ${oldest}, and this Fairlead knows ${known}; ` +
    "start the newer Fairlead that migrated them";
  return new OutboxRefused("schema_newer", why);
}

function remedyFor(whom: string): string {
  return `run fairlead migrate --as ROLE, with ${whom}`;
}

/** Two daemons may start at the same moment. The number is any that no other program locks. */
const LOCK = 4_027_194_533;

async function migrate(db: Database, steps: readonly Step[]): Promise<Migrated> {
  const { version: from } = await versionOf(db);
  let to = from;
  try {
    while (to < steps.length) to = await stepOn(db, steps);
  } catch (error) {
    throw isNotAllowed(error) ? await refusalOfChange(db, { error, from, to: steps.length }) : error;
  }
  return { from, to };
}

async function stepOn(db: Database, steps: readonly Step[]): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    const { version } = await versionOf(tx);
    const step = steps[version];
    // Another daemon was quicker.
    if (!step) return version;
    if (version > 0) await refuseBesideOlder(tx, step);
    await tx.query(step.sql);
    await tx.query(
      `INSERT INTO meta VALUES ('schema', $1), ('oldest', $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [version + 1, step.oldest],
    );
    return version + 1;
  });
}

/** Daemons that run cannot be refused any more: they are upgraded before a step that they cannot live with. */
async function refuseBesideOlder(tx: Tx, { oldest }: Step): Promise<void> {
  const [older] = await tx.query<{ host: string; pid: string }>(
    `SELECT about ->> 'host' AS host, about ->> 'pid' AS pid FROM daemons
     WHERE beat_at >= the_time() - $1 AND coalesce((about ->> 'schema')::int, 1) < $2 ORDER BY id LIMIT 1`,
    [PACE.silence, oldest],
  );
  if (!older) return;
  const why = `the daemon on ${older.host} (process ${older.pid}) is too old for the tables that this Fairlead needs; upgrade it first`;
  throw new OutboxRefused("daemons_older", why);
}

type Denied = Migrated & { readonly error: unknown };

async function refusalOfChange(sql: Sql, { error, from, to }: Denied): Promise<OutboxRefused> {
  const [who] = await sql.query<{ role: string }>("SELECT current_user::text AS role");
  const why = error instanceof Error ? error.message : String(error);
  const denied = `the role ${who?.role} may not ${from === 0 ? "make" : "change"} them (${why})`;
  if (from === 0) {
    const text = `the database shows no tables of an outbox, and ${denied}; ${remedyFor("a role that may")}`;
    return new OutboxRefused("schema_missing", text);
  }
  const text = `the tables of the outbox have version ${from}, this Fairlead needs ${to}, and ${denied}`;
  return new OutboxRefused("schema_older", `${text}; ${remedyFor("their owner")}`);
}

/** 0 if there are no tables. */
export async function versionOf(sql: Sql): Promise<{ readonly version: number; readonly oldest: number }> {
  // `to_regclass` may not see what another daemon has just made: it looks into what its connection remembers.
  const found = await sql.query("SELECT FROM pg_class WHERE relname = 'meta' AND pg_table_is_visible(oid)");
  if (found.length === 0) return { version: 0, oldest: 0 };
  const rows = await sql.query<{ name: string; value: number }>(
    "SELECT name, value FROM meta WHERE name IN ('schema', 'oldest')",
  );
  const { schema = 0, oldest = schema } = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  return { version: schema, oldest };
}

/** Whether the role may make the tables, or change those that are there. */
export async function mayChange(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ may: boolean | null }>(
    `SELECT CASE WHEN to_regclass('meta') IS NULL THEN has_schema_privilege(current_schema(), 'CREATE')
       ELSE (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('meta')) END AS may`,
  );
  return row?.may ?? false;
}

/** MAINTAIN allows VACUUM, without which erasing does not end. Before it, only the owner may. */
const MAINTAIN_SINCE = 170_000;

/** Gives this role the rights that a daemon needs and no others. */
export async function grantTo(db: Database, role: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [names] = await tx.query<{ role: string; schema: string; server: number }>(
      `SELECT quote_ident($1) AS role, c.relnamespace::regnamespace::text AS schema, current_setting('server_version_num')::int AS server
       FROM pg_class c WHERE c.oid = to_regclass('meta')`,
      [role],
    );
    if (!names) return;
    const rights = names.server < MAINTAIN_SINCE ? RIGHTS : `${RIGHTS}, MAINTAIN`;
    await tx.query(
      `GRANT USAGE ON SCHEMA ${names.schema} TO ${names.role};
       GRANT ${rights} ON ${TABLE_NAMES.join(", ")} TO ${names.role};
       GRANT USAGE ON SEQUENCE event_numbers TO ${names.role};
       GRANT EXECUTE ON FUNCTION the_time() TO ${names.role}`,
    );
  });
}

const RIGHTS = "SELECT, INSERT, UPDATE, DELETE";
