import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics, type Metrics } from "../../src/runtime/metrics.ts";
import { UNSHIFTED } from "../flow/clock.ts";

const START = Date.UTC(2026, 2, 14);

const SECOND_OF_CRM = { destination: "crm", url: "https://b.example.com/hook?token=1" };
const NAMES_OF_CRM = {
  sources: ["website"],
  destinations: ["crm"],
  webhooks: new Map([["crm", ["https://a.example.com/hook", SECOND_OF_CRM.url]]]),
  served: ["crm"],
};

function start() {
  const clock = { at: START, now: () => clock.at, wall: () => clock.at };
  return { clock, metrics: createMetrics({ clock, version: "1.0.0", runtime: "bun 1.4.5" }) };
}

async function readValue(metrics: Metrics, series: string): Promise<number | undefined> {
  return parse(await metrics.text()).values.get(series);
}

describe("createMetrics", () => {
  it("counts by labels", async () => {
    const { metrics } = start();
    metrics.answered(200, 3);
    metrics.answered(200, 3);
    metrics.answered(503, 900);
    metrics.received.row("website").add("track", 3);
    metrics.duplicates.add("website", 2);
    metrics.storeFailed();
    metrics.slowCommit();
    const { values } = parse(await metrics.text());
    assert.equal(values.get('fairlead_requests_total{code="200"}'), 2);
    assert.equal(values.get('fairlead_requests_total{code="503"}'), 1);
    assert.equal(values.get('fairlead_events_received_total{source="website",type="track"}'), 3);
    assert.equal(values.get('fairlead_events_duplicate_total{source="website"}'), 2);
    assert.equal(values.get("fairlead_store_errors_total"), 1);
    assert.equal(values.get("fairlead_slow_commits_total"), 1);
  });

  it("answers the same sums however often it is asked, also at the same time", async () => {
    const { metrics } = start();
    metrics.declare(NAMES_OF_CRM);
    for (let n = 0; n < 2; n += 1) metrics.attempted(SECOND_OF_CRM, "timeout", 5_000);
    const texts = await Promise.all([metrics.text(), metrics.text(), metrics.text()]);
    for (const text of [...texts, await metrics.text()]) {
      assert.equal(
        parse(text).values.get('fairlead_attempts_total{destination="crm",webhook="2",outcome="timeout"}'),
        2,
      );
    }
  });

  it("starts the series of configured sources and destinations at 0", async () => {
    const { metrics } = start();
    metrics.declare(NAMES_OF_CRM);
    const { values } = parse(await metrics.text());
    const zeros = [...values].filter(([series]) => /"(crm|website)"/.test(series));
    assert.equal(zeros.length, 6 + 1 + 2 * (9 + 13 + 2) + 3 + 2 + 2);
    for (const [series, value] of zeros)
      assert.equal(value, series.startsWith("fairlead_webhook_info") ? 1 : 0, series);
  });

  it("counts the attempts for a webhook that the config has no more under one name, however many there were", async () => {
    const { metrics } = start();
    metrics.declare(NAMES_OF_CRM);
    for (const path of ["a", "b", "c"]) {
      metrics.attempted({ destination: "crm", url: `https://old.example.com/${path}` }, "delivered", 10);
    }
    const series = 'fairlead_attempts_total{destination="crm",webhook="gone",outcome="delivered"}';
    assert.equal(await readValue(metrics, series), 3);
  });

  it("says of each webhook whether it works, when it is asked again, and which host it has", async () => {
    const { metrics, clock } = start();
    metrics.declare(NAMES_OF_CRM);
    const well = { url: "", state: "working", failingSince: null, lastFailure: null, nextTryAt: null } as const;
    const down = { ...well, state: "down", failingSince: clock.now(), nextTryAt: clock.now() + 90_000 } as const;
    const heldBack = { user: 3, rate: 0, concurrency: 7 };
    metrics.watch(() => [{ destination: "crm", webhooks: [well, down], heldBack }]);
    const { values } = parse(await metrics.text());
    const read = (name: string, webhook: string) => values.get(`${name}{destination="crm",webhook="${webhook}"}`);
    assert.deepEqual([read("fairlead_webhook_up", "1"), read("fairlead_webhook_up", "2")], [1, 0]);
    const wait = "fairlead_webhook_next_try_seconds";
    assert.deepEqual([read(wait, "1"), read(wait, "2")], [0, 90]);
    const held = (by: string) => values.get(`fairlead_deliveries_held_back{destination="crm",by="${by}"}`);
    assert.deepEqual(["user", "rate", "concurrency"].map(held), [3, 0, 7]);
    assert.equal(values.get('fairlead_webhook_info{destination="crm",webhook="2",host="b.example.com"}'), 1);
  });

  it("keeps a sum when its names are declared again", async () => {
    const { metrics } = start();
    metrics.settled.row("crm").add("expired");
    metrics.duplicates.add("website");
    metrics.declare(NAMES_OF_CRM);
    assert.equal(await readValue(metrics, 'fairlead_deliveries_settled_total{destination="crm",state="expired"}'), 1);
    assert.equal(await readValue(metrics, 'fairlead_events_duplicate_total{source="website"}'), 1);
  });

  it("puts answers within five seconds into buckets, and timeouts above them", async () => {
    const { metrics } = start();
    metrics.declare(NAMES_OF_CRM);
    for (const duration of [4, 80, 5_001]) metrics.attempted(SECOND_OF_CRM, "delivered", duration);
    metrics.attempted(SECOND_OF_CRM, "offline", null);
    const { values } = parse(await metrics.text());
    const labels = 'destination="crm",webhook="2"';
    const bucket = (le: string) => values.get(`fairlead_attempt_duration_seconds_bucket{${labels},le="${le}"}`);
    assert.deepEqual([bucket("0.005"), bucket("0.05"), bucket("0.1"), bucket("5"), bucket("+Inf")], [1, 1, 2, 2, 3]);
    assert.equal(values.get(`fairlead_attempt_duration_seconds_sum{${labels}}`), 5.085);
  });

  it("times answers by the class of their status, from the start", async () => {
    const { metrics } = start();
    const read = async (series: string) => readValue(metrics, `fairlead_ingest_duration_seconds${series}`);
    for (const which of ["2xx", "4xx", "5xx"]) assert.equal(await read(`_count{class="${which}"}`), 0);
    for (const duration of [2, 3, 8_000]) metrics.answered(200, duration);
    metrics.answered(401, 1);
    const steps = await Promise.all(
      ["0.002", "0.005", "5", "+Inf"].map((le) => read(`_bucket{class="2xx",le="${le}"}`)),
    );
    assert.deepEqual(steps, [1, 2, 2, 3]);
    assert.equal(await read('_sum{class="2xx"}'), 8.005);
    assert.equal(await read('_count{class="4xx"}'), 1);
  });

  it("has no attempts any more of a destination that was removed from the config", async () => {
    const { metrics } = start();
    const count = async (name: string) => readValue(metrics, `${name}{destination="crm",webhook="2"}`);
    const settled = 'fairlead_deliveries_settled_total{destination="crm",state="expired"}';
    metrics.declare(NAMES_OF_CRM);
    metrics.attempted(SECOND_OF_CRM, "timeout", 5_000);
    metrics.settled.row("crm").add("expired");
    assert.equal(await count("fairlead_attempt_duration_seconds_count"), 1);
    metrics.declare({ sources: ["website"], destinations: [], webhooks: new Map(), served: [] });
    const text = await metrics.text();
    assert.doesNotMatch(text, /^fairlead_attempt\w+\{destination="crm"/m);
    // Its deliveries can still be discarded.
    assert.equal(parse(text).values.get(settled), 1);
    metrics.declare(NAMES_OF_CRM);
    metrics.attempted(SECOND_OF_CRM, "timeout", 5_000);
    assert.equal(await count("fairlead_attempt_duration_seconds_count"), 1);
  });

  it("holds the time of the last config that was taken, also after one that was not", async () => {
    const { clock, metrics } = start();
    const state = async () => [
      await readValue(metrics, "fairlead_config_last_reload_successful"),
      await readValue(metrics, "fairlead_config_last_reload_success_timestamp_seconds"),
    ];
    assert.deepEqual(await state(), [1, START / 1_000]);
    clock.at += 60_000;
    metrics.reloaded(false);
    assert.deepEqual(await state(), [0, START / 1_000]);
    metrics.reloaded(true);
    assert.deepEqual(await state(), [1, START / 1_000 + 60]);
  });

  it("reads the store from the moment it is exposed", async () => {
    const { metrics } = start();
    assert.equal(await readValue(metrics, "fairlead_store_bytes"), undefined);
    const counts = async () => [{ destination: "crm", state: "waiting", count: 1 }] as const;
    const backlog = { counts, oldestWaitingAt: async () => START - 2_000, nextRetryAt: async () => null };
    const nothing = { writable: true, refusal: null, gone: null, full: null, crowding: null };
    const health = { state: async () => ({ ...nothing, size: { used: 10, max: 20, free: 30 } }) };
    metrics.expose({
      backlog,
      clocks: { all: async () => [] },
      members: { all: async () => [] },
      health,
      timeline: UNSHIFTED,
      sharing: null,
    });
    assert.equal(await readValue(metrics, "fairlead_store_bytes"), 10);
    assert.equal(await readValue(metrics, 'fairlead_deliveries{destination="crm",state="waiting"}'), 1);
    assert.equal(await readValue(metrics, 'fairlead_oldest_waiting_seconds{destination="crm"}'), 2);
  });

  it("says what it is and what the process uses", async () => {
    const { values } = parse(await start().metrics.text());
    assert.equal(values.get('fairlead_build_info{version="1.0.0",runtime="bun 1.4.5"}'), 1);
    const value = (name: string) => values.get(name) ?? Number.NaN;
    assert.ok(Math.abs(value("process_start_time_seconds") - (Date.now() / 1_000 - process.uptime())) < 5);
    assert.ok(value("process_resident_memory_bytes") > 1_000_000);
    assert.ok(value("process_cpu_seconds_total") > 0);
  });

  it("keeps two sets of metrics apart", async () => {
    const [one, other] = [start(), start()];
    one.metrics.answered(200, 3);
    assert.equal(await readValue(other.metrics, 'fairlead_requests_total{code="200"}'), undefined);
  });
});

describe("the text", () => {
  it("is what Prometheus reads: help and type for each, legal names, escaped labels, nothing twice", async () => {
    const { metrics } = start();
    const awkward = 'we"ird\\name\nx';
    const webhooks = new Map([[awkward, ["https://a.example.com/"]]]);
    metrics.declare({ sources: [awkward, "b"], destinations: [awkward, "crm"], webhooks, served: [awkward] });
    metrics.rejected.row("").add("unknown_write_key");
    metrics.unrouted.row(awkward).add("historical");
    metrics.answered(200, 3);
    metrics.attempted({ destination: awkward, url: "https://a.example.com/" }, "delivered", 12);
    const { families, values } = parse(await metrics.text());
    assert.equal(values.get('fairlead_events_duplicate_total{source="we\\"ird\\\\name\\nx"}'), 0);
    assert.equal(values.get('fairlead_events_rejected_total{source="",reason="unknown_write_key"}'), 1);
    for (const [name, type] of families) assert.equal(name.endsWith("_total"), type === "counter", name);
    assert.deepEqual([...families.keys()].sort(), NAMES.slice().sort());
    assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
  });

  it("is refused by this test's parser when it is wrong", () => {
    const head = "# HELP a_total Help.\n# TYPE a_total counter\n";
    assert.equal(parse(`${head}a_total{b="c"} 1\n`).values.size, 1);
    assert.throws(() => parse("a_total 1\n"), /no HELP and TYPE/);
    assert.throws(() => parse(`${head}a_total 1\na_total 2\n`), /twice/);
    assert.throws(() => parse(`${head}a_total{b="c"d"} 1\n`), /not a sample/);
    assert.throws(() => parse(`${head}a_total NaN\n`), /not a sample/);
  });
});

const NAMES = [
  "fairlead_requests_total",
  "fairlead_ingest_duration_seconds",
  "fairlead_events_received_total",
  "fairlead_events_rejected_total",
  "fairlead_events_duplicate_total",
  "fairlead_events_unrouted_total",
  "fairlead_attempts_total",
  "fairlead_webhook_info",
  "fairlead_webhook_next_try_seconds",
  "fairlead_webhook_up",
  "fairlead_audience_changes_total",
  "fairlead_audience_members",
  "fairlead_trait_changes_total",
  "fairlead_trait_users",
  "fairlead_attempt_duration_seconds",
  "fairlead_deliveries_settled_total",
  "fairlead_deliveries_replayed_total",
  "fairlead_deliveries_unserved",
  "fairlead_deliveries_held_back",
  "fairlead_destination_paused",
  "fairlead_deliveries",
  "fairlead_oldest_waiting_seconds",
  "fairlead_payloads_shortened_total",
  "fairlead_pruned_total",
  "fairlead_store_bytes",
  "fairlead_store_max_bytes",
  "fairlead_store_free_disk_bytes",
  "fairlead_store_full",
  "fairlead_store_gone",
  "fairlead_streams_held",
  "fairlead_leads",
  "fairlead_beat_age_seconds",
  "fairlead_daemons_alive",
  "fairlead_store_errors_total",
  "fairlead_slow_commits_total",
  "fairlead_log_lines_dropped_total",
  "fairlead_clock_implausible",
  "fairlead_config_last_reload_successful",
  "fairlead_config_last_reload_success_timestamp_seconds",
  "fairlead_build_info",
  "process_start_time_seconds",
  "process_resident_memory_bytes",
  "process_cpu_seconds_total",
];

type Parsed = { readonly families: Map<string, string>; readonly values: Map<string, number> };

const HEAD = /^# HELP ([a-zA-Z_:][\w:]*) \S.*\n# TYPE \1 (counter|gauge|histogram)$/;
const SAMPLE =
  /^(([a-zA-Z_:][\w:]*)(?:\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*")*\})?) (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;

/** Reads Prometheus' text format, more strictly than Prometheus does. */
function parse(text: string): Parsed {
  const families = new Map<string, string>();
  const values = new Map<string, number>();
  assert.ok(text.endsWith("\n"));
  for (const block of text.trimEnd().split("\n\n")) {
    const [help, type, ...samples] = block.split("\n");
    const head = HEAD.exec(`${help}\n${type}`);
    assert.ok(head, `no HELP and TYPE: ${block}`);
    const [, name = "", kind = ""] = head;
    assert.ok(!families.has(name), `${name} is there twice`);
    families.set(name, kind);
    for (const line of samples) readSample(line, { name, kind, values });
  }
  return { families, values };
}

type Family = { readonly name: string; readonly kind: string; readonly values: Map<string, number> };

function readSample(line: string, { name, kind, values }: Family): void {
  const sample = SAMPLE.exec(line);
  assert.ok(sample, `not a sample: ${line}`);
  const [, series = "", own = "", value] = sample;
  assert.equal(kind === "histogram" ? own.replace(/_(bucket|sum|count)$/, "") : own, name);
  assert.ok(!values.has(series), `${series} is there twice`);
  values.set(series, Number(value));
}
