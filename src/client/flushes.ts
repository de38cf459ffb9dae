import type { SentCall } from "./calls.ts";
import type { Entry } from "./entry.ts";
import type { LostCallError } from "./errors.ts";
import type { Cancel } from "./world.ts";

/** What became of the calls that a flush() or close() waited for. Each is in one of the three lists. */
export type FlushReport = {
  /** The messageIds of those that the server has taken. */
  readonly delivered: readonly string[];
  readonly lost: readonly LostCallError[];
  /** Those that close() has not waited for any longer. The server may have some of them: make them again with the same messageId. */
  readonly undelivered: readonly SentCall[];
  /** How many the server said it had already, in the batches that these calls were in. */
  readonly duplicates: number;
};

/** What became of one call. */
export type Settlement =
  | { readonly kind: "delivered" }
  | { readonly kind: "lost"; readonly error: LostCallError }
  | { readonly kind: "returned" };

export type Flushes = {
  /** Resolves when so many calls, up to this seq, are settled. The program stays alive until then. */
  open(upTo: number, count: number): Promise<FlushReport>;
  settled(entry: Entry, settlement: Settlement): void;
  /** Before the calls of a batch are settled. */
  repeated(batch: readonly Entry[], duplicates: number): void;
};

type Flush = {
  readonly upTo: number;
  readonly report: {
    readonly [Key in keyof FlushReport]: FlushReport[Key] extends readonly (infer One)[] ? One[] : number;
  };
  readonly resolve: (report: FlushReport) => void;
  duplicates: number;
  left: number;
};

export function createFlushes(keepAlive: () => Cancel): Flushes {
  const open = new Set<Flush>();
  let release: Cancel = () => {};

  return {
    open(upTo, count) {
      return new Promise((resolve) => {
        const report = { delivered: [], lost: [], undelivered: [], duplicates: 0 };
        if (count === 0) return resolve(report);
        if (open.size === 0) release = keepAlive();
        open.add({ upTo, left: count, report, resolve, duplicates: 0 });
      });
    },
    settled(entry, settlement) {
      for (const flush of open) {
        if (entry.seq <= flush.upTo) note(flush, entry, settlement);
      }
    },
    repeated([first], duplicates) {
      for (const flush of open) if (first && first.seq <= flush.upTo) flush.duplicates += duplicates;
    },
  };

  function note(flush: Flush, entry: Entry, settlement: Settlement): void {
    add(flush, entry, settlement);
    flush.left -= 1;
    if (flush.left > 0) return;
    open.delete(flush);
    if (open.size === 0) release();
    flush.resolve({ ...flush.report, duplicates: flush.duplicates });
  }
}

function add({ report }: Flush, entry: Entry, settlement: Settlement): void {
  if (settlement.kind === "delivered") report.delivered.push(entry.messageId);
  else if (settlement.kind === "lost") report.lost.push(settlement.error);
  else report.undelivered.push(JSON.parse(entry.text));
}
