import type { CallType } from "../../model/event.ts";
import { utf8Length, VERSION, writeEnvelope } from "../envelope.ts";
import { CallTooLargeError, ClosedError, InvalidOptionError, LostCallError, QueueFullError } from "../errors.ts";
import { readExact } from "../exact.ts";
import type { Options } from "../options.ts";
import type { Entry } from "../queue.ts";
import type { FlushReport, Settlement } from "../report.ts";
import { showThrown } from "../show.ts";
import { write } from "../write.ts";
import type { Page } from "./page.ts";
import { createSend } from "./send.ts";

/** The options of `fairlead` that mean something in a page. `endpoint` is the page's own origin when left out. */
export type PageOptions = Pick<
  Options,
  "endpoint" | "flushAt" | "flushAfter" | "retries" | "timeout" | "context" | "fetch" | "onError" | "onDelivered"
>;

export type PageClient = {
  /** Answers the messageId. */
  call(type: CallType, call: unknown): string;
  flush(): Promise<FlushReport>;
  close(timeoutMs: number): Promise<FlushReport>;
};

/** A call that is queued or being sent. */
type Open = Entry & {
  readonly settled: Promise<Settlement>;
  readonly settle: (settlement: Settlement) => void;
};

const MOST_QUEUED = 1_000;
/** Browsers hold 64 KB for all beacons of a page together. */
const MOST_IN_REQUEST = 60_000;
/** Of one call, with the context that the server adds to it from the envelope. */
const MOST_OF_CALL = 32_768;

/**
 * Calls are queued in memory, and sent in batches, one after the other. When the page is hidden or left, the browser gets a copy of
 * all that is not settled (`sendBeacon`), and sends it whatever becomes of the page. If the page lives on, the queue is sent as usual:
 * the server recognises the copies by their messageId.
 */
export function createPageClient(writeKey: string, options: PageOptions, page: Page): PageClient {
  if (!writeKey) throw new InvalidOptionError("the first argument must be the write key of a source");
  const { context, flushAt = 20 } = options;
  if (!(flushAt >= 1)) throw new InvalidOptionError("flushAt must be 1 or more");
  const url = urlOf(options.endpoint ?? page.origin());
  const open = createOpenCalls(options, page);
  const queue = createPageQueue({ url, options, flushAt, page, open, body });
  const writing = {
    wall: page.wall,
    uuid: page.uuid,
    context: context as Readonly<Record<string, unknown>> | undefined,
  };
  let isClosed = false;

  return { call, flush, close };

  function call(type: CallType, given: unknown): string {
    if (isClosed) throw new ClosedError();
    const written = write(type, given, writing);
    const bytes = utf8Length(written.text) + CONTEXT.length;
    if (bytes > MOST_OF_CALL) throw new CallTooLargeError(bytes, MOST_OF_CALL);
    open.add({ ...written, type, bytes });
    queue.added();
    return written.messageId;
  }

  function flush(): Promise<FlushReport> {
    const report = open.report();
    queue.send();
    return report;
  }

  function close(timeoutMs: number): Promise<FlushReport> {
    isClosed = true;
    const cancel = page.after(timeoutMs, queue.stop);
    return flush().finally(cancel);
  }

  /** Beacons have no headers, so that the key is in the body. */
  function body(batch: readonly Entry[]): string {
    const head = `{"writeKey":${JSON.stringify(writeKey)},"context":${CONTEXT},"batch":[`;
    return writeEnvelope(batch, { messageId: page.uuid(), sentAt: new Date(page.wall()).toISOString(), head });
  }
}

/** By its name the server knows that the calls come from the user's own device, whose address and browser it then adds. */
const CONTEXT = JSON.stringify({ library: { name: "fairlead-browser", version: VERSION } });

function urlOf(endpoint: string): string {
  try {
    const url = new URL(endpoint);
    url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/v1(?:\/batch)?$/, "")}/v1/batch`;
    return url.href;
  } catch {
    throw new InvalidOptionError(`endpoint must be an http or https URL (got ${JSON.stringify(endpoint)})`);
  }
}

type OpenCalls = ReturnType<typeof createOpenCalls>;

/** The calls that are not settled, in their order. */
function createOpenCalls({ onDelivered, onError }: PageOptions, { log }: Page) {
  const calls = new Set<Open>();
  let isDropping = false;
  let seq = 0;

  return { calls, add, finish, report: () => reportOn([...calls]), last: () => seq };

  function add(entry: Omit<Entry, "seq">): void {
    const [oldest] = calls;
    if (oldest && calls.size >= MOST_QUEUED) {
      const full = `the queue was full (${MOST_QUEUED} calls)`;
      // Else onError would be called for the call that it displaces, and so on.
      if (isDropping) throw new QueueFullError(MOST_QUEUED, full);
      const why = `${full}, and this call was the oldest`;
      isDropping = true;
      finish(oldest, { kind: "lost", error: new LostCallError(oldest, { reason: "dropped", why }) });
      isDropping = false;
    }
    let settle: Open["settle"] = () => {};
    const settled = new Promise<Settlement>((resolve) => {
      settle = resolve;
    });
    seq += 1;
    calls.add({ ...entry, seq, settled, settle });
  }

  function finish(call: Open, settlement: Settlement): void {
    // One that was dropped, or given back, is settled already.
    if (!calls.delete(call)) return;
    call.settle(settlement);
    try {
      if (settlement.kind === "delivered") onDelivered?.(readExact(call));
      else if (settlement.kind === "lost" && onError) onError(settlement.error);
      else if (settlement.kind === "lost") log(`analytics: ${settlement.error.message}`);
    } catch (error) {
      log(`analytics: a callback threw: ${showThrown(error)}`);
    }
  }
}

async function reportOn(calls: readonly Open[]): Promise<FlushReport> {
  const delivered: string[] = [];
  const lost: LostCallError[] = [];
  const undelivered: FlushReport["undelivered"][number][] = [];
  for (const call of calls) {
    const settlement = await call.settled;
    if (settlement.kind === "delivered") delivered.push(call.messageId);
    else if (settlement.kind === "lost") lost.push(settlement.error);
    else undelivered.push(readExact(call));
  }
  return { delivered, lost, undelivered, duplicates: 0 };
}

type QueueParts = {
  readonly url: string;
  readonly options: PageOptions;
  readonly flushAt: number;
  readonly page: Page;
  readonly open: OpenCalls;
  /** Writes the body of a request. */
  readonly body: (batch: readonly Entry[]) => string;
};

/** Decides when calls are sent, and hands them over when the page may be about to go. */
function createPageQueue({ url, options, flushAt, page, open, body }: QueueParts) {
  const { flushAfter = 5_000 } = options;
  const { calls, finish } = open;
  const stopping = new AbortController();
  const { signal } = stopping;
  const deliver = createSend<Open>({ url, body, options, page, signal });
  const handed = new WeakSet<Open>();
  let due = 0;
  let isSending = false;
  let cancel: (() => void) | null = null;

  page.onLeaving(handOver);
  return { added, send, stop };

  function added(): void {
    if (calls.size >= flushAt) send();
    else schedule();
  }

  function schedule(): void {
    cancel ??= page.after(flushAfter, send);
  }

  function send(): void {
    cancel?.();
    cancel = null;
    due = open.last();
    // Never rejects: what fails is an answer, and the page's functions are guarded.
    if (!isSending) void work();
  }

  async function work(): Promise<void> {
    isSending = true;
    for (let batch = take(); batch.length > 0 && !signal.aborted; batch = take()) {
      for (const [call, settlement] of await deliver(batch)) finish(call, settlement);
    }
    isSending = false;
    if (calls.size > 0 && !signal.aborted) schedule();
  }

  function take(): readonly Open[] {
    return fitting([...calls].filter(({ seq }) => seq <= due).slice(0, flushAt))[0] ?? [];
  }

  /** What was handed over before is on its way. The browser may refuse the rest, which then stays for the next time. */
  function handOver(): void {
    for (const batch of fitting([...calls].filter((call) => !handed.has(call)))) {
      if (!page.beacon(url, body(batch))) return;
      for (const call of batch) handed.add(call);
    }
  }

  /** Gives back what is not settled. */
  function stop(): void {
    stopping.abort();
    for (const call of calls) finish(call, { kind: "returned" });
  }
}

/** Splits calls so that each part fits into a request. */
function fitting(calls: readonly Open[]): readonly (readonly Open[])[] {
  const batches: Open[][] = [];
  let left = 0;
  for (const call of calls) {
    // With a comma, and a `sentAt` of its own.
    const bytes = call.bytes + 50;
    left -= bytes;
    if (left >= 0) batches.at(-1)?.push(call);
    else {
      batches.push([call]);
      left = MOST_IN_REQUEST - bytes;
    }
  }
  return batches;
}
