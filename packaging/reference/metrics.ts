import Registry from "prom-client/lib/registry.js";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { code, contents, escaped, page, prose, table } from "./markdown.ts";

/** A metric, as prom-client holds it. */
type Metric = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
};

/** The text of docs/reference/metrics.md. */
export function metricsPage(): string {
  const metrics = declaredMetrics();
  const groups = GROUPS.map(([title, prefix], nth) => {
    const isFirst = ({ name }: Metric) => GROUPS.findIndex(([, other]) => other.test(name)) === nth;
    return [title, metrics.filter((metric) => prefix.test(metric.name) && isFirst(metric))] as const;
  }).filter(([, some]) => some.length > 0);
  return page(
    "the declarations in src/runtime/metrics.ts",
    "# Metrics",
    prose(`\`GET /metrics\` of the operator's API answers in Prometheus' text format: [monitoring](../operate/monitoring.md) has
      how to scrape it, the alerts, and the metrics of several daemons.`),
    contents(groups.map(([title]) => title)),
    prose(`A counter starts at 0 with the daemon. A gauge that cannot be read now has no series, so that no alert takes it
      for 0. A histogram has \`_bucket\`, \`_sum\` and \`_count\`. Webhooks are numbered as in the config, from 1.`),
    ...groups.flatMap(([title, some]) => [
      `## ${title}`,
      table(["metric", "type", "unit", "labels", "what it says"], some.map(metricRow)),
    ]),
  );
}

/** Every metric that the daemon declares. */
export function declaredMetrics(): readonly Metric[] {
  const registry = new Registry();
  createMetrics({ clock: { now: () => 0, wall: () => 0 }, version: "", runtime: "", registry });
  return registry.getMetricsAsArray() as unknown as readonly Metric[];
}

/** The first that fits decides. */
const GROUPS: readonly (readonly [title: string, names: RegExp])[] = [
  ["Calls", /^fairlead_(requests|ingest|events|payloads)/],
  ["Deliveries", /^fairlead_(deliveries|attempt|oldest|destination)/],
  ["Webhooks", /^fairlead_webhook/],
  ["Audiences and traits", /^fairlead_(audience|trait)/],
  ["The outbox", /^fairlead_(store|slow|pruned)/],
  ["Several daemons", /^fairlead_(streams|leads|beat|daemons)/],
  ["The daemon", /./],
];

function metricRow({ name, type, labelNames, help }: Metric): readonly string[] {
  return [code(name), type, unitOf(name), labelNames.map(code).join(", "), escaped(help)];
}

/** By Prometheus' rules, the name says the unit. */
function unitOf(name: string): string {
  const [, unit = ""] = /_(seconds|bytes)(_total)?$/.exec(name) ?? [];
  return unit;
}
