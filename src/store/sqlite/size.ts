import type { Keeper } from "./commits.ts";
import type { Database } from "./driver.ts";

/** How many bytes of the file are in use. Pages that pruning has freed do not count: they are filled again first. */
export type Size = Keeper & {
  used(): number;
  /** Inside a transaction: what this takes is given back soon, and does not count; what it gives back does not either. */
  borrow<T>(run: () => T): T;
  /** Inside a transaction: all of it was given back. */
  repaid(): void;
};

/** `measured` hears of it now, and after each commit. */
export function createSize(db: Database, measured: (used: number) => void): Size {
  const pageSize = Number(db.pragma("page_size", { simple: true }));
  const pages = db
    .prepare<[], number>("SELECT p.page_count - f.freelist_count FROM pragma_page_count p, pragma_freelist_count f")
    .pluck();
  let used = measure();
  let writing = used;
  // Bytes: as of the last commit, and as of the transaction under way.
  let [borrowed, borrowing] = [0, 0];
  measured(used);

  return {
    used: () => used,
    borrow(run) {
      const before = measure();
      const result = run();
      borrowing = Math.max(0, borrowing + measure() - before);
      return result;
    },
    repaid() {
      borrowing = 0;
    },
    write() {
      // Not after the commit: nothing that can fail comes between a commit and its receipts.
      writing = measure() - borrowing;
    },
    committed() {
      used = writing;
      borrowed = borrowing;
      measured(used);
    },
    rolledBack() {
      borrowing = borrowed;
    },
  };

  function measure(): number {
    return Number(pages.get()) * pageSize;
  }
}
