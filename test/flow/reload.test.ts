import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { startDaemon } from "./daemon.ts";
import { makeDestination, makeIngest, makeSource, URL_B } from "./make.ts";

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
    assert.deepEqual(unserved[0]?.args, ["unserved", { destination: "crm", waiting: 1 }]);
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
    const open = { listen: { kind: "tcp", host: "0.0.0.0", port: 8081 }, token: new Secret("t") } as const;
    await using d = await startDaemon({ config: { admin: open } });
    const closed = { listen: { kind: "tcp", host: "127.0.0.1", port: 8081 }, token: null } as const;
    const { needsRestart } = await d.app.reload({ ...d.config, admin: closed });
    assert.deepEqual(needsRestart, ["admin.listen"]);
    assert.equal((await d.admin("GET", "/metrics")).status, 401);
  });
});
