import type { Courier } from "./courier.ts";
import { LostCallError } from "./errors.ts";
import { LONGEST_MS, type Settings } from "./options.ts";
import type { Cancel, ToldHooks, World } from "./platform.ts";
import { callListener, type Debug, type FlushReport, type Ledger } from "./report.ts";

type EndingParts = {
  readonly settings: Pick<Settings, "closeOnSignal">;
  readonly flush: () => Promise<FlushReport>;
  readonly courier: Pick<Courier, "hurry" | "abandon" | "settle" | "close">;
  readonly ledger: Pick<Ledger, "end">;
  readonly world: Pick<World, "after" | "log">;
  readonly debug: Debug;
};

type Ending = {
  /** The program closes it. Calls that are not delivered in time are returned. */
  close(timeoutMs: number): Promise<FlushReport>;
  /** The program has nothing left to do and did not close it: calls are sent for some seconds. Never rejects. */
  idle(): void;
  /** The program ends now: all calls are lost, and reported so. */
  gone(): void;
  /** The process has got SIGTERM or SIGINT. */
  readonly told: ToldHooks;
};

/** How long an idle program is kept alive for its queue. */
const EXIT_TIMEOUT_MS = 5_000;

/** The ways in which a client comes to its end. */
export function createEnding({ settings, flush, courier, ledger, world, debug }: EndingParts): Ending {
  const { timeoutMs = EXIT_TIMEOUT_MS, onUndelivered } = settings.closeOnSignal ?? {};
  return {
    async close(closeMs) {
      const late = createDeadline(world, closeMs);
      const report = await finish(closeMs, giveBack);
      await courier.close?.(late.passed);
      late.cancel();
      return report;
    },
    idle: () => void (settings.closeOnSignal ? end("if late") : finish(EXIT_TIMEOUT_MS, giveUp)),
    gone: giveUp,
    told: { toSend: () => void finish(timeoutMs, () => {}), toEnd: () => end("always") },
  };

  /** Sends all calls, without waiting for the next attempt, until they are settled or the time is over. */
  async function finish(withinMs: number, whenLate: () => void): Promise<FlushReport> {
    debug(() => "exit requested – draining");
    const settled = flush();
    courier.hurry();
    const late = createDeadline(world, withinMs);
    void late.passed.then(whenLate);
    const report = await settled;
    late.cancel();
    ledger.end();
    return report;
  }

  /** Calls are taken until the last moment: whatever else a program does until it ends must not throw. Never rejects. */
  async function end(then: "always" | "if late"): Promise<void> {
    const late = createDeadline(world, timeoutMs);
    const sent = await Promise.race([finish(Infinity, () => {}), late.passed]);
    late.cancel();
    if (sent && then === "if late") return;
    const rest = flush();
    if (onUndelivered) giveBack();
    else giveUp();
    const { undelivered } = await rest;
    await courier.close?.(Promise.resolve());
    if (onUndelivered && undelivered.length > 0) callListener(onUndelivered, undelivered, world.log);
    ledger.end();
  }

  function giveBack(): void {
    for (const entry of courier.abandon()) courier.settle(entry, { kind: "returned" });
  }

  function giveUp(): void {
    const why = "the program ended first: await close() before it ends";
    for (const entry of courier.abandon()) {
      courier.settle(entry, { kind: "lost", error: new LostCallError(entry, { reason: "exited", why }) });
    }
    ledger.end();
  }
}

/** A time that is longer than a timer can hold never passes. */
function createDeadline(world: Pick<World, "after">, ms: number): { readonly passed: Promise<void>; cancel(): void } {
  let cancel: Cancel = () => {};
  const passed = new Promise<void>((pass) => {
    if (ms <= LONGEST_MS) cancel = world.after(ms, pass);
  });
  return { passed, cancel: () => cancel() };
}
