// README.md: every refusal, retry and give-up has a reason, a counter and a log line; of many alike, the number of the others.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Report } from "../../src/model/report.ts";
import { Secret } from "../../src/model/secret.ts";
import { createLog } from "../../src/runtime/log.ts";
import { createMetrics, type Metrics } from "../../src/runtime/metrics.ts";
import { createReport } from "../../src/runtime/report.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource, URL_B } from "./make.ts";
import type { Behaviour, Sent } from "./network.ts";

type Line = Readonly<Record<string, string | number>>;
type Logged = {
  readonly d: TestDaemon;
  readonly lines: readonly Line[];
  readonly metrics: Metrics;
  summarize(): void;
} & AsyncDisposable;

/** The whole daemon, with the log and the metrics that it has at `level: info`. */
async function startLogged(options: DaemonOptions = {}): Promise<Logged> {
  const lines: Line[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line));
  let metrics: Metrics | undefined;
  let report: Report | undefined;
  const d = await startDaemon({
    ...options,
    report(clock) {
      metrics = createMetrics({ clock, version: "1", runtime: "test" });
      const shape = { level: "info", format: "json", isTerminal: false, journald: false } as const;
      report = createReport({ log: createLog({ ...shape, write, wall: clock.wall }), metrics, clock });
      return report;
    },
  });
  assert.ok(metrics);
  return { d, lines, metrics, summarize: () => report?.summarize(), [Symbol.asyncDispose]: () => d.stop() };
}

function named(lines: readonly Line[], name: string): readonly Line[] {
  return lines.filter(({ msg }) => msg === name);
}

/** How often it happened, by the log alone. A line with nothing but the number of others is none itself. */
function told(lines: readonly Line[], own: string): number {
  return lines.reduce((sum, line) => sum + (own in line ? 1 : 0) + Number(line.suppressed ?? 0), 0);
}

async function counted(metrics: Metrics, name: string, label: string): Promise<number> {
  const series = (await metrics.text())
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return series.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

async function track(d: TestDaemon, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await d.ask("/v1/track", { userId: "u1", event: "E", messageId: `m${n}` });
  await d.clock.rest();
}

function idsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${n + 1}-crm`);
}

describe("a give-up is in the log, with the id that commands take", () => {
  const GIVEN_UP: readonly (readonly [
    why: string,
    answer: (sent: Sent) => Behaviour,
    state: string,
    reason: RegExp,
  ])[] = [
    ["answered 400", () => 400, "failed", /400/],
    ["answered 410", () => 410, "failed", /410/],
    ["answered with a redirect", () => 308, "failed", /308/],
    ["answered 503 for four hours", () => 503, "expired", /no success within 4h; last answer 503/],
    ["answered 401 for four hours", () => 401, "expired", /401/],
    ["never answered", () => "hang", "expired", /no answer within 5s/],
  ];
  for (const [why, answers, state, reason] of GIVEN_UP) {
    it(`each of three events: ${why}`, async () => {
      await using w = await startLogged({ answers });
      await track(w.d, 3);
      await w.d.clock.advance("5h");
      const lines = named(w.lines, `delivery.${state}`);
      assert.deepEqual(lines.map(({ delivery }) => delivery).toSorted(), idsOf(3));
      for (const line of lines) {
        assert.equal(line.level, "error");
        assert.match(String(line.reason), reason);
      }
      assert.equal(await counted(w.metrics, "fairlead_deliveries_settled_total", `state="${state}"`), 3);
    });
  }

  it("ten of forty within ten seconds, then the number of the others and where they are listed", async () => {
    await using w = await startLogged({ answers: () => 400 });
    await track(w.d, 40);
    await w.d.clock.advance("11s");
    const lines = named(w.lines, "delivery.failed");
    assert.equal(lines.length, 11);
    assert.equal(told(lines, "delivery"), 40);
    assert.equal(lines[10]?.hint, "list them: fairlead deliveries --state failed --destination crm");
  });

  it("those that the operator ends, or a deletion, by their number", async () => {
    await using w = await startLogged({ answers: () => "hang" });
    await track(w.d, 3);
    await w.d.clock.advance("6s");
    await w.d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], erase: true } });
    await w.d.clock.advance("1m");
    assert.deepEqual(
      named(w.lines, "delivery.withdrawn").map(({ count }) => count),
      [3],
    );
    await w.d.call("/v1/track", { userId: "u2", event: "E" });
    await w.d.app.reload({ ...w.d.config, destinations: [makeDestination({ name: "new", urls: [URL_B] })] });
    await w.d.clock.advance("6s");
    await w.d.admin("POST", "/api/destinations/crm/discard", { body: { limit: 100 } });
    assert.ok(named(w.lines, "destination.discarded").some(({ count }) => Number(count) > 0));
  });
});

describe("an attempt that fails is in the log", () => {
  for (const [outcome, answer] of [
    ["status_5xx", 503],
    ["status_4xx", 429],
    ["timeout", "hang"],
  ] as const) {
    it(`${outcome}: each, or among the number of those left out`, async () => {
      await using w = await startLogged({ answers: () => answer });
      await track(w.d, 20);
      await w.d.clock.advance("2m");
      // What came in the last ten seconds is told at the stop.
      w.summarize();
      const lines = named(w.lines, "attempt.failed");
      const attempts = await counted(w.metrics, "fairlead_attempts_total", `outcome="${outcome}"`);
      assert.ok(attempts > 10, `${attempts} attempts`);
      assert.equal(told(lines, "delivery"), attempts);
      assert.ok(lines.length < attempts);
    });
  }
});

describe("a refused call is in the log, by its code", () => {
  const CALL = { userId: "u1", event: "E" };
  const REFUSED: readonly (readonly [code: string, ask: (d: TestDaemon) => Promise<unknown>])[] = [
    ["missing_event", (d) => d.ask("/v1/track", { userId: "u1" })],
    ["missing_id", (d) => d.ask("/v1/track", { event: "E" })],
    ["missing_group_id", (d) => d.ask("/v1/group", { userId: "u1" })],
    ["missing_previous_id", (d) => d.ask("/v1/alias", { userId: "u1" })],
    ["unknown_type", (d) => d.ask("/v1/batch", { batch: [{ type: "trakc", userId: "u1" }] })],
    ["invalid_call", (d) => d.ask("/v1/track", { ...CALL, properties: 5 })],
    ["invalid_timestamp", (d) => d.ask("/v1/track", { ...CALL, timestamp: "yesterday" })],
    ["message_id_too_long", (d) => d.ask("/v1/track", { ...CALL, messageId: "x".repeat(1_000) })],
    ["call_too_large", (d) => d.ask("/v1/track", { ...CALL, properties: { text: "x".repeat(40_000) } })],
    ["invalid_json", (d) => d.ask("/v1/track", "{")],
    ["invalid_request", (d) => d.ask("/v1/batch", { batch: 5 })],
    ["unknown_write_key", (d) => d.ask("/v1/track", CALL, { authorization: `Basic ${btoa("other:")}` })],
    ["missing_write_key", (d) => d.ask("/v1/track", CALL, { authorization: "" })],
    ["source_disabled", (d) => d.ask("/v1/track", CALL, { authorization: `Basic ${btoa("off-key:")}` })],
    ["body_too_large", (d) => d.ask("/v1/batch", "x".repeat(600_000))],
    ["unsupported_media_type", (d) => d.ask("/v1/track", CALL, { "content-encoding": "br" })],
  ];
  for (const [code, ask] of REFUSED) {
    it(`${code}: each, or among the number of those left out`, async () => {
      const off = makeSource({ name: "off", enabled: false, writeKey: new Secret("off-key") });
      await using w = await startLogged({ config: { sources: [makeSource(), off] } });
      for (let n = 0; n < 5; n += 1) await ask(w.d);
      await w.d.clock.advance("10s");
      const lines = named(w.lines, "call.rejected");
      assert.deepEqual([...new Set(lines.map((line) => line.code))], [code]);
      assert.equal(told(lines, "reason"), 5);
      assert.equal(await counted(w.metrics, "fairlead_events_rejected_total", `reason="${code}"`), 5);
    });
  }
});

describe("an event that goes nowhere is in the log, with the rule", () => {
  for (const [rule, destination] of [
    ["destination_disabled", { enabled: false }],
    ["source_not_selected", { sources: ["other"] }],
    ["type_not_selected", { types: ["page"] }],
  ] as const) {
    it(rule, async () => {
      await using w = await startLogged({ config: { destinations: [makeDestination(destination)] } });
      await track(w.d, 5);
      await w.d.clock.advance("10s");
      const lines = named(w.lines, "event.unrouted");
      assert.deepEqual(
        lines.map((line) => [line.rule, line.suppressed]),
        [
          [rule, undefined],
          [rule, 4],
        ],
      );
      assert.equal(await counted(w.metrics, "fairlead_events_unrouted_total", `rule="${rule}"`), 5);
    });
  }
});
