import { type Config, type Notifier, receiversOf } from "../model/config.ts";
import { StoreAway } from "../model/fault.ts";
import type { Fact } from "../model/notice.ts";
import type { Observer } from "../model/observer.ts";
import type { Clock, SendTest } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Sharing } from "../model/sharing.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { acceptMessage, createDesk, type Desk, type DeskWorld } from "./desk.ts";
import { type FactsWorld, gatherFacts } from "./facts.ts";
import { writeTest } from "./message.ts";

export type NotifyingWorld = FactsWorld &
  Pick<DeskWorld, "accept" | "marks" | "random"> & {
    readonly sharing: Pick<Sharing, "leads" | "alive"> | null;
    readonly clock: Clock;
    readonly report: Report;
  };

export type Notifying = Pick<Observer, "givenUp"> & {
  /** Looks and reports until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** Reports what is counted, at the stop: no delivery is given up after that. */
  end(): Promise<void>;
  /** Sends a test to an entry of the config, by its name as a destination. */
  readonly test: SendTest;
};

/** How often the daemon is checked. Nothing is reported sooner than a minute after it was seen. */
const EVERY: Ms = 10 * SECOND;

/**
 * Tells webhooks of trouble. A notification is an event like any other: it is stored, and sent, signed and retried as a delivery to the
 * destination `notify:NAME`, which nothing else is sent to.
 */
export function createNotifying(world: NotifyingWorld): Notifying {
  const { config, clock, host, report } = world;
  const desks = createDesks(world);

  return {
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(EVERY, signal);
        if (!signal.aborted) await unfailing("notify", lookAround);
      }
    },
    end: () => unfailing("notify at the stop", () => inTurn(desks.open(), ([, desk]) => desk.tellCounted())),
    givenUp({ destination }, settlement) {
      if (settlement.state !== "failed" && settlement.state !== "expired") return;
      const { state, reason } = settlement;
      for (const [notifier, desk] of desks.open()) {
        if (!isSameWay(destination, notifier, config())) desk.countGivenUp({ destination, state, reason });
      }
    },
    test(name) {
      const template = receiversOf(config()).find((one) => one.name === name)?.template ?? null;
      return acceptMessage({ name, template }, writeTest(name, { wall: clock.wall(), host }), world);
    },
  };

  async function lookAround(): Promise<void> {
    const open = desks.open();
    if (open.length === 0) return;
    const facts = await gatherFacts(world);
    await inTurn(open, ([notifier, desk]) => desk.look(facts.filter((fact) => maySay(fact, notifier, config()))));
  }

  /** A database that is away is logged by the store. */
  async function unfailing(doing: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof StoreAway)) report.unexpected(doing, error);
    }
  }
}

async function inTurn<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  for (const item of items) await run(item);
}

/** The desks of the entries that are enabled. What was seen for one that is disabled or gone is forgotten, but not what was reported to it. */
function createDesks(world: NotifyingWorld) {
  const { config, sharing } = world;
  const desks = new Map<string, Desk>();
  const notifiers = new Map<string, Notifier>();

  return {
    open(): readonly (readonly [Notifier, Desk])[] {
      const { notify } = config();
      const enabled = notify.filter(({ destination }) => destination.enabled);
      for (const name of desks.keys()) if (!enabled.some((one) => one.name === name)) desks.delete(name);
      return enabled.map((notifier) => {
        notifiers.set(notifier.name, notifier);
        return [notifier, desks.get(notifier.name) ?? make(notifier)] as const;
      });
    },
  };

  function make(notifier: Notifier): Desk {
    const desk = createDesk({
      ...world,
      notifier: () => notifiers.get(notifier.name) ?? notifier,
      isShared: sharing !== null,
      alone: () => (sharing?.alive() ?? 1) <= 1,
      leads: () => sharing?.leads() ?? true,
    });
    desks.set(notifier.name, desk);
    return desk;
  }
}

/** Trouble with a receiver is not reported to that receiver. */
function maySay({ kind, subject }: Fact, notifier: Notifier, config: Config): boolean {
  return kind !== "destination_failing" || !isSameWay(subject, notifier, config);
}

function isSameWay(name: string, { destination: own }: Notifier, config: Config): boolean {
  if (name === own.name) return true;
  const url = own.webhooks[0]?.url;
  return receiversOf(config).some((one) => one.name === name && one.webhooks.some((webhook) => webhook.url === url));
}
