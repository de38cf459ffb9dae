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
 * What is gone for every query may be in the free space of a page until that is used again, in the write-ahead log, and in
 * backups: those are the operator's.
 */
export function createScrub({ sql, report }: ScrubParts): StoredDeletions["scrub"] {
  let isToldOfOwner = false;

  return async function scrub() {
    try {
      await sql.query("INSERT INTO vacuum_probe VALUES (the_time())");
      await sql.query("DELETE FROM vacuum_probe");
      await sql.query("VACUUM (TRUNCATE) vacuum_probe");
      const probe = await readProbe(sql);
      if (probe.isEmpty) {
        for (const statement of VACUUMS) await sql.query(statement);
        return true;
      }
      if (probe.mayNot && !isToldOfOwner) {
        isToldOfOwner = true;
        report.storeFailed("remove what is left of erased rows", notAllowed(probe.mayNot));
      }
      return false;
    } catch (error) {
      report.storeFailed("remove what is left of erased rows", error);
      return UNWRITTEN;
    }
  };
}

/** The indexes of the large tables have nothing of a user, and would be read in full. */
const VACUUMS = [
  "VACUUM (INDEX_CLEANUP OFF) segments",
  "VACUUM (INDEX_CLEANUP OFF) tried",
  "VACUUM deletion_users",
  "VACUUM members",
  "VACUUM changes",
];

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

function notAllowed(user: string): Error {
  return new Error(
    `the role ${user} may not VACUUM the tables of the outbox, so deletions that erase do not end; make it their owner, ` +
      "or, from PostgreSQL 17 on, GRANT MAINTAIN ON ALL TABLES IN SCHEMA … to it",
  );
}
