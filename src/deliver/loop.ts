import type { Config } from "../model/config.ts";
import type { Delivery } from "../model/delivery.ts";
import type { Destination, Webhook } from "../model/destination.ts";
import type { Queue, Settle } from "../model/ports.ts";
import type { RetryPolicy, Settlement } from "../model/settlement.ts";
import { type At, SECOND } from "../model/units.ts";
import { WAITS } from "../settle/backoff.ts";
import { createBell } from "./bell.ts";
import type { SlotAsk } from "./lanes.ts";
import { type RoundWorld, sendRound } from "./round.ts";
import { createWindow, type WindowWorld } from "./window.ts";

export type LoopWorld = RoundWorld &
  WindowWorld & {
    readonly settle: Settle;
    /** How to deliver, as the config in force says. */
    readonly delivery: () => Config["delivery"];
    /** Aborted: nothing new is begun, and what runs may finish. */
    readonly stopping: AbortSignal;
    /** Aborted: what runs is let go. */
    readonly released: AbortSignal;
  };

export type Loop = {
  /** Resolves when the daemon stops and nothing of this destination runs any more. */
  run(): Promise<void>;
  /** New deliveries were committed. */
  wake(): void;
  /** From the next round on, deliver like this; null: not at all. */
  serve(destination: Destination | null): void;
};

/**
 * Delivers what waits for one destination: due → claim → send → settle → write. Each destination has a loop of its
 * own, so that none waits for another.
 */
export function createLoop(name: string, world: LoopWorld): Loop {
  const { clock, lanes, report, stopping, released } = world;
  const bell = createBell(clock);
  const window = createWindow(name, world);
  const running = new Set<Promise<void>>();
  const inFlight: Record<Queue, number> = { first: 0, retry: 0 };
  let served: Destination | null = null;
  let reopenedAt: At | null = null;
  let letGo = 0;

  return {
    async run() {
      while (!stopping.aborted) {
        const lookAgainAt = served ? await startWhatIsDue(served).catch(storeFailed) : null;
        await bell.rung(lookAgainAt, stopping);
      }
      await Promise.all(running);
      if (letGo > 0) report.released(letGo);
    },
    wake() {
      window.arrived();
      bell.ring();
    },
    serve(destination) {
      served = destination;
      bell.ring();
    },
  };

  /** Due → claim → send, until nothing is due or no webhook has a slot. Answers when to look again. */
  async function startWhatIsDue(destination: Destination): Promise<At | null> {
    do {
      noticeReopening(destination);
      await window.fill(clock.now());
    } while (!stopping.aborted && startOne(destination));
    return earliest(window.nextDueAt(), lanes.nextOpenAt(destination, clock.now()));
  }

  /** A quarter of what runs is for retries, the rest for first attempts; what one of them does not need the other takes. */
  function startOne(destination: Destination): boolean {
    const ask: SlotAsk = { now: clock.now(), concurrency: world.delivery().concurrency, starved: bell.ring };
    if (!lanes.haveRoom(destination, ask)) return false;
    const retriesFirst = inFlight.retry * 3 < inFlight.first || !window.has("first");
    const order: readonly Queue[] = retriesFirst ? ["retry", "first"] : ["first", "retry"];
    return order.some((queue) => window.take(queue, (delivery) => starts(delivery, queue, { destination, ask })));
  }

  /** Claims a slot of each webhook that has one and has not answered finally. Without any, the delivery goes on waiting. */
  function starts(delivery: Delivery, queue: Queue, { destination, ask }: Start): boolean {
    const open = destination.webhooks.filter(({ url }) => !delivery.finals.some((final) => final.url === url));
    // If the config has lost every webhook that was still open, the others are asked once more, and have the last word.
    const webhooks = lanes.take(name, open.length > 0 ? open : destination.webhooks, ask);
    if (webhooks.length > 0) track(queue, deliver(delivery, destination, webhooks));
    return webhooks.length > 0;
  }

  /** Send → settle → write. */
  async function deliver(delivery: Delivery, destination: Destination, webhooks: readonly Webhook[]): Promise<void> {
    const { timeout, cutoff } = world.delivery();
    const policy: RetryPolicy = { ...WAITS, cutoff };
    const asked = { destination, webhooks, timeout, policy, signal: released };
    const settlement = await sendRound(delivery, asked, world);
    if (settlement === null) {
      letGo += 1;
      return;
    }
    await write(delivery, settlement);
    window.settled(delivery, settlement.state === "waiting" ? settlement.dueAt : null);
  }

  /** What a receiver has answered is held until the store takes it: sending it again would be worse than waiting. */
  async function write(delivery: Delivery, settlement: Settlement): Promise<void> {
    for (;;) {
      const written = await world.settle(delivery, settlement);
      if (written === "written") return report.settled(delivery, settlement);
      if (written === "gone" || released.aborted) return;
      await clock.sleep(SECOND, released);
    }
  }

  function track(queue: Queue, delivering: Promise<void>): void {
    inFlight[queue] += 1;
    const done = delivering
      .catch((error: unknown) => report.unexpected(`deliver to ${name}`, error))
      .finally(() => {
        inFlight[queue] -= 1;
        running.delete(done);
        bell.ring();
      });
    running.add(done);
  }

  /** When a receiver has come back, what waits for it need not wait any longer. */
  function noticeReopening(destination: Destination): void {
    const at = lanes.reopenedAt(destination);
    if (at === null || at === reopenedAt) return;
    reopenedAt = at;
    window.hurry(at);
  }

  function storeFailed(error: unknown): At {
    report.storeFailed(`read what waits for ${name}`, error);
    return clock.now() + SECOND;
  }
}

type Start = { readonly destination: Destination; readonly ask: SlotAsk };

function earliest(a: At | null, b: At | null): At | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
