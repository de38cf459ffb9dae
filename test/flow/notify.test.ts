import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NAME } from "../../src/config/text-rules.ts";
import { notifyName } from "../../src/model/config.ts";
import type { Message } from "../../src/model/notice.ts";
import { Secret } from "../../src/model/secret.ts";
import type { Template } from "../../src/model/template.ts";
import { type At, DAY, formatTime, HOUR, MINUTE } from "../../src/model/units.ts";
import { noise } from "../model/make.ts";
import { SLOW } from "../slow.ts";
import { createFalseClock, START } from "./clock.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, makeNotifier, OPS, URL_A, URL_B } from "./make.ts";
import type { Behaviour } from "./network.ts";
import { ONLY_SQLITE } from "./outbox.ts";

const CALL = { type: "track", userId: "u1", event: "Signed Up" };
const NOTIFY = [makeNotifier()];
const TWO = [makeDestination(), makeDestination({ name: "erp", urls: [URL_B] })];

function told(d: TestDaemon, url = OPS): readonly Message[] {
  return d.sent.filter((one) => one.url === url).map(({ body }) => JSON.parse(body));
}

function titles(d: TestDaemon, url = OPS): readonly string[] {
  return told(d, url).map(({ title }) => title);
}

function logged(d: TestDaemon, name: string): readonly Record<string, unknown>[] {
  const lines = d.told.filter(({ what, args }) => what === "daemon" && args[0] === name);
  return lines.map(({ args }) => args[1] as Record<string, unknown>);
}

/** Answers by URL; 200 from all others. */
function start(answers: Record<string, () => Behaviour> = {}, { config, ...options }: DaemonOptions = {}) {
  const all: DaemonOptions = { answers: ({ url }) => answers[url]?.() ?? 200, ...options };
  return startDaemon({ ...all, config: { notify: NOTIFY, ...config } });
}

async function reload(d: TestDaemon, config: DaemonOptions["config"]): Promise<void> {
  await d.app.reload({ ...d.config, ...config });
  await d.clock.rest();
}

describe("a destination that fails", () => {
  it("is told of once it has failed for longer than failingFor, and once it works again", async () => {
    let status = 503;
    await using d = await start({ [URL_A]: () => status });
    await d.call("/v1/track", CALL);
    await d.clock.advance("5m");
    assert.deepEqual(told(d), []);
    await d.clock.advance("2m");
    assert.deepEqual(told(d), [
      {
        kind: "destination_failing",
        state: "new",
        title: "crm is failing",
        text: "crm has accepted nothing for 6m, since 2026-11-20 12:00 UTC: 503; 1 delivery waits",
        at: "2026-11-20T12:06:00.000Z",
        host: "",
        facts: [{ subject: "crm", since: formatTime(START), until: null, url: URL_A, reason: "503", waiting: 1 }],
      },
    ]);
    status = 200;
    await d.clock.advance("20m");
    const [, over, ...more] = told(d);
    assert.deepEqual(more, []);
    assert.deepEqual([over?.state, over?.title], ["recovered", "crm works again"]);
    assert.match(over?.text ?? "", /^crm works again \(2026-11-20 12:\d\d UTC, after \d+m( \d+s)?\)$/);
    await d.clock.advance("1d");
    assert.equal(told(d).length, 2);
    assert.deepEqual(
      logged(d, "notification").map(({ notify, title }) => [notify, title]),
      [
        ["ops", "crm is failing"],
        ["ops", "crm works again"],
      ],
    );
  });

  it("is told of again at each repeat, with what waits by then", SLOW, async () => {
    await using d = await start({ [URL_A]: () => 503 }, { config: { notify: [makeNotifier({ repeat: HOUR })] } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("7m");
    await d.call("/v1/track", CALL);
    await d.clock.advance("2h");
    assert.deepEqual(titles(d), ["crm is failing", "crm is still failing", "crm is still failing"]);
    assert.equal(told(d)[1]?.facts[0]?.waiting, 2);
  });

  it("is told of together with others that fail at the same time", async () => {
    await using d = await start({ [URL_A]: () => 503, [URL_B]: () => "hang" }, { config: { destinations: TWO } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("8m");
    assert.deepEqual(titles(d), ["2 destinations are failing: crm, erp"]);
    assert.match(
      told(d)[0]?.text ?? "",
      /^crm has .* UTC: 503; 1 delivery waits\nerp has .*: no answer within 5s; 1 delivery waits$/,
    );
  });

  it("is not told of if it refuses events for good: those are given up", async () => {
    await using d = await start(
      { [URL_A]: () => 400 },
      { config: { notify: [makeNotifier({ on: ["destination_failing"] })] } },
    );
    await d.call("/v1/track", CALL);
    await d.clock.advance("1d");
    assert.deepEqual(told(d), []);
  });

  it("is left alone while it is paused, and counts as over when it is disabled", async () => {
    await using d = await start({ [URL_A]: () => 503 }, { config: { notify: [makeNotifier({ repeat: HOUR })] } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("7m");
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    await d.clock.advance("5h");
    assert.deepEqual(titles(d), ["crm is failing"]);
    await reload(d, { destinations: [makeDestination({ enabled: false })] });
    await d.clock.advance("2m");
    assert.deepEqual(titles(d), ["crm is failing", "crm is no longer watched"]);
  });

  it("is told of although it has asked for an hour of silence", async () => {
    await using d = await start({ [URL_A]: () => ({ status: 503, headers: { "Retry-After": "3600" } }) });
    await d.call("/v1/track", CALL);
    await d.clock.advance("7m");
    assert.deepEqual(titles(d), ["crm is failing"]);
  });

  it("is not told of again once nothing waits for it and nobody asks it", SLOW, async () => {
    const notify = [makeNotifier({ on: ["destination_failing"], repeat: HOUR })];
    const destinations = [makeDestination({ cutoff: 10 * MINUTE })];
    await using d = await start({ [URL_A]: () => 503 }, { config: { notify, destinations } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("1d");
    assert.deepEqual(titles(d), ["crm is failing"]);
    assert.equal((await d.rows())[0]?.state, "expired");
  });

  it("is not told of through itself, nor at its own URL", async () => {
    const notify = [makeNotifier({ name: "same", url: URL_A }), makeNotifier()];
    await using d = await start({ [URL_A]: () => 503 }, { config: { notify } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("10m");
    assert.deepEqual(titles(d), ["crm is failing"]);
    assert.ok(d.sent.filter(({ url }) => url === URL_A).every(({ body }) => JSON.parse(body).event === "Signed Up"));
  });

  it("may be a webhook of notify: then the others hear of it", async () => {
    const notify = [makeNotifier({ name: "chat", url: URL_B }), makeNotifier()];
    await using d = await start({ [URL_A]: () => 503, [URL_B]: () => 503 }, { config: { notify } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("20m");
    assert.deepEqual(titles(d), ["crm is failing", "notify:chat is failing"]);
    assert.deepEqual(new Set(titles(d, URL_B)), new Set(["crm is failing"]));
  });
});

describe("what else is told", () => {
  it("deliveries that were given up: counted, and at most once in repeat", SLOW, async () => {
    await using d = await start({ [URL_A]: () => 400 });
    await d.call("/v1/track", CALL);
    await d.call("/v1/batch", { batch: [CALL, CALL] });
    await d.clock.advance("2m");
    const [first] = told(d);
    assert.equal(first?.title, "3 deliveries given up: crm");
    assert.equal(
      first?.text,
      "3 deliveries to crm given up since 2026-11-20 12:00 UTC (failed 3); the last: refused: answered 400",
    );
    await d.call("/v1/track", CALL);
    await d.clock.advance("3h 50m");
    assert.equal(told(d).length, 1);
    await d.clock.advance("20m");
    assert.deepEqual(titles(d).slice(1), ["1 delivery given up: crm"]);
  });

  it("what was counted when the daemon stops, which is sent after the next start", async () => {
    await using d = await start({ [URL_A]: () => 400 });
    await d.call("/v1/track", CALL);
    await d.app.stop();
    await using next = await startDaemon({
      clock: d.clock,
      config: { ...d.config, destinations: [makeDestination()] },
      openStore: (its) => d.outbox.open({ ...its, path: d.outbox.path }),
    });
    await next.clock.advance("1m");
    assert.deepEqual(titles(next), ["1 delivery given up: crm"]);
  });

  it("an outbox that is nearly full, and that it has room again", SLOW, async () => {
    const outbox = { ...makeConfig().outbox, maxSize: 600_000 };
    let status = 503;
    await using d = await start(
      { [URL_A]: () => status },
      { config: { outbox, notify: [makeNotifier({ on: ["outbox_nearly_full"] })] } },
    );
    for (let n = 0; n < 24; n += 1) {
      const properties = { text: noise(30_000, n) };
      const answer = await d.call("/v1/track", { ...CALL, properties });
      if (answer.status !== 200) break;
      const { outbox: now } = (await d.admin("GET", "/api/status")).json as { outbox: { used: number; max: number } };
      if (now.used > now.max * 0.82) break;
    }
    await d.clock.advance("2m");
    assert.deepEqual(titles(d), ["The outbox is nearly full"]);
    assert.match(
      told(d)[0]?.text ?? "",
      /^The outbox is [89]\d % full \(\d+(\.\d)?KB of 585\.9KB(, 1TB of its disk free)?\); calls are refused when it is full/,
    );
    status = 200;
    await d.clock.advance("2h");
    d.clock.skip("23h");
    await d.clock.advance("2h");
    assert.deepEqual(
      titles(d)
        .slice(1)
        .filter((title) => !/still/.test(title)),
      ["The outbox has room again"],
    );
  });

  it("a config that is refused, and that another one was taken", async () => {
    let refused: { at: At; reason: string } | null = null;
    await using d = await start({}, { refused: () => refused });
    refused = { at: d.clock.wall(), reason: "the config has errors" };
    await d.clock.advance("2m");
    refused = null;
    await d.clock.advance("2m");
    assert.deepEqual(titles(d), ["config.yaml was refused", "config.yaml is in force again"]);
    const text = "config.yaml was refused at 2026-11-20 12:00 UTC: the config has errors; fairlead check shows where";
    assert.equal(told(d)[0]?.text, text);
  });

  it("a certificate that is about to expire, until it is renewed", SLOW, async () => {
    const validFrom = START - 60 * DAY;
    const certificate = { key: "ingest.tls.cert", file: "/tls/cert.pem", validFrom, validTo: START + 14 * DAY + HOUR };
    await using d = await start(
      {},
      { config: { certificates: [certificate], notify: [makeNotifier({ repeat: DAY })] } },
    );
    await d.clock.advance("50m");
    assert.deepEqual(told(d), []);
    await d.clock.advance("15m");
    assert.deepEqual(titles(d), ["The certificate of ingest.tls.cert is about to expire"]);
    assert.match(
      told(d)[0]?.text ?? "",
      /^The certificate of ingest\.tls\.cert \(\/tls\/cert\.pem\) expires in 13d 23h, on 2026-12-04 13:00 UTC; renew it/,
    );
    await reload(d, { certificates: [{ ...certificate, validTo: START + 90 * DAY }] });
    await d.clock.advance("2m");
    assert.deepEqual(titles(d).slice(1), ["The certificate of ingest.tls.cert was renewed"]);
  });

  it("a certificate of a short life in its last third", async () => {
    const certificate = { key: "ingest.tls.cert", file: "/c", validFrom: START - 3 * DAY, validTo: START + 3 * DAY };
    await using d = await start({}, { config: { certificates: [certificate] } });
    await d.clock.advance("2m");
    assert.deepEqual(told(d), []);
    d.clock.skip("26h");
    await d.clock.advance("2m");
    assert.equal(told(d).length, 1);
  });

  it("a clock that is wrong, and that it is right again", ONLY_SQLITE, async () => {
    await using d = await start({}, { clock: createFalseClock(Date.UTC(1972, 0, 1)) });
    await d.clock.advance("2m");
    assert.deepEqual(titles(d), ["The machine's clock is wrong"]);
    assert.match(told(d)[0]?.text ?? "", /^the machine's clock says 1972-|^The machine's clock says 1972-/);
    d.clock.setWall(START);
    await d.clock.advance("15m");
    assert.deepEqual(titles(d).slice(1), ["The machine's clock is correct again"]);
  });

  it("only of the kinds that it asks for", async () => {
    const notify = [makeNotifier({ on: ["clock_wrong"] })];
    await using d = await start({ [URL_A]: () => 503 }, { config: { notify } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("1h");
    assert.deepEqual(told(d), []);
  });
});

describe("a notification", () => {
  it("is signed, stored and retried as any other delivery, and found under the name of its webhook", async () => {
    let up = false;
    const notify = [makeNotifier({ sharedSecrets: [new Secret("s")] })];
    await using d = await start({ [URL_A]: () => 503, [OPS]: () => (up ? 200 : 503) }, { config: { notify } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("7m");
    up = true;
    await d.clock.advance("5m");
    const all = d.sent.filter(({ url }) => url === OPS);
    assert.ok(all.length > 1);
    assert.equal(new Set(all.map(({ body }) => body)).size, 1);
    assert.ok(all.every(({ headers }) => /^[0-9a-f]{40}$/.test(new Headers(headers).get("x-signature") ?? "")));
    const { deliveries } = (await d.admin("GET", "/api/deliveries?destination=notify:ops")).json as {
      deliveries: readonly { id: string; source: string; state: string; messageId: string }[];
    };
    assert.deepEqual(
      deliveries.map(({ source, state }) => [source, state]),
      [["fairlead:notify", "delivered"]],
    );
    assert.match(deliveries[0]?.id ?? "", /^\d+-notify:ops$/);
    const detail = await d.admin("GET", `/api/deliveries/${deliveries[0]?.id}`);
    assert.equal(detail.json.body, all[0]?.body);
    const trail = await d.admin("GET", `/api/events/${deliveries[0]?.messageId}`);
    assert.equal(trail.status, 200);
    const { destinations } = (await d.admin("GET", "/api/status")).json as {
      destinations: { name: string; state: string }[];
    };
    assert.deepEqual(
      destinations.map(({ name, state }) => [name, state]),
      [
        ["crm", "failing"],
        ["notify:ops", "working"],
      ],
    );
  });

  it("has a destination that no config can name, gets no calls and no deletions, and goes to no other", async () => {
    assert.notEqual(NAME.fault(notifyName("ops")), null);
    await using d = await start();
    await d.call("/v1/track", { ...CALL, integrations: { "notify:ops": true, All: false } });
    const deletion = await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.advance("10s");
    await d.admin("POST", "/api/destinations/notify:ops/test", { body: {} });
    await d.clock.advance("10s");
    assert.deepEqual(
      told(d).map(({ kind }) => kind),
      ["test"],
    );
    assert.deepEqual(
      d.sent.filter(({ url }) => url === URL_A).map(({ body }) => JSON.parse(body).type),
      ["delete"],
    );
    // Whoever hears of trouble holds nothing of users.
    const later = await d.admin("POST", "/api/deletions", { body: { userIds: ["u2"] } });
    assert.deepEqual([deletion.json.untold, later.json.untold], [[], []]);
  });

  it("cannot be moved to a destination, nor what waits for that to a webhook of notify", async () => {
    await using d = await start({ [URL_A]: () => 503, [OPS]: () => 503 });
    for (const [from, to] of [
      ["crm", "notify:ops"],
      ["notify:ops", "crm"],
    ]) {
      await d.admin("POST", `/api/destinations/${from}/test`, { body: {} });
      await d.admin("POST", `/api/destinations/${from}/pause`, { body: {} });
      const { status, json } = await d.admin("POST", `/api/destinations/${from}/move`, { body: { to } });
      assert.deepEqual([status, json.code], [400, "invalid_request"]);
      assert.match(String(json.message), /events cannot be moved to notify, nor notifications to a destination/);
    }
  });

  it("survives a kill, is not told twice, and is followed by the end of what it told", SLOW, async () => {
    let up = false;
    let status = 503;
    await using d = await start({ [URL_A]: () => status, [OPS]: () => (up ? 200 : 503) });
    await d.call("/v1/track", CALL);
    await d.clock.advance("6m 30s");
    assert.deepEqual(new Set(titles(d)), new Set(["crm is failing"]));
    up = true;
    await using next = await d.crash({ answers: ({ url }) => (url === URL_A ? status : 200) });
    await next.clock.advance("3h 30m");
    assert.deepEqual(titles(next), ["crm is failing"]);
    assert.equal(next.sent.find(({ url }) => url === OPS)?.body, d.sent.find(({ url }) => url === OPS)?.body);
    status = 200;
    await next.admin("POST", "/api/destinations/crm/retry", { body: {} });
    await next.clock.advance("2m");
    assert.deepEqual(titles(next), ["crm is failing", "crm works again"]);
    assert.match(told(next)[1]?.text ?? "", /after 3h 3\dm\)$/);
  });

  it("waits until an outbox that takes nothing does again, and the log says so once", async () => {
    await using d = await start({ [URL_A]: () => 503 });
    await d.call("/v1/track", CALL);
    await d.clock.advance("5m");
    await reload(d, { outbox: { ...d.config.outbox, maxSize: 1 } });
    await d.clock.advance("5m");
    assert.deepEqual(told(d), []);
    const refusals = logged(d, "notification_refused").map(({ code, title }) => [code, title]);
    assert.deepEqual(refusals, [["store_full", "crm is failing"]]);
    await reload(d, { outbox: d.config.outbox });
    await d.clock.advance("2m");
    assert.equal(titles(d).includes("crm is failing"), true);
  });

  it("goes to what the config in force names", async () => {
    await using d = await start({ [URL_A]: () => 503 }, { config: { notify: [] } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("1h");
    await reload(d, { notify: NOTIFY });
    await d.clock.advance("2m");
    assert.deepEqual(titles(d), ["crm is failing"]);
    await reload(d, { notify: [makeNotifier({ enabled: false })] });
    await d.clock.advance("1d");
    assert.deepEqual(titles(d), ["crm is failing"]);
  });

  it("gets what its template makes, also if that is a list", async () => {
    const { destination, ...ops } = makeNotifier();
    const title = { kind: "value", of: { path: ["title"], formats: [] } } as const;
    const template: Template = [{ kind: "json", json: '[{"summary":' }, title, { kind: "json", json: "}]" }];
    const notify = [{ ...ops, destination: { ...destination, template } }];
    await using d = await start({ [URL_A]: () => 503 }, { config: { notify } });
    await d.call("/v1/track", CALL);
    await d.clock.advance("7m");
    const [first] = d.sent.filter(({ url }) => url === OPS);
    assert.equal(first?.body, '[{"summary":"crm is failing"}]');
  });

  it("can be tried by the call that tests a destination", async () => {
    await using d = await start();
    const { status, json } = await d.admin("POST", "/api/destinations/notify:ops/test", { body: {} });
    await d.clock.rest();
    assert.deepEqual([status, json.delivery], [200, "1-notify:ops"]);
    const [test] = told(d);
    assert.deepEqual([test?.kind, test?.title], ["test", "Fairlead: test"]);
    const unknown = await d.admin("POST", "/api/destinations/notify:pos/test", { body: {} });
    assert.equal(unknown.json.code, "unknown_destination");
  });
});

describe("daemons that share an outbox", () => {
  it("tell of a destination once, of the outbox once, and each of its own config", SLOW, async () => {
    let status = 503;
    const refused = { at: START, reason: "the config has errors" };
    const config = { notify: NOTIFY };
    const answers: DaemonOptions["answers"] = ({ url }) => (url === URL_A ? status : 200);
    await using first = await startDaemon({ shared: true, config, answers, host: "web1", refused: () => refused });
    await using second = await startDaemon({ beside: first, config, answers, host: "web2", refused: () => refused });
    await first.clock.advance("3s");
    await first.call("/v1/track", CALL);
    await second.call("/v1/track", CALL);
    await first.clock.advance("20m");
    const all = () => [...titles(first), ...titles(second)];
    assert.deepEqual(
      new Set(all()),
      new Set(["config.yaml on web1 was refused", "config.yaml on web2 was refused", "crm is failing"]),
    );
    assert.equal(all().length, 3);
    status = 200;
    await first.clock.advance("30m");
    assert.deepEqual(
      all().filter((title) => /crm/.test(title)),
      ["crm is failing", "crm works again"],
    );
  });
});
