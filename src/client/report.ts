import type { SentCall } from "./calls.ts";
import type { LostCallError } from "./errors.ts";
import type { Settings } from "./options.ts";
import type { Cancel, ExitHooks, Trail, World } from "./platform.ts";
import type { Entry } from "./queue.ts";
import { printable, showThrown } from "./show.ts";

/** Knows how many calls are open, and tells everybody what becomes of each. */
export type Ledger = {
  came(): void;
  settle(entry: Entry, settlement: Settlement): void;
  /** Of so many calls the server had some already. Comes before the calls of their batch are settled. */
  repeated(batch: readonly Entry[], duplicates: number): void;
  /** Resolves when all that is open now is settled. */
  settled(upTo: number): Promise<FlushReport>;
  /** Writes down what has not been told yet. */
  end(): void;
};

type LedgerWorld = World & { readonly trail: Trail };

/** While calls are open, the hooks are told when the program ends. */
export function createLedger(settings: Settings, world: LedgerWorld, hooks: ExitHooks): Ledger {
  const flushes = createFlushes(world.keepAlive);
  const report = createReport(settings, world);
  let open = 0;
  let leave: Cancel = () => {};

  return {
    came() {
      if (open === 0) leave = world.onExit(hooks);
      open += 1;
    },
    settle(entry, settlement) {
      open -= 1;
      if (open === 0) leave();
      // First of all: the program's functions may ask for another flush, which is not about this call any more.
      flushes.settled(entry, settlement);
      report.settled(entry, settlement);
    },
    repeated: flushes.repeated,
    settled: (upTo) => flushes.open(upTo, open),
    end: report.end,
  };
}

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

type Flushes = {
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

function createFlushes(keepAlive: () => Cancel): Flushes {
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

type ReportWorld = ComplaintWorld & { readonly trail: Trail };

type Report = {
  settled(entry: Entry, settlement: Settlement): void;
  /** Writes down what has not been told yet. */
  end(): void;
};

/** Tells the program what becomes of its calls; or standard error, if the program does not listen. */
function createReport({ onError, onDelivered }: Settings, world: ReportWorld): Report {
  const { log } = world;
  const losses = createComplaint(world);
  let returned = 0;

  return {
    settled({ text }, settlement) {
      if (settlement.kind === "returned") returned += 1;
      else if (settlement.kind === "lost") tellLost(settlement.error);
      else if (onDelivered) tell(onDelivered, JSON.parse(text), log);
    },
    end() {
      losses.end();
      if (returned > 0 && !onError)
        log(`analytics: ${returned} calls were not delivered in time: see what close() returned`);
      returned = 0;
    },
  };

  function tellLost(error: LostCallError): void {
    if (onError) world.trail.enter("onError", () => tell(onError, error, log));
    else losses.add(error.message);
  }
}

/** Says what is lost, where the program does not listen. */
type Complaint = {
  add(message: string): void;
  /** Says what is left to say. */
  end(): void;
};

type ComplaintWorld = Pick<World, "log" | "after" | "onExit">;

const QUIET_MS = 1_000;

/**
 * In an outage thousands are lost: the first is written down at once, and then a line a second says how many more. A
 * program that ends within this second hears of them at its end.
 */
function createComplaint({ log, after, onExit }: ComplaintWorld): Complaint {
  let last = "";
  let count = 0;
  let quiet: Cancel | null = null;
  let leave: Cancel = () => {};

  return {
    add(message) {
      last = message;
      count += 1;
      if (quiet === null) say(`analytics: ${last}`);
      else if (count === 1) leave = onExit({ idle: end, gone: end });
    },
    end,
  };

  function end(): void {
    quiet?.();
    quiet = null;
    if (count > 0)
      say(count === 1 ? `analytics: ${last}` : `analytics: ${count} more calls are lost; the last: ${last}`);
  }

  function say(line: string): void {
    leave();
    count = 0;
    log(printable(line));
    quiet = after(QUIET_MS, end);
  }
}

/**
 * Calls a function of the program's. If it throws, or its promise rejects, that is written down and changes nothing:
 * the library has calls to send, and no promise may be left unhandled.
 */
function tell<T>(listener: (value: T) => unknown, value: T, log: (line: string) => void): void {
  try {
    const result = listener(value);
    if (isThenable(result)) result.then(undefined, (error: unknown) => complain(error, log));
  } catch (error) {
    complain(error, log);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function complain(error: unknown, log: (line: string) => void): void {
  log(`analytics: a callback has thrown: ${showThrown(error)}`);
}

/** Takes a line that is only made if somebody reads it. */
export type Debug = (line: () => string) => void;

type DebugWorld = Pick<World, "log" | "debugNames"> & { readonly trail: Trail };

/** `debug`: true, or who takes the lines; false leaves it to the environment variable DEBUG (SPEC.md 4.3 rule 6). */
export function createDebug(debug: boolean | ((line: string) => void), world: DebugWorld): Debug {
  if (typeof debug === "function") return toFunction(debug, world);
  if (!debug && !names(world.debugNames(), "analytics")) return () => {};
  return (line) => world.log(`analytics ${printable(line())}`);
}

/** The function does not hear of what it does itself: a call of its own would have it called again, and so on for ever. */
function toFunction(debug: (line: string) => void, { trail, log }: DebugWorld): Debug {
  return (line) => {
    if (!trail.isIn("debug")) trail.enter("debug", () => tell(() => debug(printable(line())), undefined, log));
  };
}

/** DEBUG is a list with commas or spaces; `*` is everything, and a minus takes a name out. */
export function names(list: string, name: string): boolean {
  const listed = list.split(/[\s,]+/);
  return !listed.includes(`-${name}`) && (listed.includes(name) || listed.includes("*"));
}
