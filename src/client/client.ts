import type { CallType } from "../model/event.ts";
import { type Courier, createCourier } from "./courier.ts";
import { measureCall } from "./envelope.ts";
import { ClosedError, InvalidOptionError, LostCallError } from "./errors.ts";
import type { Settings } from "./options.ts";
import type { Cancel, World } from "./platform.ts";
import { createDebug, createLedger, type Debug, type FlushReport, type Ledger } from "./report.ts";
import { show } from "./show.ts";
import { write } from "./write.ts";

/** What is behind `Analytics`: the same for all six calls, and for every world. */
export type Client = {
  call(type: CallType, call: unknown): Promise<string>;
  flush(): Promise<FlushReport>;
  /** Waits for so many milliseconds at most. */
  close(timeoutMs: number): Promise<FlushReport>;
};

/**
 * A call is queued, is due at a flush, is in flight, and is then settled once: delivered, lost, or returned by close().
 * Whatever the program does, there is no other way out.
 */
export function createClient(settings: Settings, world: World): Client {
  const trail = world.createTrail();
  const own = { ...world, trail, log: quietly(world.log) };
  const debug = createDebug(settings.debug, own);
  const ledger = createLedger(settings, own, { idle: () => ending.idle(), gone: () => ending.gone() });
  const courier = createCourier({ settings, world: own, trail, debug, ledger });
  // A queue that is shorter would never hold as many.
  const flushAt = Math.min(settings.flushAt, settings.queueLimit);
  const pace = { flushAt, flushAfterMs: settings.flushAfterMs };
  const pacer = createPacer({ ...pace, after, send: () => courier.sendUpTo(seq), debug });
  const ending = createEnding({ flush: flushNow, courier, ledger, world, debug });
  let seq = 0;
  let closing: Promise<FlushReport> | null = null;

  return {
    call,
    flush: () => closing ?? flushNow(),
    close(timeoutMs) {
      checkTimeout(timeoutMs);
      // A function that is told of it may close once more: it has to begin after this is noted.
      closing ??= Promise.resolve(timeoutMs).then(ending.close).finally(pacer.stop);
      return closing;
    },
  };

  /** A call made on behalf of a function may set the timer for all the others. */
  function after(ms: number, run: () => void): Cancel {
    return world.after(ms, () => trail.leave(run));
  }

  function call(type: CallType, given: unknown): Promise<string> {
    if (closing) throw new ClosedError();
    const written = write(type, given, world);
    const bytes = measureCall(written, settings);
    seq += 1;
    const place = courier.add({ ...written, seq, type, bytes });
    ledger.came();
    place.after();
    pacer.queued(written.text);
    return place.room ? waitFor(place.room, written.messageId) : Promise.resolve(written.messageId);
  }

  async function waitFor(room: Promise<void>, messageId: string): Promise<string> {
    const release = world.keepAlive();
    await room;
    release();
    return messageId;
  }

  function flushNow(): Promise<FlushReport> {
    const settled = ledger.settled(seq);
    pacer.flush();
    return settled;
  }
}

/** Programs put functions of their own in the place of console.error, and these may throw. */
function quietly(log: (line: string) => void): (line: string) => void {
  return (line) => {
    try {
      log(line);
    } catch {
      // There is nobody left to tell.
    }
  };
}

/** Says when to flush (SPEC.md 4.3 rule 2). */
type Pacer = {
  /** A call has come. */
  queued(text: string): void;
  /** All that has come is sent now, for whatever reason. */
  flush(): void;
  stop(): void;
};

type Pace = {
  readonly flushAt: number;
  readonly flushAfterMs: number;
  after(ms: number, run: () => void): Cancel;
  readonly send: () => void;
  readonly debug: Debug;
};

/**
 * Counts the calls since the last flush, and runs a timer from it. Idle, there is no timer: it ends with the first
 * interval in which nothing comes, and begins again with the next call.
 */
function createPacer({ flushAt, flushAfterMs, after, send, debug }: Pace): Pacer {
  let buffered = 0;
  let cancel: Cancel | null = null;

  return { queued, flush, stop };

  function queued(text: string): void {
    buffered += 1;
    debug(() => `buffer (${buffered}/${flushAt}) ${text}`);
    if (buffered < flushAt) {
      start();
      return;
    }
    debug(() => `exceeded ${flushAt} messages – flushing`);
    flush();
  }

  function flush(): void {
    buffered = 0;
    stop();
    start();
    send();
  }

  function start(): void {
    cancel ??= after(flushAfterMs, pass);
  }

  function stop(): void {
    cancel?.();
    cancel = null;
  }

  function pass(): void {
    cancel = null;
    const waiting = buffered;
    debug(() => (waiting === 0 ? "interval reached – nothing to send" : `interval reached - flushing ${waiting}`));
    if (waiting > 0) flush();
  }
}

/** The ways in which a client comes to its end. */
type Ending = {
  /** The program closes it, and gets back what is not delivered in time. */
  close(timeoutMs: number): Promise<FlushReport>;
  /** The program has nothing left to do, and has not closed it: what is queued is sent, for a while. */
  idle(): void;
  /** The program ends now: what is queued is lost, and told to be. */
  gone(): void;
};

type Parts = {
  readonly flush: () => Promise<FlushReport>;
  readonly courier: Pick<Courier, "hurry" | "abandon">;
  readonly ledger: Pick<Ledger, "settle" | "end">;
  readonly world: Pick<World, "after">;
  readonly debug: Debug;
};

/** Throws an InvalidOptionError. */
function checkTimeout(timeoutMs: number): void {
  if (typeof timeoutMs === "number" && timeoutMs >= 0) return;
  throw new InvalidOptionError(`the timeout of close must be 0 or more (got ${show(timeoutMs)})`);
}

/** How long a program that has nothing else to do is kept for what it has queued. */
const EXIT_TIMEOUT_MS = 5_000;
/** What a timer can hold; whoever waits longer waits for all. */
const LONGEST_MS = 2 ** 31 - 1;

function createEnding({ flush, courier, ledger, world, debug }: Parts): Ending {
  return {
    close: (timeoutMs) => finish(timeoutMs, giveBack),
    // Never rejects, as no flush does.
    idle: () => void finish(EXIT_TIMEOUT_MS, giveUp),
    gone: giveUp,
  };

  /** Sends what there is, at once even if the next attempt is not due, until all is settled or the time is over. */
  async function finish(timeoutMs: number, whenLate: () => void): Promise<FlushReport> {
    debug(() => "exit requested – draining");
    const settled = flush();
    courier.hurry();
    const cancel = timeoutMs > LONGEST_MS ? () => {} : world.after(timeoutMs, whenLate);
    const report = await settled;
    cancel();
    ledger.end();
    return report;
  }

  function giveBack(): void {
    for (const entry of courier.abandon()) ledger.settle(entry, { kind: "returned" });
  }

  function giveUp(): void {
    const why = "the program has ended; await close() before that";
    const loss = { reason: "exited", code: "exited", why, status: null, attempts: 0 } as const;
    for (const entry of courier.abandon()) {
      ledger.settle(entry, { kind: "lost", error: new LostCallError(entry, loss) });
    }
    ledger.end();
  }
}
