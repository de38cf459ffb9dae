import type { EventType } from "./event.ts";
import type { Fault } from "./fault.ts";

/** What happens to events, as operators watch it. */
export const LIVE_KINDS = ["accepted", "refused", "attempted"] as const;
export type LiveKind = (typeof LIVE_KINDS)[number];

/** Which events a watcher wants to see. Left out, all of them. */
export type LiveFilter = {
  readonly kinds?: readonly LiveKind[] | undefined;
  readonly source?: string | undefined;
  readonly destination?: string | undefined;
  readonly type?: EventType | undefined;
  readonly user?: string | undefined;
};

export type Live = {
  /**
   * Lines of JSON about what happens from now on, until the reader or the daemon ends it. `isAllowed` is asked again and again:
   * a token can lose its rights. Faults: `too_many_watchers`, `stopping`.
   */
  watch(filter: LiveFilter, isAllowed: () => boolean): ReadableStream<Uint8Array> | Fault;
};
