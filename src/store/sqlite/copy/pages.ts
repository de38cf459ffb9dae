import type { NewFile } from "../../../model/new-file.ts";
import { MB } from "../../../model/units.ts";
import type { Database } from "../driver.ts";

/** How far a copy is, in bytes. */
export type Copied = { readonly done: number; readonly total: number };

export type CopyOptions = {
  /** Hears of it after each step. What it throws ends the copy. */
  readonly stepped?: ((copied: Copied) => void) | undefined;
  /** Looks at the store at the same moment as the copy does, before it. */
  readonly look?: ((db: Database) => void) | undefined;
};

/** Bytes copied at a time: whoever listens for a signal hears it in between. */
const STEP = 4 * MB;
/**
 * Bytes that are written before they are waited for. Without it the system writes all of a copy at its end, and the fsync of a
 * daemon on the same disk waits for as long as that takes.
 */
const UNFLUSHED = 8 * MB;

/**
 * Copies a store, page by page, as it is at one moment: what is written to it meanwhile waits in its write-ahead log, which
 * cannot begin anew until the copy is done. `db` is in no transaction, and is not to be used until then.
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

/** Sees one moment of the store throughout. Without it each commit of the daemon would have the copy begin anew. */
async function inSnapshot(db: Database, run: () => Promise<void>): Promise<void> {
  db.exec("BEGIN");
  try {
    // Only with the first look does the moment begin.
    db.prepare("SELECT 1 FROM sqlite_schema").get();
    await run();
  } finally {
    db.exec("ROLLBACK");
  }
}
