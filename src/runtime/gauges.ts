import type { Members } from "../model/audience.ts";
import type { WatchedWebhooks } from "../model/daemon.ts";
import type { DeliveryState } from "../model/delivery.ts";
import type { StoredClocks } from "../model/destination-clock.ts";
import type { Backlog, Clock } from "../model/ports.ts";
import type { StoreHealth } from "../model/space.ts";
import type { WebhookHealth } from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import { SECOND } from "../model/units.ts";
import { declareMembers } from "./audience-metrics.ts";
import { Counter, Gauge, type Registry } from "./prom.ts";

export type ExposedStore = {
  readonly backlog: Backlog;
  readonly clocks: Pick<StoredClocks, "all">;
  readonly health: Pick<StoreHealth, "size" | "full" | "gone">;
  readonly members: Pick<Members, "all">;
  readonly timeline: Pick<Timeline, "health">;
};

const STATES: readonly DeliveryState[] = ["waiting", "delivered", "failed", "expired"];
const MICROSECONDS = 1_000_000;

/** What the store's gauges ask when somebody reads the metrics: the store opens after they are declared. */
export type StoreView = {
  readonly store: () => ExposedStore | null;
  /** The configured destinations: they have gauges even while nothing is stored for them. */
  readonly destinations: () => readonly string[];
  /** Those of them that are delivered to; null while nobody has said. */
  readonly served: () => readonly string[] | null;
  readonly clock: Pick<Clock, "now">;
};

/** Declares the gauges that are read from the store at each scrape. One that cannot be read is left out. */
export function declareStoreGauges(registry: Registry, view: StoreView): void {
  new Gauge({
    name: "fairlead_deliveries",
    help: "Deliveries in the store, by destination and state.",
    labelNames: ["destination", "state"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { destination, state, count } of countDeliveries(view)) this.set({ destination, state }, count);
    },
  });
  new Gauge({
    name: "fairlead_deliveries_unserved",
    help:
      "Deliveries that wait for a destination which is removed from the config, or disabled. " +
      "Those of one that is only paused are held on purpose, and left out.",
    labelNames: ["destination"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { destination, count } of countUnserved(view)) this.set({ destination }, count);
    },
  });
  new Gauge({
    name: "fairlead_oldest_waiting_seconds",
    help: "How long the delivery that waits longest has waited: since it was accepted, or sent again by the operator. 0 if none waits.",
    labelNames: ["destination"],
    registers: [registry],
    async collect() {
      const ages = await agesOfOldest(view);
      this.reset();
      for (const { destination, age } of ages) this.set({ destination }, age);
    },
  });
  declarePaused(registry, view);
  declareMembers(registry, () => orNothing(() => view.store()?.members.all()) ?? []);
  declareSize(registry, view);
}

type Count = ReturnType<Backlog["counts"]>[number];

/** The store's counts, with zeros for the states of a destination that it has no row for. */
function countDeliveries({ store, destinations }: StoreView): readonly Count[] {
  const counts = orNothing(() => store()?.backlog.counts());
  if (!counts) return [];
  const names = new Set([...destinations(), ...counts.map(({ destination }) => destination)]);
  const zeros = [...names].flatMap((destination) => STATES.map((state) => ({ destination, state, count: 0 })));
  return [...zeros, ...counts];
}

function countUnserved({ store, served }: StoreView): readonly Count[] {
  const names = served();
  const counts = orNothing(() => store()?.backlog.counts()) ?? [];
  if (names === null) return [];
  return counts.filter(({ destination, state, count }) => {
    return state === "waiting" && count > 0 && !names.includes(destination);
  });
}

async function agesOfOldest(view: StoreView): Promise<readonly { destination: string; age: number }[]> {
  const waiting = new Map<string, number>();
  for (const { destination, state, count } of countDeliveries(view)) {
    if (state === "waiting") waiting.set(destination, count);
  }
  const ages = [...waiting].map(async ([destination, count]) => {
    const age = count > 0 ? await ageOfOldest(view, destination) : 0;
    return age === null ? [] : [{ destination, age }];
  });
  return (await Promise.all(ages)).flat();
}

async function ageOfOldest({ store, clock }: StoreView, destination: string): Promise<number | null> {
  try {
    const at = (await store()?.backlog.oldestWaitingAt(destination)) ?? null;
    return at === null ? 0 : Math.max(0, clock.now() - at) / SECOND;
  } catch {
    // A store that fails has logged and counted that; the other metrics are needed now more than ever.
    return null;
  }
}

function declarePaused(registry: Registry, { store, destinations }: StoreView): void {
  new Gauge({
    name: "fairlead_destination_paused",
    help: "1 if nothing is sent to the destination until the operator resumes it, else 0.",
    labelNames: ["destination"],
    registers: [registry],
    collect() {
      this.reset();
      const clocks = store()?.clocks.all();
      if (!clocks) return;
      for (const destination of destinations()) this.set({ destination }, 0);
      for (const { destination, pausedAt } of clocks) if (pausedAt !== null) this.set({ destination }, 1);
    },
  });
}

export type WebhookView = {
  readonly read: () => readonly WatchedWebhooks[];
  readonly clock: Pick<Clock, "now">;
};

/** Declares what is known of each webhook: whether it takes what it gets, and when it is asked again if not. */
export function declareWebhookGauges(registry: Registry, { read, clock }: WebhookView): void {
  const labelNames = ["destination", "webhook"];
  const each = (tell: (labels: { destination: string; webhook: number }, health: WebhookHealth) => void): void => {
    for (const { destination, webhooks } of read()) {
      webhooks.forEach((health, nth) => {
        tell({ destination, webhook: nth + 1 }, health);
      });
    }
  };
  new Gauge({
    name: "fairlead_webhook_up",
    help: "1 if the webhook works or was not tried yet, 0 if it takes nothing, does not answer, or cannot be reached.",
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      each((labels, { failingSince }) => this.set(labels, failingSince === null ? 1 : 0));
    },
  });
  new Gauge({
    name: "fairlead_webhook_next_try_seconds",
    help: "In how many seconds something is sent to the webhook again, if it has to wait: for a probe, or as it has asked. 0 if not.",
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      each((labels, { nextTryAt }) => this.set(labels, Math.max(0, (nextTryAt ?? 0) - clock.now()) / SECOND));
    },
  });
}

function declareSize(registry: Registry, { store }: StoreView): void {
  const gauges = [
    {
      name: "fairlead_store_bytes",
      help: "Bytes of used pages in the store.",
      read: () => store()?.health.size().used,
    },
    {
      name: "fairlead_store_max_bytes",
      help: "Bytes of used pages at which ingestion answers 503.",
      read: () => store()?.health.size().max,
    },
    {
      name: "fairlead_store_free_disk_bytes",
      help: "Bytes that are free on the disk of the store.",
      read: () => store()?.health.size().free,
    },
    {
      name: "fairlead_store_full",
      help: "1 while calls are refused because the store or its disk is full, else 0.",
      read: () => fullness(store()),
    },
    {
      name: "fairlead_clock_implausible",
      help: "1 while the machine's clock cannot be right, so that events get wrong times, else 0.",
      read: () => doubt(store()),
    },
    {
      name: "fairlead_store_gone",
      help: "1 while calls are refused because the outbox was removed, replaced or cut short under the daemon, else 0.",
      read: () => absence(store()),
    },
  ];
  for (const { read, ...naming } of gauges) {
    new Gauge({
      ...naming,
      registers: [registry],
      collect() {
        const value = orNothing(read) ?? null;
        // Removed, not 0: an alert on used / max must not see a store that is not open, or cannot say.
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  }
}

function fullness(store: ExposedStore | null): number | null {
  return store && (store.health.full() === null ? 0 : 1);
}

function doubt(store: ExposedStore | null): number | null {
  return store && (store.timeline.health().plausible ? 0 : 1);
}

function absence(store: ExposedStore | null): number | null {
  return store && (store.health.gone() === null ? 0 : 1);
}

function orNothing<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

/** Declares what the process says of itself, under the names that every Prometheus client uses, and what it is. */
export function declareProcess(registry: Registry, what: { readonly version: string; readonly runtime: string }): void {
  const registers = [registry];
  const startedAt = Date.now() / SECOND - process.uptime();
  new Gauge({
    name: "fairlead_build_info",
    help: "Always 1. The labels say which Fairlead this is, and on what it runs.",
    labelNames: ["version", "runtime"],
    registers,
  }).set({ version: what.version, runtime: what.runtime }, 1);
  new Gauge({
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    registers,
  }).set(startedAt);
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Memory of the process that is in RAM.",
    registers,
    collect() {
      this.set(process.memoryUsage().rss);
    },
  });
  new Counter({
    name: "process_cpu_seconds_total",
    help: "Processor time that the process has used, in user and system mode.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / MICROSECONDS);
    },
  });
}
