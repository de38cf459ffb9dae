import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { MB, SECOND } from "../../src/model/units.ts";
import { verify } from "../../src/webhook/signature.ts";
import { SLOW } from "../slow.ts";
import { startDaemon } from "./daemon.ts";
import { makeAdmin, makeDestination, makeIngest, makeSource, URL_A, URL_B } from "./make.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m1" };

describe("a reload", () => {
  it("sends later rounds to the new URL", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    await d.call("/v1/track", TRACK);
    await d.app.reload({ ...d.config, destinations: [makeDestination({ urls: [URL_B] })] });
    await d.clock.advance("2s");
    assert.equal(d.sent.at(-1)?.url, URL_B);
  });

  it("takes a new write key, and the old one no more", async () => {
    await using d = await startDaemon();
    await d.app.reload({ ...d.config, sources: [makeSource({ writeKey: new Secret("another") })] });
    const { status, json } = await d.ask("/v1/track", TRACK);
    assert.equal(status, 401);
    assert.equal(json.code, "unknown_write_key");
  });

  it("keeps what waits for a destination that is gone, says so, and goes on when it is back", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    await d.call("/v1/track", TRACK);
    await d.app.reload({ ...d.config, destinations: [] });
    await d.clock.advance("10h");
    assert.equal(d.sent.length, 1);
    const unserved = d.told.filter(({ what, args }) => what === "daemon" && args[0] === "unserved");
    const hint =
      "it is disabled or not in the config: enable it to continue, or end its deliveries with `fairlead move` or `fairlead discard`";
    assert.deepEqual(unserved[0]?.args, ["unserved", { destination: "crm", waiting: 1, hint }]);
    await d.app.reload(d.config);
    await d.clock.rest();
    assert.equal((await d.row()).state, "delivered");
  });

  it("gives no new deliveries to a disabled destination", async () => {
    await using d = await startDaemon();
    await d.app.reload({ ...d.config, destinations: [makeDestination({ enabled: false })] });
    await d.call("/v1/track", TRACK);
    assert.equal((await d.rows()).length, 0);
  });

  it("takes calls and batches of the new sizes, and refuses beyond them", async () => {
    await using d = await startDaemon();
    const call = (bytes: number) => ({ ...TRACK, type: "track", properties: { text: "x".repeat(bytes) } });
    const large = { batch: [call(900_000)] };
    assert.equal((await d.ask("/v1/batch", large)).json.code, "body_too_large");
    await d.app.reload({ ...d.config, ingest: makeIngest({ maxCall: MB, maxBatch: 8 * MB }) });
    assert.equal((await d.call("/v1/batch", large)).json.accepted, 1);
    assert.equal(JSON.parse(d.sent[0]?.body ?? "").properties.text.length, 900_000);
    const tooLarge = await d.ask("/v1/batch", { batch: [call(MB)] });
    assert.match(JSON.stringify(tooLarge.json.rejected), /call_too_large.*the limit is 1048576 \(1024 KB\)/);
    const batch = Array.from({ length: 10 }, () => call(900_000));
    assert.equal((await d.ask("/v1/batch", { batch })).json.code, "body_too_large");
  });

  it("keeps what needs a restart as it was, and names it", async () => {
    await using d = await startDaemon();
    const ingest = makeIngest({ listen: { kind: "tcp", host: "127.0.0.1", port: 9999 } });
    const { needsRestart } = await d.app.reload({
      ...d.config,
      ingest,
      outbox: { ...d.config.outbox, path: "/elsewhere.db" },
    });
    assert.deepEqual(needsRestart, ["ingest.listen", "outbox.path"]);
    assert.equal((await d.call("/v1/track", TRACK)).status, 200);
  });

  it("does not take the token away from a listener that the world can reach", async () => {
    const listen = { kind: "tcp", host: "0.0.0.0", port: 8081 } as const;
    const open = makeAdmin({ listen, token: new Secret("t") });
    await using d = await startDaemon({ config: { admin: open } });
    const { needsRestart } = await d.app.reload({ ...d.config, admin: makeAdmin() });
    assert.deepEqual(needsRestart, ["admin.listen"]);
    assert.equal((await d.admin("GET", "/metrics")).status, 401);
  });

  it(
    "in the middle of 2,000 deliveries drops none and doubles none: each goes to the old URL or to the new one",
    SLOW,
    async () => {
      await using d = await startDaemon({ answers: () => ({ status: 200, after: 50 }) });
      const ids = Array.from({ length: 2_000 }, (_, index) => `m${index}`);
      for (let start = 0; start < ids.length; start += 500) {
        const batch = ids.slice(start, start + 500).map((messageId) => ({ ...TRACK, type: "track", messageId }));
        assert.equal((await d.ask("/v1/batch", { batch })).status, 200);
      }
      await d.clock.advance("300ms");
      const before = d.sent.length;
      assert.ok(before > 0 && before < 2_000, `${before} were sent before the reload`);
      await d.app.reload({ ...d.config, destinations: [makeDestination({ urls: [URL_B] })] });
      await d.clock.advance("1m");
      const [old, next] = [d.sent.slice(0, before), d.sent.slice(before)];
      assert.ok(old.every(({ url }) => url === URL_A) && next.every(({ url }) => url === URL_B));
      assert.deepEqual(d.sent.map(({ body }) => JSON.parse(body).messageId).sort(), ids.sort());
      const states = (await d.rows()).map(({ state }) => state);
      assert.deepEqual([states.length, new Set(states)], [2_000, new Set(["delivered"])]);
    },
  );

  it("lets an attempt that runs finish as it began, with the timeout and the secret that it began with", async () => {
    const old = makeDestination({ sharedSecrets: [new Secret("old")] });
    await using d = await startDaemon({
      answers: () => ({ status: 200, after: 4_000 }),
      config: { destinations: [old] },
    });
    await d.ask("/v1/track", TRACK);
    await d.clock.rest();
    const next = makeDestination({ sharedSecrets: [new Secret("new")], urls: [URL_B], timeout: SECOND });
    await d.app.reload({ ...d.config, destinations: [next] });
    await d.clock.advance("5s");
    assert.deepEqual(
      d.sent.map(({ url, body, headers }) => [url, verify(body, headers["X-Signature"] ?? "", "old")]),
      [[URL_A, true]],
    );
    assert.equal((await d.row()).state, "delivered");
  });

  it("signs with another secret from one round to the next", async () => {
    const signedBy = (...secrets: readonly string[]) =>
      makeDestination({ sharedSecrets: secrets.map((secret) => new Secret(secret)) });
    await using d = await startDaemon({
      answers: ({ nth }) => (nth < 3 ? 503 : 200),
      config: { destinations: [signedBy("old")] },
    });
    await d.call("/v1/track", TRACK);
    await d.app.reload({ ...d.config, destinations: [signedBy("new", "old")] });
    await d.clock.advance("1m");
    const signers = d.sent.map(({ body, headers }) =>
      ["old", "new"].find((secret) => verify(body, headers["X-Signature"] ?? "", secret)),
    );
    assert.deepEqual(signers, ["old", "new", "new"]);
  });

  it("asks a webhook again that had refused for good, once its entry is another", async () => {
    const entryWith = (token: string) => makeDestination({ urls: [URL_A, URL_B], headers: { Authorization: token } });
    await using d = await startDaemon({
      config: { destinations: [entryWith("old")] },
      answers: ({ url, headers }) => (url === URL_B ? 503 : headers.Authorization === "new" ? 200 : 410),
    });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("10s");
    assert.equal(d.sent.filter(({ url }) => url === URL_A).length, 1);
    await d.app.reload({ ...d.config, destinations: [entryWith("new")] });
    await d.clock.advance("30s");
    assert.equal(d.sent.filter(({ url }) => url === URL_A).length, 2);
    assert.equal((await d.row()).state, "delivered");
  });

  it("twenty times in a second leaves the last config in force, and every call taken and delivered once", async () => {
    await using d = await startDaemon({ answers: () => ({ status: 200, after: 30 }) });
    for (let time = 1; time <= 20; time++) {
      const urls = [`https://v${time}.example.com/`];
      await Promise.all([
        d.app.reload({ ...d.config, destinations: [makeDestination({ urls })] }),
        d.ask("/v1/track", { ...TRACK, messageId: `m${time}` }),
      ]);
      await d.clock.advance("50ms");
    }
    await d.call("/v1/track", { ...TRACK, messageId: "last" });
    await d.clock.advance("1s");
    assert.equal(d.sent.length, 21);
    assert.equal(d.sent.at(-1)?.url, "https://v20.example.com/");
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
  });

  it("answers what is different", async () => {
    await using d = await startDaemon();
    const config = { ...d.config, log: { level: "debug", format: "text" } as const };
    assert.deepEqual(await d.app.reload(config), { changes: ["log.level info → debug"], needsRestart: [] });
  });
});

describe("a certificate that is renewed", () => {
  const tls = { certFile: "/c", keyFile: "/k", cert: "C", key: new Secret("K") };

  it("is handed to the listener, and only if it is another", async () => {
    await using d = await startDaemon({ config: { ingest: makeIngest({ tls }) } });
    await d.app.reload({ ...d.config, ingest: makeIngest({ tls: { ...tls }, corsOrigins: [] }) });
    assert.deepEqual(d.renewed, []);
    const renewed = { ...tls, key: new Secret("K2") };
    const { changes } = await d.app.reload({ ...d.config, ingest: makeIngest({ tls: renewed }) });
    assert.deepEqual(d.renewed, [renewed]);
    assert.deepEqual(changes, ["ingest.corsOrigins [] → [*]", "ingest.tls changed"]);
  });

  it("changes nothing else either if it cannot be served: all or nothing", async () => {
    await using d = await startDaemon({
      config: { ingest: makeIngest({ tls }) },
      renew: () => Promise.reject(new Error("bad certificate")),
    });
    const ingest = makeIngest({ tls: { ...tls, cert: "C2" } });
    await assert.rejects(d.app.reload({ ...d.config, ingest, sources: [] }), /bad certificate/);
    assert.equal((await d.call("/v1/track", TRACK)).status, 200);
    assert.equal(d.sent.length, 1);
  });
});
