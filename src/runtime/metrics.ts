import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Registry from "prom-client/lib/registry.js";
import type { Names, WatchedWebhooks } from "../model/daemon.ts";
import { CALL_TYPES } from "../model/event.ts";
import type { Clock } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { declareProcess, declareStoreGauges, declareWebhookGauges, type ExposedStore } from "./gauges.ts";
import { createHistogram, createRowCounter, createTally, type Row, type Tally, type Timings } from "./tally.ts";

export type Metrics = {
  /** The Content-Type of `text()`. */
  readonly contentType: string;
  /** Everything in Prometheus' text format 0.0.4. What the store cannot say just now is left out. */
  text(): Promise<string>;
  /** Gives the gauges their store, once it is open. */
  expose(store: ExposedStore): void;
  /** Starts the series of configured names at 0, so that `rate()` sees their first event. Call it at each reload. */
  declare(names: Names): void;
  /** Gives the gauges of webhooks their values. */
  watch(read: () => readonly WatchedWebhooks[]): void;
  /** By status. */
  readonly requests: Row;
  /** By source and type. */
  readonly received: Tally;
  /** By source (empty while unknown) and the fault's code. */
  readonly rejected: Tally;
  /** By source. */
  readonly duplicates: Row;
  /** By source and rule. */
  readonly unrouted: Tally;
  /** By destination and state. */
  readonly settled: Tally;
  /** By destination. */
  readonly replayed: Row;
  /** By source and what became of a user: a member of an audience, or somebody with a trait. */
  readonly audienceChanges: Tally;
  readonly traitChanges: Tally;
  /** By state and reason. */
  readonly pruned: Tally;
  /** `duration`: how long a receiver took to answer, or null if the attempt reached none. */
  attempted(
    webhook: { readonly destination: string; readonly url: string },
    outcome: string,
    duration: Ms | null,
  ): void;
  storeFailed(): void;
  slowCommit(): void;
  logDropped(lines: number): void;
  reloaded(successful: boolean): void;
};

export type MetricsOptions = {
  readonly clock: Pick<Clock, "now" | "wall">;
  /** Fairlead's version. */
  readonly version: string;
  /** What it runs on: `bun 1.4.5`. */
  readonly runtime: string;
};

/** Declares every metric, each once, in a registry of its own. */
export function createMetrics({ clock, version, runtime }: MetricsOptions): Metrics {
  const registry = new Registry();
  let store: ExposedStore | null = null;
  let declared: Names | null = null;
  let watched: () => readonly WatchedWebhooks[] = () => [];
  const attempts = declareAttempts(registry);
  const tallies = declareTallies(registry);
  const events = declareEvents(registry, clock);
  declareStoreGauges(registry, {
    clock,
    store: () => store,
    destinations: () => declared?.destinations ?? [],
    served: () => declared?.served ?? null,
  });
  declareWebhookGauges(registry, { read: () => watched(), clock });
  declareProcess(registry, { version, runtime });
  return {
    ...tallies,
    attempted: attempts.attempted,
    ...events,
    contentType: registry.contentType,
    text: () => registry.metrics(),
    expose(opened) {
      store = opened;
    },
    watch(read) {
      watched = read;
    },
    declare(names) {
      declared = names;
      attempts.declare(names.webhooks);
      beginAtZero(tallies, names);
    },
  };
}

type Tallies = ReturnType<typeof declareTallies>;

function beginAtZero({ received, duplicates, settled, replayed }: Tallies, names: Names): void {
  for (const source of names.sources) {
    received.row(source);
    duplicates.add(source, 0);
  }
  for (const destination of names.destinations) {
    settled.row(destination);
    replayed.add(destination, 0);
  }
}

const OUTCOMES = ["delivered", "timeout", "unreachable", "offline", "untrusted", "released"];
const FAILING_STATUSES = ["status_3xx", "status_4xx", "status_5xx"];
const ENDS = ["delivered", "failed", "expired"];
const PRUNED = [...ENDS, "unrouted", "seen"];

function declareTallies(registry: Registry) {
  const pruned = createTally({
    registry,
    name: "fairlead_pruned_total",
    help: "Rows removed from the store, and why.",
    labels: ["state", "reason"],
    known: ["age", "space"],
  });
  for (const state of PRUNED) pruned.row(state);
  return { ...declareCalls(registry), ...declareDeliveries(registry), ...declareChanges(registry), pruned };
}

function declareCalls(registry: Registry) {
  return {
    requests: createRowCounter({
      registry,
      name: "fairlead_requests_total",
      help: "HTTP requests answered, by status.",
      label: "code",
    }),
    received: createTally({
      registry,
      name: "fairlead_events_received_total",
      help: "Events taken in, those included that had been there before.",
      labels: ["source", "type"],
      known: CALL_TYPES,
    }),
    rejected: createTally({
      registry,
      name: "fairlead_events_rejected_total",
      help: "Calls, or whole requests, that were refused. The source is empty while nobody knows it.",
      labels: ["source", "reason"],
    }),
    duplicates: createRowCounter({
      registry,
      name: "fairlead_events_duplicate_total",
      help: "Events that had been there before, and were not taken again.",
      label: "source",
    }),
    unrouted: createTally({
      registry,
      name: "fairlead_events_unrouted_total",
      help: "Events that go to no destination, once for each rule that kept them from one.",
      labels: ["source", "rule"],
    }),
  };
}

function declareDeliveries(registry: Registry) {
  return {
    settled: createTally({
      registry,
      name: "fairlead_deliveries_settled_total",
      help: "Deliveries that came to an end, by how they ended.",
      labels: ["destination", "state"],
      known: ENDS,
    }),
    replayed: createRowCounter({
      registry,
      name: "fairlead_deliveries_replayed_total",
      help: "Deliveries that were settled and sent again, because the operator said so.",
      label: "destination",
    }),
  };
}

/** How many users have changed. */
function declareChanges(registry: Registry) {
  return {
    audienceChanges: createTally({
      registry,
      name: "fairlead_audience_changes_total",
      help: "Users who have entered or left an audience of the source.",
      labels: ["source", "change"],
      known: ["added", "removed"],
    }),
    traitChanges: createTally({
      registry,
      name: "fairlead_trait_changes_total",
      help: "Users who have got another value of a computed trait of the source, or their first one, or have it no more.",
      labels: ["source", "change"],
      known: ["changed", "removed"],
    }),
  };
}

/** A webhook that the config had when an attempt began, and has no more. */
const GONE = "gone";

/**
 * Webhooks are told apart by their number in the config, from 1 on: their URLs would be labels without end, and may hold
 * what nobody should read.
 */
function declareAttempts(registry: Registry) {
  const counts = createTally({
    registry,
    name: "fairlead_attempts_total",
    help: "Attempts to deliver, by what came of them. The webhooks of a destination are numbered as in the config.",
    labels: ["destination", "webhook", "outcome"],
    known: [...OUTCOMES, ...FAILING_STATUSES],
  });
  const timings = createHistogram(
    {
      registry,
      name: "fairlead_attempt_duration_seconds",
      help: "How long receivers took to answer. Timeouts are included, attempts that reached no receiver are not.",
      labels: ["destination", "webhook"],
    },
    SECONDS,
  );
  const info = new Gauge({
    name: "fairlead_webhook_info",
    help: "Always 1. The labels say which host a webhook has.",
    labelNames: ["destination", "webhook", "host"],
    registers: [registry],
  });
  type Series = { readonly counts: Row; readonly timings: Timings };
  let known = new Map<string, Map<string, Series>>();
  const seriesOf = (destination: string, webhook: string): Series => {
    return { counts: counts.row(destination, webhook), timings: timings(destination, webhook) };
  };
  return {
    declare(webhooks: Names["webhooks"]) {
      info.reset();
      known = new Map();
      for (const [destination, urls] of webhooks) {
        known.set(destination, new Map(urls.map((url, nth) => [url, seriesOf(destination, String(nth + 1))])));
        urls.forEach((url, nth) => {
          info.set({ destination, webhook: nth + 1, host: new URL(url).host }, 1);
        });
      }
    },
    attempted({ destination, url }: { destination: string; url: string }, outcome: string, duration: Ms | null) {
      const series = known.get(destination)?.get(url) ?? seriesOf(destination, GONE);
      series.counts.add(outcome);
      if (duration !== null) series.timings.took(duration);
    },
  };
}

/** Up to the five seconds that a receiver has (SPEC.md 8). Timeouts lie above. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

function declareEvents(registry: Registry, clock: Pick<Clock, "wall">) {
  const registers = [registry];
  const storeErrors = new Counter({ name: "fairlead_store_errors_total", help: "Failures of the store.", registers });
  const slowCommits = new Counter({
    name: "fairlead_slow_commits_total",
    help: "Commits that took more than a second.",
    registers,
  });
  const logDropped = new Counter({
    name: "fairlead_log_lines_dropped_total",
    help: "Lines of the log that were dropped, because nobody read it.",
    registers,
  });
  return {
    storeFailed: () => storeErrors.inc(),
    slowCommit: () => slowCommits.inc(),
    logDropped: (lines: number) => logDropped.inc(lines),
    reloaded: declareReloads(registry, clock),
  };
}

/** The daemon could not have started without a config: it counts as the first success. */
function declareReloads(registry: Registry, clock: Pick<Clock, "wall">): (successful: boolean) => void {
  const registers = [registry];
  const successful = new Gauge({
    name: "fairlead_config_last_reload_successful",
    help: "1 if the config file was taken when it was last read, 0 if an older one is in force.",
    registers,
  });
  const at = new Gauge({
    name: "fairlead_config_last_reload_success_timestamp_seconds",
    help: "When the config file was last taken, in seconds since 1970.",
    registers,
  });
  const reloaded = (success: boolean) => {
    successful.set(success ? 1 : 0);
    if (success) at.set(clock.wall() / SECOND);
  };
  reloaded(true);
  return reloaded;
}
