import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import type Registry from "prom-client/lib/registry.js";
import type { Members } from "../model/audience.ts";
import type { WatchedWebhooks } from "../model/daemon.ts";
import type { DeliveryState } from "../model/delivery.ts";
import type { StoredClocks } from "../model/destination-clock.ts";
import type { StoreHealth, StoreState } from "../model/disk.ts";
import type { Backlog, Clock, DeliveryCount } from "../model/ports.ts";
import type { Sharing } from "../model/sharing.ts";
import type { WebhookHealth } from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import { SECOND } from "../model/units.ts";

type Sample = readonly [labels: Readonly<Record<string, string | number>>, value: number];

type GaugeOptions = {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Reads the values at each scrape. A missing value has no series, so that alerts do not read it as 0. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>;
};

function declareGauge(registry: Registry, { name, help, labels = [], read }: GaugeOptions): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      const samples = await read();
      this.reset();
      // Without labels, a reset leaves a 0.
      if (labels.length === 0) this.remove();
      for (const [sampled, value] of samples) this.set(sampled, value);
    },
  });
}

export type ExposedStore = {
  readonly backlog: Backlog;
  readonly clocks: Pick<StoredClocks, "all">;
  readonly health: Pick<StoreHealth, "state">;
  readonly members: Pick<Members, "all">;
  readonly sharing: Gauged | null;
  readonly timeline: Pick<Timeline, "health">;
};

/** What the gauges of the store read at each scrape. */
type StoreView = {
  /** Null until it is open, which is after the gauges are declared. */
  readonly store: () => ExposedStore | null;
  /** The configured destinations: they have gauges even without stored deliveries. */
  readonly destinations: () => readonly string[];
  /** The destinations that receive deliveries; null while unknown. */
  readonly served: () => readonly string[] | null;
  readonly clock: Pick<Clock, "now">;
};

/**
 * Declares the gauges that are read from the store at each scrape. One that cannot be read is left out. Of daemons that share
 * a store, only the one that leads has the gauges of what is shared: a sum over all daemons does not count it twice.
 */
export function declareStoreGauges(registry: Registry, view: StoreView): void {
  declareStored(registry, { ...view, store: () => sharedIn(view.store()) });
  declareState(registry, view);
  declareSharing(registry, view);
}

function sharedIn(store: ExposedStore | null): ExposedStore | null {
  return store?.sharing && !store.sharing.leads() ? null : store;
}

function declareStored(registry: Registry, view: StoreView): void {
  const { store, destinations } = view;
  declareGauge(registry, {
    name: "fairlead_deliveries",
    help: "Deliveries in the store, by destination and state.",
    labels: ["destination", "state"],
    async read() {
      const counts = await countDeliveries(view);
      return counts.map(({ destination, state, count }) => [{ destination, state }, count]);
    },
  });
  declareGauge(registry, {
    name: "fairlead_deliveries_unserved",
    help:
      "Waiting deliveries of destinations that are disabled or no longer in the config. " +
      "Paused destinations are not counted.",
    labels: ["destination"],
    async read() {
      const counts = await countUnserved(view);
      return counts.map(({ destination, count }) => [{ destination }, count]);
    },
  });
  declareGauge(registry, {
    name: "fairlead_oldest_waiting_seconds",
    help: "Age of the oldest waiting delivery, since it was accepted or replayed by the operator. 0 without waiting deliveries.",
    labels: ["destination"],
    read: () => agesOfOldest(view),
  });
  declareGauge(registry, {
    name: "fairlead_destination_paused",
    help: "1 if nothing is sent to the destination until the operator resumes it, else 0.",
    labels: ["destination"],
    async read() {
      const clocks = await orNull(() => store()?.clocks.all());
      if (!clocks) return [];
      const paused = clocks.filter(({ pausedAt }) => pausedAt !== null).map(({ destination }) => destination);
      const all = new Set([...destinations(), ...paused]);
      return [...all].map((destination) => [{ destination }, paused.includes(destination) ? 1 : 0]);
    },
  });
  declareMembers(registry, view);
  declareSize(registry, view);
}

const STATES: readonly DeliveryState[] = ["waiting", "delivered", "failed", "expired"];

/** The store's counts, with zeros for the states of a destination that it has no row for. */
async function countDeliveries({ store, destinations }: StoreView): Promise<readonly DeliveryCount[]> {
  const counts = await orNull(() => store()?.backlog.counts());
  if (!counts) return [];
  const names = new Set([...destinations(), ...counts.map(({ destination }) => destination)]);
  const zeros = [...names].flatMap((destination) => STATES.map((state) => ({ destination, state, count: 0 })));
  return [...zeros, ...counts];
}

async function countUnserved({ store, served }: StoreView): Promise<readonly DeliveryCount[]> {
  const names = served();
  const counts = await orNull(() => store()?.backlog.counts());
  if (names === null || !counts) return [];
  return counts.filter(({ destination, state, count }) => {
    return state === "waiting" && count > 0 && !names.includes(destination);
  });
}

async function agesOfOldest(view: StoreView): Promise<readonly Sample[]> {
  const waiting = new Map<string, number>();
  for (const { destination, state, count } of await countDeliveries(view)) {
    if (state === "waiting") waiting.set(destination, count);
  }
  const ages = [...waiting].map(async ([destination, count]): Promise<readonly Sample[]> => {
    const age = count > 0 ? await ageOfOldest(view, destination) : 0;
    return age === null ? [] : [[{ destination }, age]];
  });
  return (await Promise.all(ages)).flat();
}

async function ageOfOldest({ store, clock }: StoreView, destination: string): Promise<number | null> {
  const oldest = await orNull(async () => ({ at: (await store()?.backlog.oldestWaitingAt(destination)) ?? null }));
  if (oldest === null) return null;
  return oldest.at === null ? 0 : Math.max(0, clock.now() - oldest.at) / SECOND;
}

function declareMembers(registry: Registry, { store }: StoreView): void {
  const kinds = [
    { kind: "audience", name: "fairlead_audience_members", help: "Users in the audience." },
    { kind: "trait", name: "fairlead_trait_users", help: "Users with a value of the computed trait." },
  ] as const;
  for (const { kind, name, help } of kinds) {
    declareGauge(registry, {
      name,
      help,
      labels: ["source", kind],
      async read() {
        const all = (await orNull(() => store()?.members.all())) ?? [];
        const ofKind = all.filter((one) => one.class === kind);
        return ofKind.map(({ source, key, size }) => [{ source, [kind]: key }, size]);
      },
    });
  }
}

type StateGauge = (name: string, help: string, read: (state: StoreState) => number | boolean | null) => void;

function createStateGauge(registry: Registry, { store }: StoreView): StateGauge {
  return (name, help, read) =>
    declareGauge(registry, {
      name,
      help,
      async read() {
        const state = await orNull(() => store()?.health.state());
        const value = state && read(state);
        return value === null ? [] : [[{}, Number(value)]];
      },
    });
}

function declareSize(registry: Registry, view: StoreView): void {
  const declare = createStateGauge(registry, view);
  declare("fairlead_store_bytes", "Bytes of used pages in the store.", ({ size }) => size.used);
  declare("fairlead_store_max_bytes", "Bytes of used pages at which ingestion answers 503.", ({ size }) => size.max);
}

/** How this daemon finds the store. */
function declareState(registry: Registry, view: StoreView): void {
  const { store } = view;
  const declare = createStateGauge(registry, view);
  declare("fairlead_store_free_disk_bytes", "Free bytes on the disk of the store.", ({ size }) => size.free);
  declare(
    "fairlead_store_full",
    "1 while calls are refused because the store or its disk is full, else 0.",
    ({ full }) => full !== null,
  );
  declare(
    "fairlead_store_gone",
    "1 while calls are refused because the outbox was removed, replaced or truncated while the daemon runs, else 0.",
    ({ gone }) => gone !== null,
  );
  declareGauge(registry, {
    name: "fairlead_clock_implausible",
    help: "1 while the machine's clock is implausible, so that events get wrong times, else 0.",
    read() {
      const opened = store();
      return opened === null ? [] : [[{}, Number(!opened.timeline.health().plausible)]];
    },
  });
}

type Gauged = Omit<Sharing, "daemons" | "announce">;

/** Without series if only this daemon can have the store. */
function declareSharing(registry: Registry, { store, clock }: StoreView): void {
  function declare(name: string, help: string, read: (sharing: Gauged) => number | null): void {
    declareGauge(registry, {
      name,
      help,
      read() {
        const sharing = store()?.sharing;
        const value = sharing ? read(sharing) : null;
        return value === null ? [] : [[{}, value]];
      },
    });
  }
  declare("fairlead_streams_held", "Parts of the shared outbox that this daemon writes and delivers.", (sharing) =>
    sharing.streams(),
  );
  declare("fairlead_leads", "1 if this daemon does the common work of all, else 0.", (sharing) =>
    Number(sharing.leads()),
  );
  declare(
    "fairlead_beat_age_seconds",
    "Time since this daemon last reported to the others that it is alive.",
    (sharing) => {
      return Math.max(0, clock.now() - sharing.beatAt()) / SECOND;
    },
  );
  declare(
    "fairlead_daemons_alive",
    "Daemons that share the outbox. Only the leading daemon exports this metric.",
    (sharing) => (sharing.leads() ? sharing.alive() : null),
  );
}

/** The store has already logged and counted its failure. The other metrics are still needed. */
async function orNull<T>(ask: () => Promise<T> | undefined): Promise<T | null> {
  try {
    return (await ask()) ?? null;
  } catch {
    return null;
  }
}

type WebhookView = {
  readonly read: () => readonly WatchedWebhooks[];
  readonly clock: Pick<Clock, "now">;
};

/** Declares whether each webhook works, and when a failing one is tried again. */
export function declareWebhookGauges(registry: Registry, { read, clock }: WebhookView): void {
  function each(measure: (health: WebhookHealth) => number): readonly Sample[] {
    return read().flatMap(({ destination, webhooks }) =>
      webhooks.map((health, nth): Sample => [{ destination, webhook: nth + 1 }, measure(health)]),
    );
  }
  const labels = ["destination", "webhook"];
  declareGauge(registry, {
    name: "fairlead_webhook_up",
    help: "1 if the webhook works or was not tried yet, 0 if it refuses everything, does not answer or cannot be reached.",
    labels,
    read: () => each(({ failingSince }) => (failingSince === null ? 1 : 0)),
  });
  declareGauge(registry, {
    name: "fairlead_webhook_next_try_seconds",
    help: "Seconds until the next request to the webhook, while it is held back by a closed lane or a Retry-After. 0 if it is not.",
    labels,
    read: () => each(({ nextTryAt }) => Math.max(0, (nextTryAt ?? 0) - clock.now()) / SECOND),
  });
  declareGauge(registry, {
    name: "fairlead_deliveries_held_back",
    help:
      "Deliveries that are due and wait: by=user for an earlier one of their user, by=rate or by=concurrency for their " +
      "destination's limits. Of this daemon, as far as they are in memory: up to a few hundred by rate or concurrency.",
    labels: ["destination", "by"],
    read: () =>
      read().flatMap(({ destination, heldBack }) =>
        Object.entries(heldBack).map(([by, count]): Sample => [{ destination, by }, count]),
      ),
  });
}

const MICROSECONDS = 1_000_000;

/** Declares the build info, and the usual process metrics under the names of Prometheus clients. */
export function declareProcess(
  registry: Registry,
  labels: { readonly version: string; readonly runtime: string },
): void {
  const startedAt = Date.now() / SECOND - process.uptime();
  declareGauge(registry, {
    name: "fairlead_build_info",
    help: "Always 1. The labels name this Fairlead version and its runtime.",
    labels: ["version", "runtime"],
    read: () => [[labels, 1]],
  });
  declareGauge(registry, {
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    read: () => [[{}, startedAt]],
  });
  declareGauge(registry, {
    name: "process_resident_memory_bytes",
    help: "Resident memory of the process.",
    read: () => [[{}, process.memoryUsage().rss]],
  });
  new Counter({
    name: "process_cpu_seconds_total",
    help: "Processor time that the process has used, in user and system mode.",
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / MICROSECONDS);
    },
  });
}
