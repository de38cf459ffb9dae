import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Registry from "prom-client/lib/registry.js";
import type { Names, WatchedWebhooks } from "../model/daemon.ts";
import { CALL_TYPES } from "../model/event.ts";
import type { Clock } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { declareProcess, declareStoreGauges, declareWebhookGauges, type ExposedStore } from "./gauges.ts";
import { createHistogram, createTally, type Row, type Timings } from "./tally.ts";

type MetricsOptions = {
  readonly clock: Pick<Clock, "now" | "wall">;
  /** Fairlead's version. */
  readonly version: string;
  /** What it runs on: `bun 1.4.5`. */
  readonly runtime: string;
  /** Where they are declared, for a caller that lists them. */
  readonly registry?: Registry;
};

export type Metrics = ReturnType<typeof createMetrics>;

/** Declares every metric, each once, in a registry of its own. */
export function createMetrics({ clock, version, runtime, registry = new Registry() }: MetricsOptions) {
  let store: ExposedStore | null = null;
  let declared: Names | null = null;
  let watched: () => readonly WatchedWebhooks[] = () => [];
  const requests = declareRequests(registry);
  const calls = declareCalls(registry);
  const deliveries = declareDeliveries(registry);
  const { attempted, declareWebhooks } = declareAttempts(registry);
  declareStoreGauges(registry, {
    clock,
    store: () => store,
    destinations: () => declared?.destinations ?? [],
    served: () => declared?.served ?? null,
  });
  declareWebhookGauges(registry, { read: () => watched(), clock });
  declareProcess(registry, { version, runtime });
  return {
    ...requests,
    ...calls,
    ...deliveries,
    attempted,
    ...declareChanges(registry),
    ...declareOperation(registry),
    reloaded: declareReloads(registry, clock),
    /** The Content-Type of `text()`. */
    contentType: registry.contentType as string,
    /** All metrics in Prometheus' text format 0.0.4. Gauges that the store cannot answer now are left out. */
    text: () => registry.metrics(),
    /** Gives the gauges their store, once it is open. */
    expose(opened: ExposedStore): void {
      store = opened;
    },
    /** Gives the gauges of webhooks their values. */
    watch(read: () => readonly WatchedWebhooks[]): void {
      watched = read;
    },
    /** Starts the series of configured names at 0, so that `rate()` sees their first event. Called at each reload. */
    declare(names: Names): void {
      declared = names;
      declareWebhooks(names.webhooks);
      for (const source of names.sources) {
        calls.received.row(source);
        calls.duplicates.add(source, 0);
      }
      for (const destination of names.destinations) {
        deliveries.settled.row(destination);
        deliveries.replayed.add(destination, 0);
        deliveries.payloadsShortened.add(destination, 0);
      }
    },
  };
}

/** Most calls wait a few milliseconds for their commit. Seconds are a slow disk, a lock, or a client that sends slowly. */
const ANSWER_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

function declareRequests(registry: Registry) {
  const requests = createTally(registry, {
    name: "fairlead_requests_total",
    help: "HTTP requests answered, by status.",
    labels: ["code"],
  }).row();
  const timings = createHistogram(registry, {
    name: "fairlead_ingest_duration_seconds",
    help: "Time of a request from its headers to its answer, including the body and the commit. By class of status.",
    labels: ["class"],
    buckets: ANSWER_SECONDS,
  });
  const byHundreds = new Map([2, 4, 5].map((hundreds) => [hundreds, timings.row(`${hundreds}xx`)]));
  return {
    answered(status: number, duration: Ms): void {
      requests.add(status);
      byHundreds.get(Math.floor(status / 100))?.took(duration);
    },
  };
}

function declareCalls(registry: Registry) {
  return {
    received: createTally(registry, {
      name: "fairlead_events_received_total",
      help: "Events accepted, including repeats.",
      labels: ["source", "type"],
      known: CALL_TYPES,
    }),
    /** `reason` is the fault's code. */
    rejected: createTally(registry, {
      name: "fairlead_events_rejected_total",
      help: "Calls, or whole requests, that were refused. The source is empty if it is unknown.",
      labels: ["source", "reason"],
    }),
    duplicates: createTally(registry, {
      name: "fairlead_events_duplicate_total",
      help: "Repeats of events, which were not stored again.",
      labels: ["source"],
    }).row(),
    unrouted: createTally(registry, {
      name: "fairlead_events_unrouted_total",
      help: "Events that go to no destination, counted once for each rule that excluded one.",
      labels: ["source", "rule"],
    }),
  };
}

const ENDS = ["delivered", "failed", "expired"];

function declareDeliveries(registry: Registry) {
  return {
    settled: createTally(registry, {
      name: "fairlead_deliveries_settled_total",
      help: "Deliveries that ended, by how they ended.",
      labels: ["destination", "state"],
      known: ENDS,
    }),
    replayed: createTally(registry, {
      name: "fairlead_deliveries_replayed_total",
      help: "Settled deliveries that the operator sent again.",
      labels: ["destination"],
    }).row(),
    payloadsShortened: createTally(registry, {
      name: "fairlead_payloads_shortened_total",
      help: "Payloads of templates whose long values were cut, because they would have exceeded 512 KB.",
      labels: ["destination"],
    }).row(),
  };
}

const OUTCOMES = ["delivered", "timeout", "unreachable", "offline", "untrusted", "released"];
const FAILING_STATUSES = ["status_3xx", "status_4xx", "status_5xx"];

/** Up to the five seconds that most receivers have, and the thirty that one may have. Timeouts lie above. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The number of a webhook that was removed from the config while an attempt was under way. */
const GONE = "gone";

/** Webhooks are numbered as in the config, from 1: their URLs would be unbounded labels, and may hold secrets. */
function declareAttempts(registry: Registry) {
  const labels = ["destination", "webhook"];
  const counts = createTally(registry, {
    name: "fairlead_attempts_total",
    help: "Attempts to deliver, by outcome. The webhooks of a destination are numbered as in the config.",
    labels: [...labels, "outcome"],
    known: [...OUTCOMES, ...FAILING_STATUSES],
  });
  const timings = createHistogram(registry, {
    name: "fairlead_attempt_duration_seconds",
    help: "Time that receivers took to answer. Timeouts are included; attempts that reached no receiver are not.",
    labels,
    buckets: SECONDS,
  });
  const info = new Gauge({
    name: "fairlead_webhook_info",
    help: "Always 1. The label names the host of a webhook.",
    labelNames: [...labels, "host"],
    registers: [registry],
  });
  type Series = { readonly counts: Row; readonly timings: Timings };
  let known = new Map<string, Map<string, Series>>();
  function seriesOf(destination: string, webhook: string): Series {
    return { counts: counts.row(destination, webhook), timings: timings.row(destination, webhook) };
  }
  return {
    declareWebhooks(webhooks: Names["webhooks"]): void {
      info.reset();
      // Nothing is attempted for a destination that is removed: its series would stay as they are until the daemon stops.
      counts.keep(webhooks);
      timings.keep(webhooks);
      known = new Map();
      for (const [destination, urls] of webhooks) {
        known.set(destination, new Map(urls.map((url, nth) => [url, seriesOf(destination, String(nth + 1))])));
        urls.forEach((url, nth) => {
          info.set({ destination, webhook: nth + 1, host: new URL(url).host }, 1);
        });
      }
    },
    /** `duration`: how long a receiver took to answer, or null if the attempt reached none. */
    attempted(webhook: { destination: string; url: string }, outcome: string, duration: Ms | null): void {
      const { destination, url } = webhook;
      const series = known.get(destination)?.get(url) ?? seriesOf(destination, GONE);
      series.counts.add(outcome);
      if (duration !== null) series.timings.took(duration);
    },
  };
}

function declareChanges(registry: Registry) {
  return {
    audienceChanges: createTally(registry, {
      name: "fairlead_audience_changes_total",
      help: "Users who entered or left an audience of the source.",
      labels: ["source", "change"],
      known: ["added", "removed"],
    }),
    traitChanges: createTally(registry, {
      name: "fairlead_trait_changes_total",
      help: "Users for whom a computed trait of the source was set, changed or removed.",
      labels: ["source", "change"],
      known: ["changed", "removed"],
    }),
  };
}

function declareOperation(registry: Registry) {
  const registers = [registry];
  const pruned = createTally(registry, {
    name: "fairlead_pruned_total",
    help: "Rows removed from the store, and why.",
    labels: ["state", "reason"],
    known: ["age", "space"],
  });
  for (const state of [...ENDS, "unrouted", "seen"]) pruned.row(state);
  const storeErrors = new Counter({ name: "fairlead_store_errors_total", help: "Failures of the store.", registers });
  const slowCommits = new Counter({
    name: "fairlead_slow_commits_total",
    help: "Commits that took more than a second.",
    registers,
  });
  const logDropped = new Counter({
    name: "fairlead_log_lines_dropped_total",
    help: "Log lines that were dropped because nothing read the log.",
    registers,
  });
  return {
    pruned,
    storeFailed: () => storeErrors.inc(),
    slowCommit: () => slowCommits.inc(),
    logDropped: (lines: number) => logDropped.inc(lines),
  };
}

/** The daemon starts only with a valid config, so the start counts as the first success. */
function declareReloads(registry: Registry, clock: Pick<Clock, "wall">): (successful: boolean) => void {
  const registers = [registry];
  const successful = new Gauge({
    name: "fairlead_config_last_reload_successful",
    help: "1 if the config file was valid when it was last read, 0 if an older one is in force.",
    registers,
  });
  const at = new Gauge({
    name: "fairlead_config_last_reload_success_timestamp_seconds",
    help: "When a valid config file was last read, in seconds since 1970.",
    registers,
  });
  const reloaded = (success: boolean) => {
    successful.set(success ? 1 : 0);
    if (success) at.set(clock.wall() / SECOND);
  };
  reloaded(true);
  return reloaded;
}
