import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeChanges, keysForRestart, withFixedKeys } from "../../src/config/changes.ts";
import type { Config, Destination, Source } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { HOUR, MB, SECOND } from "../../src/model/units.ts";
import { makeAdmin, makeConfig, makeDestination, makeIngest, makeSource, URL_A, URL_B } from "../flow/make.ts";
import { templateOf } from "../webhook/make.ts";

/** From the usual config to one with these parts. */
function changesTo(next: Partial<Config>, old: Partial<Config> = {}): readonly string[] {
  return describeChanges(makeConfig(old), makeConfig(next));
}

function sourceChanges(old: Partial<Source>, next: Partial<Source>): readonly string[] {
  return changesTo({ sources: [makeSource(next)] }, { sources: [makeSource(old)] });
}

type Parts = Parameters<typeof makeDestination>[0];

function destinationChanges(old: Parts, next: Parts): readonly string[] {
  return changesTo({ destinations: [makeDestination(next)] }, { destinations: [makeDestination(old)] });
}

describe("what a reload changes, in words", () => {
  it("is nothing if all is the same", () => assert.deepEqual(changesTo({}), []));

  it("is each setting, before and after", () => {
    const config = makeConfig();
    assert.deepEqual(
      changesTo({
        ingest: makeIngest({ trustedProxies: ["10.0.0.0/8"], corsOrigins: [], maxCall: MB, maxBatch: 8 * MB }),
        outbox: { ...config.outbox, maxSize: 512 * MB, freeDisk: MB, keepDelivered: HOUR, keepFailed: 24 * HOUR },
        delivery: { timeout: 3 * SECOND, cutoff: HOUR, concurrency: 8 },
        log: { level: "debug", format: "json" },
      }),
      [
        ...["ingest.trustedProxies [] → [10.0.0.0/8]", "ingest.corsOrigins [*] → []"],
        ...["ingest.maxCall 32KB → 1MB", "ingest.maxBatch 500KB → 8MB"],
        ...[
          "outbox.maxSize 1GB → 512MB",
          "outbox.freeDisk 0B → 1MB",
          "outbox.keepDelivered 1d → 1h",
          "outbox.keepFailed 30d → 1d",
        ],
        ...["delivery.timeout 5s → 3s", "delivery.cutoff 4h → 1h", "delivery.concurrency 64 → 8"],
        ...["log.level info → debug", "log.format text → json"],
      ],
    );
  });

  it("is only that a setting changed where rounding hides how", () => {
    const { delivery } = makeConfig();
    const [old, next] = [1_499, 1_001].map((timeout) => ({ delivery: { ...delivery, timeout } }));
    assert.deepEqual(changesTo(next ?? {}, old), ["delivery.timeout changed"]);
  });

  it("is of a certificate and of the token only that they changed", () => {
    const tls = { certFile: "/c", keyFile: "/k", cert: "C1", key: new Secret("K1") };
    const renewed = { ...tls, key: new Secret("K2") };
    assert.deepEqual(changesTo({ ingest: makeIngest({ tls: renewed }) }, { ingest: makeIngest({ tls }) }), [
      "ingest.tls changed",
    ]);
    const { admin } = makeConfig();
    assert.deepEqual(changesTo({ admin: { ...admin, token: new Secret("t") } }), ["admin.token changed"]);
    assert.deepEqual(changesTo({ admin: { ...admin, readToken: new Secret("r") } }), ["admin.readToken changed"]);
    assert.deepEqual(changesTo({ admin: { ...admin, dashboard: false } }), ["admin.dashboard true → false"]);
  });

  it("is which sources and destinations came, went, were switched on and off", () => {
    const old = {
      sources: [makeSource(), makeSource({ name: "app", writeKey: new Secret("k") })],
      destinations: [makeDestination(), makeDestination({ name: "lake", enabled: false })],
    };
    const next = {
      sources: [makeSource({ enabled: false }), makeSource({ name: "tv", writeKey: new Secret("k") })],
      destinations: [makeDestination({ name: "lake" }), makeDestination({ name: "mail" })],
    };
    assert.deepEqual(changesTo(next, old), [
      ...["source app removed", "source website: disabled", "source tv added"],
      ...["destination crm removed", "destination lake: enabled", "destination mail added"],
    ]);
  });

  it("is what is different about a source", () => {
    const next = { writeKey: new Secret("other"), type: "web", ip: "truncate" } as const;
    assert.deepEqual(sourceChanges({}, next), [
      "source website: write key changed, type auto → web, ip keep → truncate",
    ]);
  });

  it("is what is different about a destination", () => {
    const next = { sources: ["website"], types: ["track", "page"], historical: "skip" } as const;
    assert.deepEqual(destinationChanges({}, next), [
      "destination crm: sources all → [website], types all → [track, page], historical accept → skip",
    ]);
    const template = templateOf({ text: "{{ event }}" });
    assert.deepEqual(destinationChanges({}, { template }), ["destination crm: body changed"]);
    assert.deepEqual(destinationChanges({ template }, { template: templateOf({ text: "{{ event }}" }) }), []);
    assert.deepEqual(destinationChanges({ template }, {}), ["destination crm: body default again"]);
    assert.deepEqual(destinationChanges({}, { noticeTemplate: template }), ["destination crm: body changed"]);
    assert.deepEqual(destinationChanges({}, { standardWebhooks: true }), [
      "destination crm: standardWebhooks false → true",
    ]);
  });

  it("is how a destination is sent to, once for those that have it from delivery", () => {
    const next = { timeout: 10 * SECOND, cutoff: 24 * HOUR, concurrency: 8 };
    assert.deepEqual(destinationChanges({}, next), [
      "destination crm: timeout 5s → 10s, cutoff 4h → 1d, concurrency 64 → 8",
    ]);
    const second = { requests: 50, per: SECOND, burst: 50 };
    const minute = { ...second, per: 60 * SECOND };
    assert.deepEqual(destinationChanges({}, { order: "user" }), ["destination crm: order none → user"]);
    assert.deepEqual(destinationChanges({}, { rate: second }), ["destination crm: rate none → 50/s (burst 50)"]);
    assert.deepEqual(destinationChanges({ rate: second }, { rate: minute }), [
      "destination crm: rate 50/s (burst 50) → 50/m (burst 50)",
    ]);
    const delivery = { ...makeConfig().delivery, concurrency: 8 };
    const [crm, lake, mail] = ["crm", "lake", "mail"].map((name) => makeDestination({ name }));
    assert.ok(crm && lake && mail);
    const destinations = [{ ...crm, concurrency: 8 }, { ...lake, concurrency: 16 }, mail];
    assert.deepEqual(changesTo({ delivery, destinations }, { destinations: [crm, lake, mail] }), [
      "delivery.concurrency 64 → 8",
      "destination lake: concurrency 64 → 16",
    ]);
  });

  it("is how much of a source is accepted, and may wait", () => {
    const [was, is] = [MB, 2 * MB].map((bytes) => ({ bytes, share: 0.2 }));
    assert.ok(was && is);
    const rate = { requests: 100, per: SECOND, burst: 1_000 };
    assert.deepEqual(sourceChanges({}, { rate, maxWaiting: was }), [
      "source website: rate none → 100/s (burst 1000), maxWaiting none → 20%",
    ]);
    // As the outbox changes.
    assert.deepEqual(sourceChanges({ maxWaiting: was }, { maxWaiting: is }), []);
    assert.deepEqual(sourceChanges({ maxWaiting: was }, { maxWaiting: { ...was, share: null } }), [
      "source website: maxWaiting 20% → 1MB",
    ]);
  });

  it("is how many webhooks came, went and have other headers or certificates", () => {
    const tls = { ca: "CA", cert: "C", key: new Secret("K1") };
    const renewed = { ...tls, key: new Secret("K2") };
    const more = { headers: { "X-A": "a" } };
    const cases: readonly (readonly [Parts, Parts, string])[] = [
      [{ urls: [URL_A] }, { urls: [URL_A, URL_B] }, "+1 webhook"],
      [{ urls: [URL_A] }, { urls: [URL_B, `${URL_B}2`] }, "+2 webhooks, -1 webhook"],
      [{ headers: { Authorization: "a" } }, { headers: { Authorization: "b" } }, "headers of 1 webhook changed"],
      [{ tls }, { tls: renewed }, "certificates of 1 webhook changed"],
      [{ urls: [URL_A, URL_B], tls }, { urls: [URL_A, URL_B] }, "certificates of 2 webhooks changed"],
      [{ tls }, { tls: renewed, ...more }, "headers of 1 webhook changed, certificates of 1 webhook changed"],
      [{ tls }, { tls: { ...tls, key: new Secret("K1") }, urls: [URL_A, URL_B] }, "+1 webhook"],
      [{ urls: [URL_A, URL_B] }, { urls: [URL_B, URL_A] }, "webhooks in another order"],
    ];
    for (const [old, next, words] of cases)
      assert.deepEqual(destinationChanges(old, next), [`destination crm: ${words}`]);
  });

  it("is that a secret came, changed or went", () => {
    const signed = (...secrets: readonly string[]): Partial<Destination> => ({
      sharedSecrets: secrets.map((secret) => new Secret(secret)),
    });
    assert.deepEqual(destinationChanges(signed(), signed("a")), ["destination crm: signed now"]);
    assert.deepEqual(destinationChanges(signed("a"), signed("b", "a")), ["destination crm: secret changed"]);
    assert.deepEqual(destinationChanges(signed("a"), signed()), ["destination crm: no longer signed"]);
    assert.deepEqual(destinationChanges(signed("a"), signed("a")), []);
  });

  it("never holds a secret or a URL, which may hold one", () => {
    const secret = "hunter2";
    const url = `https://example.com/${secret}`;
    const next = { urls: [url], headers: { Authorization: secret }, sharedSecrets: [new Secret(secret)] };
    const { admin } = makeConfig();
    const changes = changesTo({
      admin: { ...admin, token: new Secret(secret) },
      sources: [makeSource({ writeKey: new Secret(secret) })],
      destinations: [makeDestination(next)],
    });
    assert.equal(changes.length, 3);
    assert.ok(!changes.join().includes(secret));
  });
});

const TLS = { certFile: "/c", keyFile: "/k", cert: "C", key: new Secret("K") };
const LISTEN = { kind: "tcp", host: "127.0.0.1", port: 9999 } as const;

describe("what a running daemon cannot change", () => {
  it("is where it listens, whether by TLS, and its store: named, and kept", () => {
    const old = makeConfig();
    const next = makeConfig({
      ingest: makeIngest({ listen: LISTEN, reusePort: true, tls: TLS, corsOrigins: [] }),
      admin: makeAdmin({ listen: LISTEN, token: new Secret("t"), dashboard: false }),
      outbox: { ...old.outbox, path: "/elsewhere.db", maxSize: 7 },
    });
    const fixed = ["ingest.listen", "ingest.reusePort", "ingest.tls", "admin.listen", "outbox.path"];
    assert.deepEqual(keysForRestart(old, next), fixed);
    assert.deepEqual(withFixedKeys(old, next), {
      ...next,
      ingest: { ...old.ingest, corsOrigins: [] },
      // A new token counts at once, wherever it listens.
      admin: { ...next.admin, listen: old.admin.listen },
      outbox: { ...old.outbox, maxSize: 7 },
    });
  });

  it("is not the token of a listener that the world may reach: that is changed, and never lost", () => {
    const admin = { token: new Secret("old"), readToken: new Secret("eyes") };
    const old = makeConfig({ admin: makeAdmin({ listen: { ...LISTEN, host: "0.0.0.0" }, ...admin }) });
    const elsewhere = makeConfig({ admin: makeAdmin({ listen: LISTEN, dashboard: false }) });
    assert.deepEqual(withFixedKeys(old, elsewhere).admin, { ...old.admin, dashboard: false });
    const renewed = { token: new Secret("new"), readToken: null };
    const other = makeConfig({ admin: makeAdmin({ listen: LISTEN, ...renewed }) });
    assert.deepEqual(withFixedKeys(old, other).admin, { ...old.admin, ...renewed });
    const loopback = makeConfig({ admin: makeAdmin({ listen: LISTEN, ...admin }) });
    assert.equal(withFixedKeys(loopback, elsewhere).admin.token, null);
    assert.equal(withFixedKeys(loopback, elsewhere).admin.readToken, null);
  });

  it("is not the certificate, nor the token of a listener that stays", () => {
    const old = makeConfig({ ingest: makeIngest({ tls: TLS }) });
    const renewed = { ...TLS, cert: "C2" };
    const next = makeConfig({ ingest: makeIngest({ tls: renewed }), admin: { ...old.admin, token: new Secret("t") } });
    assert.deepEqual(keysForRestart(old, next), []);
    assert.deepEqual(withFixedKeys(old, next), next);
  });
});
