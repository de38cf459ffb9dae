import type { Keeper } from "./commits.ts";
import type { Database } from "./driver.ts";

/** How many bytes of the file are in use. Pages that pruning has freed do not count: they are filled again first. */
export type Size = Keeper & { used(): number };

/** `measured` hears of it now, and after each commit. */
export function createSize(db: Database, measured: (used: number) => void): Size {
  const pageSize = Number(db.pragma("page_size", { simple: true }));
  const pages = db
    .prepare<[], number>("SELECT p.page_count - f.freelist_count FROM pragma_page_count p, pragma_freelist_count f")
    .pluck();
  let used = measure();
  let writing = used;
  measured(used);

  return {
    used: () => used,
    write() {
      // Not after the commit: nothing that can fail comes between a commit and its receipts.
      writing = measure();
    },
    committed() {
      used = writing;
      measured(used);
    },
    rolledBack() {},
  };

  function measure(): number {
    return Number(pages.get()) * pageSize;
  }
}
