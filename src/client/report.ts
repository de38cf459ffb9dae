import type { SentCall } from "./calls.ts";
import type { LostCallError } from "./errors.ts";
import { readExact } from "./exact.ts";
import type { Settings } from "./options.ts";
import type { Cancel, ClientWorld, ExitHooks } from "./platform.ts";
import type { Entry } from "./queue.ts";
import { printable, showThrown } from "./show.ts";

/** What became of the calls that a flush() or close() waited for. Each is in one of the lists. */
export type FlushReport = {
  /** The messageIds of the calls that the server has taken. */
  readonly delivered: readonly string[];
  readonly lost: readonly LostCallError[];
  /** The calls that close() gave up waiting for. The server may have some of them: make them again with the same messageId. */
  readonly undelivered: readonly SentCall[];
  /** The messageIds of the calls that stay on the disk, to be sent later. Only with a spool. */
  readonly spooled?: readonly string[];
  /** How many the server said it had already, in the batches that these calls were in. */
  readonly duplicates: number;
};

/** What became of one call. */
export type Settlement =
  | { readonly kind: "delivered" }
  | { readonly kind: "lost"; readonly error: LostCallError }
  | { readonly kind: "returned" }
  /** It stays on the disk. What becomes of it later is reported once more. */
  | { readonly kind: "spooled" };

/** Counts the open calls, and reports each one's settlement to flushes and to the program. */
export type Ledger = {
  added(entry: Entry): void;
  settle(entry: Entry, settlement: Settlement): void;
  /** Tells the program what became of a call that no flush waits for. */
  report(entry: Entry, settlement: Settlement): void;
  /** The server had so many calls of this batch already. Comes before they are settled. */
  repeated(batch: readonly Entry[], duplicates: number): void;
  /** Resolves when all calls that are open now are settled. `upTo` is the seq of the newest. */
  settled(upTo: number): Promise<FlushReport>;
  /** Writes the remaining losses to standard error. */
  end(): void;
};

/** While calls are open, `hooks` are called when the program ends. */
export function createLedger(
  { onError, onDelivered, spool, closeOnSignal }: Settings,
  world: ClientWorld,
  hooks: ExitHooks,
): Ledger {
  const { log, trail } = world;
  const flushes = createFlushes(world.keepAlive, spool !== null);
  const losses = createLossLog(world);
  let open = 0;
  let returned = 0;
  let leave: Cancel = () => {};

  return {
    added() {
      if (open === 0) leave = world.onExit(hooks);
      open += 1;
    },
    settle(entry, settlement) {
      open -= 1;
      if (open === 0) leave();
      // First of all: a flush that the program's functions begin is not about this call.
      flushes.settled(entry, settlement);
      report(entry, settlement);
    },
    report,
    repeated: flushes.repeated,
    settled: (upTo) => flushes.open(upTo, open),
    end() {
      losses.end();
      if (returned > 0 && !onError && !closeOnSignal?.onUndelivered)
        log(`analytics: ${returned} calls were not delivered in time; close() returned them as undelivered`);
      returned = 0;
    },
  };

  function report(entry: Entry, settlement: Settlement): void {
    if (settlement.kind === "spooled") return;
    if (settlement.kind === "returned") {
      returned += 1;
    } else if (settlement.kind === "delivered") {
      if (onDelivered) callListener(onDelivered, readExact(entry), log);
    } else if (onError) {
      trail.enter("onError", () => callListener(onError, settlement.error, log));
    } else {
      losses.add(settlement.error.message);
    }
  }
}

type Flush = {
  readonly upTo: number;
  readonly delivered: string[];
  readonly lost: LostCallError[];
  readonly undelivered: SentCall[];
  readonly spooled: string[] | undefined;
  readonly resolve: (report: FlushReport) => void;
  duplicates: number;
  /** How many calls are not settled yet. */
  left: number;
};

/** The flushes that wait. They keep the program alive. */
function createFlushes(keepAlive: () => Cancel, hasSpool: boolean) {
  const waiting = new Set<Flush>();
  let release: Cancel = () => {};

  return { open, settled, repeated };

  function open(upTo: number, count: number): Promise<FlushReport> {
    return new Promise((resolve) => {
      const lists = { delivered: [], lost: [], undelivered: [], spooled: hasSpool ? [] : undefined };
      const flush: Flush = { ...lists, upTo, left: count, duplicates: 0, resolve };
      if (count === 0) return resolve(reportOf(flush));
      if (waiting.size === 0) release = keepAlive();
      waiting.add(flush);
    });
  }

  function settled(entry: Entry, settlement: Settlement): void {
    for (const flush of waiting) {
      if (entry.seq > flush.upTo) continue;
      note(flush, entry, settlement);
      flush.left -= 1;
      if (flush.left > 0) continue;
      waiting.delete(flush);
      if (waiting.size === 0) release();
      flush.resolve(reportOf(flush));
    }
  }

  function repeated([first]: readonly Entry[], duplicates: number): void {
    for (const flush of waiting) if (first && first.seq <= flush.upTo) flush.duplicates += duplicates;
  }
}

function note(flush: Flush, entry: Entry, settlement: Settlement): void {
  if (settlement.kind === "delivered") flush.delivered.push(entry.messageId);
  else if (settlement.kind === "lost") flush.lost.push(settlement.error);
  else if (settlement.kind === "spooled") flush.spooled?.push(entry.messageId);
  else flush.undelivered.push(readExact(entry));
}

function reportOf({ delivered, lost, undelivered, spooled, duplicates }: Flush): FlushReport {
  return { delivered, lost, undelivered, ...(spooled && { spooled }), duplicates };
}

const QUIET_MS = 1_000;

/**
 * Writes losses to standard error when the program has no onError. An outage loses thousands of calls: the first is
 * written at once, then a line a second says how many more. What is left is written when the program ends.
 */
export function createLossLog({ log, after, onExit }: Pick<ClientWorld, "log" | "after" | "onExit">) {
  let last = "";
  let count = 0;
  let quiet: Cancel | null = null;
  let leave: Cancel = () => {};

  return { add, end };

  function add(message: string): void {
    last = message;
    count += 1;
    if (quiet === null) write(last);
    else if (count === 1) leave = onExit({ idle: end, gone: end });
  }

  function end(): void {
    quiet?.();
    quiet = null;
    if (count > 0) write(count === 1 ? last : `${count} more calls are lost; the last: ${last}`);
  }

  function write(line: string): void {
    leave();
    count = 0;
    log(printable(`analytics: ${line}`));
    quiet = after(QUIET_MS, end);
  }
}

/** Takes a function that makes a line, which is called only if somebody reads the line. */
export type Debug = (line: () => string) => void;

/** `debug`: true, a function that takes the lines, or false to leave it to the environment variable DEBUG (SPEC.md 4.3 rule 6). */
export function createDebug(
  debug: boolean | ((line: string) => void),
  world: Pick<ClientWorld, "log" | "debugNames" | "trail">,
): Debug {
  const { log, trail } = world;
  if (typeof debug === "function") {
    // Calls that the function makes are not shown to it: it would be called for these again, and so on.
    return (line) => {
      if (!trail.isIn("debug"))
        trail.enter("debug", () => callListener(() => debug(printable(line())), undefined, log));
    };
  }
  if (!debug && !isNamed(world.debugNames())) return () => {};
  return (line) => log(`analytics ${printable(line())}`);
}

/** DEBUG is a list with commas or spaces; `*` is everything, and a minus excludes a name. */
function isNamed(list: string): boolean {
  const names = list.split(/[\s,]+/);
  return !names.includes("-analytics") && (names.includes("analytics") || names.includes("*"));
}

/**
 * Calls a function of the program. If it throws, or its promise rejects, that is logged and changes nothing: the library
 * has calls to send, and no rejection may be left unhandled.
 */
export function callListener<T>(listener: (value: T) => unknown, value: T, log: (line: string) => void): void {
  try {
    const result = listener(value);
    if (isThenable(result)) result.then(undefined, complain);
  } catch (error) {
    complain(error);
  }

  function complain(error: unknown): void {
    log(`analytics: a callback threw: ${showThrown(error)}`);
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
