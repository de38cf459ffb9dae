import type { StoredDeletions } from "../../model/deletion.ts";
import type { Report } from "../../model/report.ts";
import { UNWRITTEN } from "../room.ts";
import type { Sql } from "./database.ts";

/** `sql`: VACUUM reads what has changed in the tables since the last time, which may take minutes. */
type ScrubParts = { readonly sql: Sql; readonly report: Pick<Report, "storeFailed"> };

/**
 * Removes the old versions of rows that were erased, which PostgreSQL keeps for as long as a transaction may read them. VACUUM
 * does not say whether it could: it leaves what is still needed, and warns of tables of another owner. So a row is put into an
 * empty table and deleted, which makes it newer than all erased ones. If VACUUM gives its page back, nobody needs those
 * either. Otherwise the answer is false, and the large tables are not read in vain.
 *
 * A role that may not VACUUM waits until the owner has run VACUUM (FREEZE): a table has nothing of transactions before its
 * `relfrozenxid`, neither rows nor old versions.
 *
 * What is gone for every query may be in the free space of a page until that is used again, in the write-ahead log, and in
 * backups: those are the operator's.
 */
export function createScrub({ sql, report }: ScrubParts): Pick<StoredDeletions, "rewrite" | "scrub"> {
  let isToldOfOwner = false;
  /** A transaction that is newer than all that have erased. */
  let newer: string | null = null;

  return {
    // An erased row leaves its old version, and nothing anywhere else. What was erased since the last time is newer.
    async rewrite() {
      newer = null;
      return true;
    },
    async scrub() {
      try {
        const { mayNot } = await readProbe(sql);
        return mayNot === null ? await vacuum() : await isVacuumed(mayNot);
      } catch (error) {
        report.storeFailed("scrub erased rows", error);
        return UNWRITTEN;
      }
    },
  };

  async function vacuum(): Promise<boolean> {
    await sql.query("INSERT INTO vacuum_probe VALUES (the_time())");
    await sql.query("DELETE FROM vacuum_probe");
    await sql.query("VACUUM (TRUNCATE) vacuum_probe");
    if (!(await readProbe(sql)).isEmpty) return false;
    for (const statement of VACUUMS) await sql.query(statement);
    return true;
  }

  async function isVacuumed(role: string): Promise<boolean> {
    if (!isToldOfOwner) report.storeFailed("scrub erased rows", notAllowed(role));
    isToldOfOwner = true;
    if (newer === null) {
      const [transaction] = await sql.query<{ id: string }>("SELECT pg_current_xact_id()::text AS id");
      newer = transaction?.id ?? null;
      return false;
    }
    return (await sql.query(UNFROZEN, [TABLES, newer])).length === 0;
  }
}

/** Those that have something of a user. */
const TABLES = ["segments", "tried", "deletion_users", "members", "changes"];

/** The indexes of the large tables have nothing of a user, and would be read in full. */
const VACUUMS = TABLES.map((table) => {
  const options = table === "segments" || table === "tried" ? "(INDEX_CLEANUP OFF) " : "";
  return `VACUUM ${options}${table}`;
});

/** Tables, and those that hold their long values, where something older than a transaction may be left. */
const UNFROZEN = `
  SELECT FROM pg_class WHERE age(relfrozenxid) > age($2::text::xid8::xid) AND oid IN (
    SELECT unnest(ARRAY[oid, reltoastrelid]) FROM pg_class WHERE oid = ANY ($1::text[]::regclass[]))`;

type Probe = { readonly isEmpty: boolean; readonly mayNot: string | null };

export async function readProbe(sql: Sql): Promise<Probe> {
  const [probe] = await sql.query<Probe>(PROBE);
  return probe ?? { isEmpty: false, mayNot: null };
}

/** `mayNot`: the user, if it is neither the owner of the table nor of the database, nor has a right that PostgreSQL 17 added. */
const PROBE = `
  SELECT pg_relation_size(c.oid) = 0 AS "isEmpty", CASE
    WHEN pg_has_role(c.relowner, 'USAGE') OR pg_has_role(d.datdba, 'USAGE') THEN NULL
    WHEN current_setting('server_version_num')::int < 170000 THEN current_user
    WHEN has_table_privilege(c.oid, CASE WHEN c.oid > 0 THEN 'MAINTAIN' END) THEN NULL
    ELSE current_user END AS "mayNot"
  FROM pg_class c, pg_database d WHERE c.oid = 'vacuum_probe'::regclass AND d.datname = current_database()`;

function notAllowed(role: string): Error {
  return new Error(
    `the role ${role} may not VACUUM the tables of the outbox, so deletions that erase cannot finish. Run ` +
      `VACUUM (FREEZE) ${TABLES.join(", ")} as their owner; or make the role a member of the owner, or, from PostgreSQL 17 on, ` +
      "run fairlead migrate --as OWNER, which grants it MAINTAIN",
  );
}
