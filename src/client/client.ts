import type { CallType } from "../model/event.ts";
import { type Courier, type CourierParts, createCourier } from "./courier.ts";
import { createEnding } from "./ending.ts";
import { measureCall } from "./envelope.ts";
import { ClosedError, InvalidOptionError } from "./errors.ts";
import { createFieldCheck } from "./fields.ts";
import type { Settings } from "./options.ts";
import type { Cancel, ClientWorld, ToldHooks, World } from "./platform.ts";
import { createDebug, createLedger, type Debug, type FlushReport } from "./report.ts";
import { show, showCauses } from "./show.ts";
import { write } from "./write.ts";

/** What is behind `Analytics`, on any platform. */
export type Client = {
  call(type: CallType, call: unknown): Promise<string>;
  flush(): Promise<FlushReport>;
  /** Waits for so many milliseconds at most. */
  close(timeoutMs: number): Promise<FlushReport>;
};

/**
 * A call is queued, is due at a flush, is in flight, and is then settled once: delivered, lost, or returned by close().
 * There is no other way out, whatever the program does.
 */
export function createClient(settings: Settings, platform: World): Client {
  const trail = platform.createTrail();
  const world: ClientWorld = { ...platform, trail, log: quietly(platform.log) };
  const debug = createDebug(settings.debug, world);
  const ledger = createLedger(settings, world, { idle: () => ending.idle(), gone: () => ending.gone() });
  const courier = openCourier({ settings, world, debug, ledger });
  const pacer = createPacer({ settings, world, debug, send: () => courier.sendUpTo(seq) });
  const ending = createEnding({ settings, flush: flushNow, courier, ledger, world, debug });
  const unhook = settings.closeOnSignal ? listen(world, ending.told) : () => {};
  const checkFields = createFieldCheck(world.log);
  const writing = { wall: world.wall, uuid: world.uuid, context: settings.context };
  let seq = 0;
  let closing: Promise<FlushReport> | null = null;

  return { call, flush: () => closing ?? flushNow(), close };

  function close(timeoutMs: number): Promise<FlushReport> {
    checkTimeout(timeoutMs);
    // Begins in another turn: a function of the program that runs meanwhile may close, too, and must find `closing` set.
    closing ??= Promise.resolve(timeoutMs)
      .then(ending.close)
      .finally(() => {
        pacer.stop();
        unhook();
      });
    return closing;
  }

  function call(type: CallType, given: unknown): Promise<string> {
    if (closing) throw new ClosedError();
    if (typeof given === "object" && given !== null) checkFields(type, given);
    const written = write(type, given, writing);
    const bytes = measureCall(written, settings);
    seq += 1;
    const room = courier.add({ ...written, seq, type, bytes });
    pacer.queued(written.text);
    return room ? waitFor(room, written.messageId) : Promise.resolve(written.messageId);
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

function openCourier(parts: CourierParts): Courier {
  const { spool } = parts.settings;
  if (!spool) return createCourier(parts);
  const { createSpooling } = parts.world;
  if (!createSpooling) throw new InvalidOptionError("spool needs files, which this platform does not have");
  try {
    return createSpooling(parts, spool);
  } catch (cause) {
    if (cause instanceof InvalidOptionError) throw cause;
    throw new InvalidOptionError(`spool.directory cannot be used: ${showCauses(cause)}`);
  }
}

function listen(world: World, told: ToldHooks): Cancel {
  if (world.onSignal) return world.onSignal(told);
  throw new InvalidOptionError("closeOnSignal needs process signals, which this platform does not have");
}

/** Programs replace console.error by functions of their own, which may throw. */
function quietly(log: (line: string) => void): (line: string) => void {
  return (line) => {
    try {
      log(line);
    } catch {
      // There is nowhere left to log this.
    }
  };
}

type PacerParts = {
  readonly settings: Settings;
  readonly world: ClientWorld;
  readonly debug: Debug;
  readonly send: () => void;
};

/**
 * Decides when to flush (SPEC.md 4.3 rule 2): counts the calls since the last flush, and runs a timer from it. Idle, there
 * is no timer: it ends with the first interval without a call, and begins again with the next call.
 */
function createPacer({ settings, world, debug, send }: PacerParts) {
  // A shorter queue would never hold as many.
  const flushAt = Math.min(settings.flushAt, settings.queueLimit);
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
    // Leaves the trail: a function of the program may start the timer, which then sends the calls of all.
    cancel ??= world.after(settings.flushAfterMs, () => world.trail.leave(pass));
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

function checkTimeout(timeoutMs: number): void {
  if (typeof timeoutMs === "number" && timeoutMs >= 0) return;
  throw new InvalidOptionError(`the timeout of close must be 0 or more (got ${show(timeoutMs)})`);
}
