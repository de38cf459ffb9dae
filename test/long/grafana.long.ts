// What the dashboard for Grafana asks, asked of a real Prometheus that reads a real daemon.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { type Process, start } from "../binary/process.ts";
import { startReceiver } from "../binary/receiver.ts";
import { createWaiting, PATIENT } from "../binary/waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "../binary/world.ts";
import { queriesOf, readDashboard } from "../runtime/grafana.ts";

const MISSING =
  spawnSync("prometheus", ["--version"]).status === 0
    ? false
    : "there is no Prometheus on this machine (apt install prometheus)";

/** Enough for a rate: those before the last are stored when it begins. */
const SCRAPES = 4;

/** What only daemons that share an outbox have, and what only a destination that is gone has. */
const NOT_HERE = /fairlead_(streams_held|leads|daemons_alive|beat_age_seconds|deliveries_unserved)\b/;

type Relay = AsyncDisposable & { readonly host: string; scraped(): Promise<void> };

/** Stands between Prometheus and the daemon, so that something happens before each scrape. */
function startRelay({ admin, call }: Daemon): Relay {
  const waiting = createWaiting();
  let scrapes = 0;
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  return {
    host: `127.0.0.1:${server.port}`,
    scraped: () =>
      waiting.until(
        () => scrapes > SCRAPES,
        () => `${scrapes} scrapes`,
      ),
    [Symbol.asyncDispose]: () => server.stop(true),
  };

  async function answer(): Promise<Response> {
    const event = { userId: "u1", event: "Order Completed", messageId: `m-${scrapes}` };
    const accepted = await call("/v1/track", event);
    assert.equal(accepted.status, 200);
    assert.equal((await call("/v1/track", { event: "Of nobody" })).status, 400);
    await call("/v1/track", { ...event, messageId: `n-${scrapes}`, integrations: { All: false } });
    const response = await fetch(`${admin}/metrics`);
    scrapes += 1;
    waiting.look();
    return response;
  }
}

/** Answers where it listens. */
async function startPrometheus(w: World, target: string): Promise<{ readonly process: Process; readonly url: string }> {
  const jobs = [{ job_name: "fairlead", static_configs: [{ targets: [target] }] }];
  const often = { scrape_interval: "2s", scrape_timeout: "2s" };
  await w.write("prometheus.yml", JSON.stringify({ global: often, scrape_configs: jobs }));
  const process = start("prometheus", [
    `--config.file=${w.path("prometheus.yml")}`,
    `--storage.tsdb.path=${w.path("prometheus")}`,
    "--web.listen-address=127.0.0.1:0",
  ]);
  const [, address = ""] = /address=(\S+)/.exec(await process.line(/msg="Listening on"/)) ?? [];
  await process.line(/ready to receive/);
  return { process, url: `http://${address}` };
}

/** As Grafana does it, with everything chosen. */
function fillIn(expr: string): string {
  return expr.replaceAll("$__rate_interval", "30s").replaceAll("$__range", "1m").replaceAll(/\$\w+/g, ".+");
}

async function ask(url: string, expr: string): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/api/v1/query`, { method: "POST", body: new URLSearchParams({ query: expr }) });
  const answer = (await response.json()) as { status: string; error?: string; data?: { result: unknown[] } };
  assert.equal(answer.status, "success", `${expr}\n${answer.error}`);
  return answer.data?.result ?? [];
}

describe("packaging/grafana/fairlead.json", () => {
  it("has only queries that Prometheus answers, with something to show", { ...PATIENT, skip: MISSING }, async () => {
    await using w = await makeWorld();
    await using receiver = startReceiver(({ nth }) => (nth % 2 === 0 ? 200 : 503));
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    await using relay = startRelay(await w.serve());
    const { process, url } = await startPrometheus(w, relay.host);
    await using _prometheus = process;
    await relay.scraped();
    const queries = queriesOf(readDashboard());
    assert.ok(queries.length > 20);
    for (const { where, expr } of queries) {
      const shown = await ask(url, fillIn(expr));
      assert.equal(shown.length > 0, !NOT_HERE.test(expr), `${where}: ${expr} shows ${shown.length} series`);
    }
  });

  it("would not pass with a query that cannot be read", { ...PATIENT, skip: MISSING }, async () => {
    await using w = await makeWorld();
    const { process, url } = await startPrometheus(w, "127.0.0.1:9");
    await using _prometheus = process;
    await assert.rejects(ask(url, "sum by (job (up)"), /parse error/);
  });
});
