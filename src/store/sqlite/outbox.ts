import { MB } from "../../model/units.ts";
import { codeOf, type Database, messageOf, openDatabase, withRemedy } from "./driver.ts";
import { type CopyWorld, copyOf, keepCopy } from "./keep-copy.ts";
import { SchemaNewer, type Step, takeSteps } from "./migrate.ts";
import { STEPS } from "./migrations.ts";

/** Bytes that the write-ahead log keeps when it begins anew. It has more only while another program reads for long. */
export const LARGEST_LOG = 64 * MB;

/** Where the write-ahead log of an outbox is. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** What opening an outbox asks of the world, if it has to be brought up to date. */
export type OutboxWorld = CopyWorld & {
  /** The steps to the newest schema; all that there are, when left out. */
  readonly steps?: readonly Step[];
};

/** Opens the outbox's file, or makes it, in the way that the store needs it. Rejects with a message for the operator. */
export async function openOutbox(path: string, world: OutboxWorld = NO_WORLD): Promise<Database> {
  const { steps = STEPS, migrating } = world;
  const db = await openDatabase(path);
  try {
    prepare(db);
    await keepCopy(db, path, { ...world, steps });
    takeSteps(db, steps, { migrating });
    return db;
  } catch (cause) {
    db.close();
    throw cannotOpen(path, cause, await describe(cause, path, world));
  }
}

/** For the operator, who has to know which file it is, and what to do. */
export function cannotOpen(path: string, cause: unknown, why = messageOf(withRemedy(cause))): Error {
  return Object.assign(new Error(`cannot open outbox ${path}: ${why}`, { cause }), { code: codeOf(cause) });
}

/** For those who open one that is new, or of this version. */
const NO_WORLD: OutboxWorld = {
  disk: { space: () => Promise.reject(new Error("nobody can say")), size: async () => 0 },
  freeDisk: 0,
};

async function describe(cause: unknown, path: string, { disk, steps = STEPS }: OutboxWorld): Promise<string> {
  const message = messageOf(withRemedy(cause));
  if (!(cause instanceof SchemaNewer)) return message;
  for (let schema = steps.length; schema > 0; schema -= 1) {
    const copy = copyOf(path, schema);
    const size = await disk.size(copy).catch(() => 0);
    if (size > 0) return `${message}: ${copy} is what was kept before it (fairlead restore --force ${copy})`;
  }
  return message;
}

function prepare(db: Database): void {
  // While an operator's shell holds the file, the whole daemon waits, not only the commit.
  db.pragma("busy_timeout = 200");
  // Has an effect only before the first table exists: pruned pages can then be given back to the file system.
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma("journal_mode = WAL");
  // With NORMAL, the default in WAL mode of some builds, a power cut would lose acknowledged calls.
  db.pragma("synchronous = FULL");
  db.pragma("cache_size = -16000");
  // What is deleted is overwritten, always: when a user is erased, nothing of rows that went before may be left in pages that
  // are free, or in use for something else by now.
  db.pragma("secure_delete = ON");
  db.pragma(`journal_size_limit = ${LARGEST_LOG}`);
}
