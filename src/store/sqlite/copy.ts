import type { Migrating } from "../../model/daemon.ts";
import type { BeginFile, Disk, NewFile } from "../../model/disk.ts";
import type { Contents } from "../../model/lookup.ts";
import { type At, formatSize, GB, MB } from "../../model/units.ts";
import { type Database, messageOf, openExisting, sizeOf } from "./driver.ts";
import { logOf } from "./files.ts";
import { findLostCommits } from "./log-check.ts";
import { readMemory } from "./meta.ts";
import { faultOfSchema, type SchemaFault, schemaOf } from "./schema.ts";
import { contentsOfTail, type TailContents } from "./stored-tail.ts";

/** What is wrong with a store, with a stable code; null if nothing is. */
type Damage = { readonly code: "store_damaged" | "store_unknown"; readonly message: string } | SchemaFault;

/** A usable store, and its contents. */
type Checked = { readonly contents: Contents };

/** `quick` does not check each index against its table. */
type Depth = "full" | "quick";

/**
 * Makes one self-contained file, without a write-ahead log, of a store that nobody else has open. Answers its contents, or what
 * is wrong with it.
 */
export async function checkCopy(path: string, depth: Depth): Promise<Checked | Damage> {
  let db: Database | null = null;
  try {
    db = await openExisting(path);
    // In WAL mode even a reader would have to write files beside it.
    db.pragma("journal_mode = DELETE");
    return checkStore(db, depth);
  } catch (error) {
    return { code: "store_damaged", message: messageOf(error) };
  } finally {
    db?.close();
  }
}

/** Answers the contents of a store, or what is wrong with it. Reads all of it. */
function checkStore(db: Database, depth: Depth): Checked | Damage {
  const version = Number(db.pragma("user_version", { simple: true }));
  const refused = faultOfSchema(version);
  if (refused) return refused;
  const faults = db.pragma(depth === "full" ? "integrity_check(5)" : "quick_check(5)") as Record<string, string>[];
  const found = faults.flatMap((row) => Object.values(row)).filter((text) => text !== "ok");
  if (found.length > 0) return { code: "store_damaged", message: found.join("; ") };
  const contents = version === 0 ? null : readContents(db);
  return contents
    ? { contents }
    : { code: "store_unknown", message: "it is an SQLite file, but not an outbox of Fairlead" };
}

/** Inspects a store of any schema, at one moment. Null if the SQLite file is no store. */
export function readContents(db: Database): Contents | null {
  return db.transaction(() => readTables(db))();
}

function readTables(db: Database): Contents | null {
  const tables = new Set(db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all());
  if (!["segments", "contents", "progress", "tried", "counts", "meta"].every((name) => tables.has(name))) return null;
  const count = (table: string, what = "count(*)"): number =>
    tables.has(table) ? Number(db.prepare<[], number>(`SELECT ${what} FROM ${table}`).pluck().get()) : 0;
  const schema = Number(db.pragma("user_version", { simple: true }));
  const findTail = db.prepare("SELECT 1 FROM pragma_table_info('contents') WHERE name = 'tail_sum'");
  const tail = findTail.get() === undefined ? NO_TAIL : contentsOfTail(db);
  return {
    schema,
    events: count("segments", "total(events)") + tail.events,
    newestAt: newestOf(db, tail),
    deliveries: deliveriesOf(db, tail),
    computations: count("computations"),
    suppressed: count("suppressed", "count(DISTINCT hash)"),
  };
}

/**
 * In the machine's time, as the store last saw it. Events whose segment was pruned are older than those in segments, so they
 * count only if there is no segment.
 */
function newestOf(db: Database, { newestAt }: TailContents): At | null {
  const newest = db.prepare<[At | null], number | null>(
    `SELECT max(at) FROM (SELECT * FROM (SELECT accepted_at AS at FROM segments ORDER BY first DESC LIMIT 1)
      UNION ALL SELECT * FROM (SELECT accepted_at FROM tried ORDER BY event DESC LIMIT 1) UNION ALL SELECT ?)`,
  );
  const at = newest.pluck().get(newestAt) ?? null;
  return at === null ? null : at + (readMemory(db)?.shift ?? 0);
}

function deliveriesOf(db: Database, { waiting, delivered }: TailContents): Contents["deliveries"] {
  const none = { waiting: 0, delivered: 0, failed: 0, expired: 0 };
  const rows = db.prepare<[], { state: string; count: number }>(
    "SELECT state, sum(count) AS count FROM counts GROUP BY state",
  );
  const folded = { ...none, ...Object.fromEntries(rows.all().map(({ state, count }) => [state, count])) };
  return { ...folded, waiting: folded.waiting + waiting, delivered: folded.delivered + delivered };
}

/** Another schema may have none. */
const NO_TAIL: TailContents = { events: 0, newestAt: null, waiting: 0, delivered: 0 };

/** How many rows each table has, by its name. */
export function countRows(db: Database): Readonly<Record<string, number>> {
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
  const counts = names.map((name) => [name, Number(db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get())]);
  return Object.fromEntries(counts);
}

/** Commands check larger logs than a start does; memory still bounds them. */
const MOST = GB;

/** The commits in an outbox's log that SQLite would skip in silence; null if there are none. A daemon may have the outbox open. */
export async function damageOfLog(outbox: string, disk: Pick<Disk, "size" | "read">): Promise<string | null> {
  let lost: Error | null = null;
  // Checked twice, as the daemon may restart the log meanwhile.
  for (let look = 0; look < 2; look += 1) {
    lost = await findLostCommits(logOf(outbox), disk, MOST);
    if (lost === null) return null;
  }
  return lost?.message ?? null;
}

/** The progress of a copy, in bytes. */
export type Copied = { readonly done: number; readonly total: number };

type CopyOptions = {
  /** Called after each step. If it throws, the copy ends. */
  readonly stepped?: ((copied: Copied) => void) | undefined;
  /** Called before the copy, on the same snapshot of the store. */
  readonly look?: ((db: Database) => void) | undefined;
};

/** Bytes copied at a time, so that signals are handled in between. */
const STEP = 4 * MB;
/**
 * Bytes between two syncs of the copy. Without them the system would write all of it at the end, and block the fsync of a daemon
 * on the same disk meanwhile.
 */
const UNFLUSHED = 8 * MB;

/**
 * Copies a snapshot of a store, page by page. Later writes stay in its write-ahead log, which cannot restart until the copy is
 * done. `db` must be in no transaction, and must not be used meanwhile.
 */
export async function copyPages(db: Database, file: NewFile, { stepped, look }: CopyOptions = {}): Promise<void> {
  const pageSize = Number(db.pragma("page_size", { simple: true }));
  const pages = Math.max(1, Math.floor(STEP / pageSize));
  let [before, unflushed] = [0, 0];
  await inSnapshot(db, async () => {
    look?.(db);
    await db.backup(file.path, {
      progress({ totalPages, remainingPages }) {
        const done = (totalPages - remainingPages) * pageSize;
        unflushed += done - before;
        before = done;
        if (unflushed >= UNFLUSHED) {
          file.flush();
          unflushed = 0;
        }
        stepped?.({ done, total: totalPages * pageSize });
        return pages;
      },
    });
  });
}

/** Holds one snapshot of the store. Without it each commit of the daemon would restart the copy. */
async function inSnapshot(db: Database, run: () => Promise<void>): Promise<void> {
  db.exec("BEGIN");
  try {
    // The snapshot begins with the first read.
    db.prepare("SELECT 1 FROM sqlite_schema").get();
    await run();
  } finally {
    db.exec("ROLLBACK");
  }
}

/** What `keepCopy` needs. */
export type CopyWorld = {
  /** Left out, none is kept. */
  readonly beginFile?: BeginFile | undefined;
  readonly disk: Pick<Disk, "space" | "size">;
  /** Bytes of the disk that must stay free. */
  readonly freeDisk: number;
  readonly migrating?: Migrating | undefined;
};

/** There is no room for the copy. */
class NoRoom extends Error {
  readonly code = "no_room_for_copy";
}

/** The path of the copy of a store with this schema. The operator removes it. */
export function copyOf(path: string, schema: number): string {
  return `${path}.schema-${schema}`;
}

type Upgrade = { readonly path: string; readonly newest: number };

/**
 * Copies a store before it is upgraded. An older version does not open a newer schema, so the copy is the way back. One copy of
 * each schema is kept, the latest.
 */
export async function keepCopy(db: Database, { path, newest }: Upgrade, by: CopyWorld): Promise<void> {
  const { beginFile, migrating } = by;
  const schema = schemaOf(db, newest);
  if (schema === 0 || schema === newest || !beginFile) return;
  const target = copyOf(path, schema);
  const bytes = sizeOf(db);
  await requireRoom({ ...by, path, target, bytes, schema, newest });
  migrating?.({ step: schema + 1, of: newest, bytes, copy: target });
  const file = beginFile(target);
  try {
    await copyPages(db, file);
    const checked = await checkCopy(file.path, "quick");
    if ("code" in checked) throw new Error(`the copy from before the upgrade is damaged: ${checked.message}`);
    file.keep();
  } finally {
    file.drop();
  }
}

type Wanted = CopyWorld & {
  readonly path: string;
  readonly target: string;
  readonly bytes: number;
  readonly schema: number;
  readonly newest: number;
};

async function requireRoom({ disk, freeDisk, path, target, bytes, schema, newest }: Wanted): Promise<void> {
  const space = await disk.space(path).catch(() => null);
  // If the free space is unknown, the copy is tried.
  if (space === null || space.free >= bytes + freeDisk) return;
  const spared = freeDisk > 0 ? `, of which outbox.freeDisk reserves ${formatSize(freeDisk)}` : "";
  throw new NoRoom(
    `it must be upgraded (schema ${schema} to ${newest}), and the copy that is made before that, ${target}, ` +
      `needs ${formatSize(bytes)}, but ${formatSize(space.free)} are free there${spared}; make room. Or copy it elsewhere with the ` +
      "Fairlead that wrote it (fairlead backup FILE), and then start once with fairlead serve --no-copy",
  );
}
