// What the dashboard for Grafana asks, asked of a real Prometheus that reads a real daemon.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, describe, it } from "node:test";
import { type Process, start } from "../binary/process.ts";
import { startReceiver } from "../binary/receiver.ts";
import { createWaiting, PATIENT } from "../binary/waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "../binary/world.ts";
import { queriesOf, readDashboard } from "../runtime/grafana.ts";
import { NO_SERVER, startServer, stopServer } from "../store/postgres/server.ts";
import { startCluster } from "./postgres-world.ts";

const MISSING =
  spawnSync("prometheus", ["--version"]).status === 0
    ? false
    : "there is no Prometheus on this machine (apt install prometheus)";

const NEEDING_SERVER = { ...PATIENT, skip: NO_SERVER };

/** Enough for a rate: those before the last are stored when it begins. */
const SCRAPES = 4;

/** What only daemons that share an outbox have. */
const SHARED = /fairlead_(streams_held|leads|daemons_alive|beat_age_seconds)\b/;
/** What there is of a destination that is gone. */
const UNSERVED = /fairlead_deliveries_unserved\b/;

const queries = queriesOf(readDashboard());

type Relay = AsyncDisposable & {
  readonly host: string;
  /** Resolves when so much was read that there are rates. */
  scraped(): Promise<void>;
};

/** Stands between Prometheus and a daemon, so that something can happen before each scrape. */
function startRelay({ admin }: Daemon, before: (scrape: number) => Promise<void> = async () => {}): Relay {
  const waiting = createWaiting();
  let scrapes = 0;
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  return {
    host: `127.0.0.1:${server.port}`,
    scraped: () =>
      waiting.until(
        () => scrapes > SCRAPES,
        () => `there were ${scrapes} scrapes`,
      ),
    [Symbol.asyncDispose]: () => server.stop(true),
  };

  async function answer(): Promise<Response> {
    await before(scrapes);
    const response = await fetch(`${admin}/metrics`);
    scrapes += 1;
    waiting.look();
    return response;
  }
}

/** A call that is delivered, one that is refused, and one that goes nowhere. */
async function callOfEachKind({ call }: Daemon, scrape: number): Promise<void> {
  const event = { userId: "u1", event: "Order Completed", messageId: `m-${scrape}` };
  assert.equal((await call("/v1/track", event)).status, 200);
  assert.equal((await call("/v1/track", { event: "Of nobody" })).status, 400);
  const nowhere = { ...event, messageId: `n-${scrape}`, integrations: { All: false } };
  assert.equal((await call("/v1/track", nowhere)).status, 200);
}

type Prometheus = { readonly process: Process; readonly url: string };

async function startPrometheus(w: World, targets: readonly string[]): Promise<Prometheus> {
  const jobs = [{ job_name: "fairlead", static_configs: [{ targets }] }];
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

/** The one number that a panel shows. */
async function read(url: string, place: string): Promise<number> {
  const query = queries.find(({ where }) => where === place) ?? assert.fail(place);
  const [only, ...others] = (await ask(url, fillIn(query.expr))) as readonly { value: [number, string] }[];
  assert.deepEqual(others, [], place);
  return Number(only?.value[1]);
}

describe("packaging/grafana/fairlead.json", { skip: MISSING }, () => {
  after(stopServer);

  it("has only queries that Prometheus answers, with something to show", PATIENT, async () => {
    await using w = await makeWorld();
    await using receiver = startReceiver(({ nth }) => (nth % 2 === 0 ? 200 : 503));
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    const daemon = await w.serve();
    await using relay = startRelay(daemon, (scrape) => callOfEachKind(daemon, scrape));
    const { process, url } = await startPrometheus(w, [relay.host]);
    await using _prometheus = process;
    await relay.scraped();
    assert.ok(queries.length > 20);
    for (const { where, expr } of queries) {
      const shown = await ask(url, fillIn(expr));
      const isHere = !SHARED.test(expr) && !UNSERVED.test(expr);
      assert.equal(shown.length > 0, isHere, `${where}: ${expr} shows ${shown.length} series`);
    }
  });

  it("adds up what daemons with one outbox have, and counts nothing twice", NEEDING_SERVER, async () => {
    const server = await startServer();
    await using cluster = await startCluster({ server, schema: "grafana", answer: () => 503 });
    const daemons = cluster.members.map(({ daemon }) => daemon ?? assert.fail());
    for (const [nth, { call }] of daemons.entries()) {
      for (let event = 0; event <= nth; event += 1) {
        const body = { userId: "u1", event: "Order Completed", messageId: `m-${nth}-${event}` };
        assert.equal((await call("/v1/track", body)).status, 200);
      }
    }
    await using w = await makeWorld();
    await using relays = new AsyncDisposableStack();
    const all = daemons.map((daemon) => relays.use(startRelay(daemon)));
    const { process, url } = await startPrometheus(
      w,
      all.map(({ host }) => host),
    );
    await using _prometheus = process;
    await Promise.all(all.map(({ scraped }) => scraped()));
    assert.equal(await read(url, "Waiting A"), 1 + 2 + 3);
    assert.equal(await read(url, "Daemons up A"), 3);
    assert.equal(await read(url, "Daemons alive A"), 3);
    for (const { where, expr } of queries.filter((query) => SHARED.test(query.expr))) {
      assert.ok((await ask(url, fillIn(expr))).length > 0, `${where}: ${expr}`);
    }
  });

  it("would not pass with a query that cannot be read", PATIENT, async () => {
    await using w = await makeWorld();
    const { process, url } = await startPrometheus(w, ["127.0.0.1:9"]);
    await using _prometheus = process;
    await assert.rejects(ask(url, "sum by (job (up)"), /parse error/);
  });
});
