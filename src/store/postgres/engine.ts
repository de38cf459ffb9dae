import type { Fault } from "../../model/fault.ts";
import type { Clock, StoreChange } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import type { Pace } from "./claims.ts";
import type { Counts } from "./counts.ts";
import type { Database, Tx } from "./database.ts";
import type { Gate } from "./gate.ts";
import type { News } from "./news.ts";
import type { Size } from "./size.ts";
import type { Streams } from "./streams.ts";

/** What all parts of the engine share. */
export type Engine = {
  /** The name of this daemon, different with each start. */
  readonly name: string;
  readonly pace: Pace;
  readonly db: Database;
  readonly write: Write;
  readonly streams: Streams;
  readonly counts: Counts;
  readonly gate: Gate;
  readonly news: News;
  readonly clock: Clock;
  readonly report: Report;
  readonly size: Size;
  /** Notes whether a write has succeeded. */
  readonly wrote: (succeeded: boolean) => void;
  /** Tells the daemon of a change that it did not make by the port concerned. */
  readonly tell: (change: StoreChange) => void;
};

/**
 * Runs this in a transaction. A failure is logged, and answered with the fault `store_failed`: then nothing was changed, as
 * far as is known.
 */
export type Write = <T>(doing: string, run: (tx: Tx) => Promise<T>) => Promise<T | Fault>;
