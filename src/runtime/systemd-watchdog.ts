import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Supervisor, Vitals } from "../model/supervisor.ts";
import { type Ms, SECOND } from "../model/units.ts";

export type WatchdogWorld = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly supervisor: Pick<Supervisor, "alive" | "patience">;
  readonly vitals: () => Vitals;
  readonly report: Pick<Report, "daemon">;
};

/**
 * Says that the daemon is alive, at half of the time that the supervisor waits for it, but only while all goes round. When
 * something does not, it looks again every second: what is over in time has no consequences. Resolves when the
 * signal is aborted, or at once if nobody wants to hear of it.
 */
export async function feedWatchdog(world: WatchdogWorld, signal: AbortSignal): Promise<void> {
  const { clock, supervisor, report } = world;
  if (supervisor.patience === null) return;
  const every = supervisor.patience / 2;
  const again = Math.min(SECOND, every / 4);
  let stuckSince: number | null = null;

  while (!signal.aborted) {
    const stuck = await whatIsStuck(world, again);
    if (signal.aborted) return;
    if (stuck.length === 0) supervisor.alive();
    stuckSince = tell(stuck, stuckSince);
    await clock.sleep(stuck.length === 0 ? every : again, signal);
  }

  function tell(stuck: readonly string[], since: number | null): number | null {
    if (stuck.length > 0) {
      if (since === null) report.daemon("stuck", { what: stuck.join(", "), hint: HINT });
      return since ?? clock.now();
    }
    if (since !== null) report.daemon("unstuck", { after: { ms: clock.now() - since } });
    return null;
  }
}

const HINT = "if that goes on, the watchdog of systemd will start the daemon anew";

/** What does not go round, in words. Empty if all does. */
async function whatIsStuck({ clock, vitals }: WatchdogWorld, patience: Ms): Promise<readonly string[]> {
  const { store, stuckLoops } = vitals();
  const answers = await within(patience, store, clock);
  return [...(answers ? [] : ["the store"]), ...stuckLoops.map((name) => `the loop of ${name}`)];
}

/** False if it takes longer than that. */
async function within(patience: Ms, answer: Promise<boolean>, clock: Pick<Clock, "sleep">): Promise<boolean> {
  const over = new AbortController();
  const tooLate = clock.sleep(patience, over.signal).then(() => false);
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    over.abort();
  }
}
