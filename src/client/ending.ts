import type { Courier } from "./courier.ts";
import type { Debug } from "./debug.ts";
import { InvalidOptionError, LostCallError } from "./errors.ts";
import type { FlushReport } from "./flushes.ts";
import type { Ledger } from "./ledger.ts";
import { show } from "./show.ts";
import type { World } from "./world.ts";

/** The ways in which a client comes to its end. */
export type Ending = {
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
export function checkTimeout(timeoutMs: number): void {
  if (typeof timeoutMs === "number" && timeoutMs >= 0) return;
  throw new InvalidOptionError(`the timeout of close must be 0 or more (got ${show(timeoutMs)})`);
}

/** How long a program that has nothing else to do is kept for what it has queued. */
const EXIT_TIMEOUT_MS = 5_000;
/** What a timer can hold; whoever waits longer waits for all. */
const LONGEST_MS = 2 ** 31 - 1;

export function createEnding({ flush, courier, ledger, world, debug }: Parts): Ending {
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
