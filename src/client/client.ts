import type { CallType } from "../model/event.ts";
import { createCourier } from "./courier.ts";
import { createDebug } from "./debug.ts";
import { checkTimeout, createEnding } from "./ending.ts";
import { measureCall } from "./envelope.ts";
import { ClosedError } from "./errors.ts";
import type { FlushReport } from "./flushes.ts";
import { createLedger } from "./ledger.ts";
import type { Settings } from "./options.ts";
import { createPacer } from "./pacer.ts";
import type { Cancel, World } from "./world.ts";
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
