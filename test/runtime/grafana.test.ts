import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { UNSHIFTED } from "../flow/clock.ts";
import { type Panel, panelsOf, queriesOf, readDashboard } from "./grafana.ts";

const dashboard = readDashboard();
const panels = panelsOf(dashboard);
const queries = queriesOf(dashboard);
const variables = dashboard.templating.list;

/** What Prometheus adds by itself. */
const ADDED = ["job", "instance"];

/** The labels of each metric that the daemon has. */
async function labelsByMetric(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>([["up", new Set(ADDED)]]);
  for (const line of (await exposeAll()).split("\n")) {
    const [, declared, name = "", labels = ""] = /^(?:# TYPE (\w+)|(\w+)(?:\{(.*)\})? )/.exec(line) ?? [];
    const known = found.get(declared ?? name) ?? new Set(ADDED);
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
    found.set(declared ?? name, known);
  }
  return found;
}

/** A daemon that leads others, and to which everything has happened that has labels. */
async function exposeAll(): Promise<string> {
  const clock = { now: () => 0, wall: () => 0 };
  const metrics = createMetrics({ clock, version: "1.0.0", runtime: "bun" });
  const url = "https://crm.example.com/";
  metrics.declare({ sources: ["website"], destinations: ["crm"], webhooks: new Map([["crm", [url]]]), served: [] });
  metrics.answered(200, 3);
  metrics.rejected.row("website").add("invalid_call");
  metrics.unrouted.row("website").add("historical");
  const health = { url, state: "working", failingSince: null, lastFailure: null, nextTryAt: null } as const;
  metrics.watch(() => [{ destination: "crm", webhooks: [health], heldBack: { user: 0, rate: 0, concurrency: 0 } }]);
  const counts = async () => [{ destination: "crm", state: "waiting", count: 1 }] as const;
  const state = { writable: true, refusal: null, gone: null, full: null, crowding: null };
  metrics.expose({
    backlog: { counts, oldestWaitingAt: async () => 0, nextRetryAt: async () => null },
    clocks: { all: async () => [] },
    members: { all: async () => [] },
    health: { state: async () => ({ ...state, size: { used: 10, max: 20, free: 30 } }) },
    timeline: UNSHIFTED,
    sharing: { streams: () => 4, leads: () => true, beatAt: () => 0, alive: () => 2 },
  });
  return metrics.text();
}

/** Each metric of a query, and the labels that it is chosen by. */
function selectors(expr: string): readonly { readonly metric: string; readonly labels: readonly string[] }[] {
  const found = expr.matchAll(/\b(up|(?:fairlead|process)_\w+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, metric = "", inside = ""]) => ({
    metric,
    labels: [...inside.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = ""]) => label),
  }));
}

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

describe("packaging/grafana/fairlead.json", () => {
  it("asks for metrics that the daemon has, by labels that they have", async () => {
    const known = await labelsByMetric();
    assert.ok(queries.length > panels.length);
    for (const { where, expr } of queries) {
      assert.ok(selectors(expr).length > 0, where);
      for (const { metric, labels } of selectors(expr)) {
        const own = known.get(metric);
        assert.ok(own, `${where}: there is no ${metric}`);
        for (const label of labels) assert.ok(own.has(label), `${where}: ${metric} has no label ${label}`);
      }
    }
  });

  it("adds up by labels that the metrics have, and names its lines by labels that are left", async () => {
    const known = await labelsByMetric();
    for (const { where, expr, legend } of queries) {
      const all = new Set(selectors(expr).flatMap(({ metric }) => [...(known.get(metric) ?? [])]));
      const by = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/,\s*/));
      for (const label of by) assert.ok(all.has(label), `${where}: by ${label}`);
      const left = /\b(?:sum|min|max)\b/.test(expr) ? new Set(by) : all;
      for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g)) assert.ok(left.has(label), `${where}: ${legend}`);
    }
  });

  it("shows the jobs and instances that are chosen, and no others", async () => {
    for (const { where, expr } of queries) {
      for (const { labels } of selectors(expr)) assert.deepEqual(labels.slice(0, 2), ADDED, where);
    }
    assert.deepEqual(
      variables.map(({ name, type }) => `${name}: ${type}`),
      ["datasource: datasource", "job: query", "instance: query", "destination: query"],
    );
    const known = await labelsByMetric();
    for (const { name, query } of variables) {
      if (typeof query === "string") continue;
      const [, asked = "", value = ""] = /^label_values\((.+), (\w+)\)$/.exec(query.query) ?? [];
      assert.ok(
        selectors(asked).some(({ metric }) => known.get(metric)?.has(value)),
        `$${name}: ${query.query}`,
      );
    }
    for (const { where, expr } of queries) {
      for (const [, name = ""] of expr.matchAll(/\$\{?(\w+)/g)) {
        assert.ok(["__rate_interval", "__range"].includes(name) || variables.some((one) => one.name === name), where);
      }
    }
  });

  it("says of each panel what it shows, in which unit, and asks the chosen data source", () => {
    assert.ok(panels.length > 20);
    for (const { title, description = "", datasource, fieldConfig, targets = [] } of panels) {
      assert.match(description, /\.$/, title);
      assert.deepEqual(datasource, { type: "prometheus", uid: `\${datasource}` }, title);
      assert.ok(fieldConfig?.defaults.unit ?? fieldConfig?.defaults.mappings ?? title === "Destinations", title);
      assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    }
  });

  it("has no panel over another one, and none twice", () => {
    const all = [...dashboard.panels, ...panels];
    assert.equal(new Set(all.map(({ id }) => id)).size, new Set(all).size);
    for (const group of [dashboard.panels, ...dashboard.panels.map((row) => row.panels ?? [])]) {
      for (const [nth, one] of group.entries()) {
        assert.ok(one.gridPos.x + one.gridPos.w <= 24, one.title);
        for (const other of group.slice(nth + 1)) assert.ok(!overlap(one, other), `${one.title} and ${other.title}`);
      }
    }
  });
});
