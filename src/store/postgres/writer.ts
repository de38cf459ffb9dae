import { fault } from "../../model/fault.ts";
import type { Report } from "../../model/report.ts";
import type { Database } from "./database.ts";
import type { Write } from "./engine.ts";

export type Writer = {
  readonly write: Write;
  /** Notes whether a write has succeeded. */
  wrote(succeeded: boolean): void;
  /** The verdict of the last write. */
  succeeded(): boolean;
};

/** The answer to an operator whose change could not be made. */
const UNWRITABLE = fault(
  "store_failed",
  "the outbox cannot be written, and nothing is known to have changed; see the log for the reason",
);

/** Keeps whether the outbox can be written, for the health checks. */
export function createWriter(db: Database, report: Pick<Report, "storeFailed">): Writer {
  let last = true;
  return {
    async write(doing, run) {
      try {
        const result = await db.transaction(run);
        last = true;
        return result;
      } catch (error) {
        last = false;
        report.storeFailed(doing, error);
        return UNWRITABLE;
      }
    },
    wrote(succeeded) {
      last = succeeded;
    },
    succeeded: () => last,
  };
}
