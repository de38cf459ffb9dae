import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

const COUNT = 1_500;
const IDS = Array.from({ length: COUNT }, (_, n) => `m-${n}`);

async function sendAll(daemon: Daemon): Promise<void> {
  const batch = IDS.map((messageId) => ({ type: "track", userId: "u1", event: "E", messageId }));
  assert.equal((await daemon.call("/v1/batch", { batch })).status, 200);
}

/** The same config, with these destinations in place of crm. */
async function configure(w: World, destinations: object): Promise<void> {
  const config = JSON.parse(await w.read("config.yaml"));
  await w.write("config.yaml", JSON.stringify({ ...config, destinations }));
}

async function run(w: World, daemon: Daemon, ...args: readonly string[]) {
  const process = w.run([...args, "--admin", daemon.admin]);
  const { code } = await process.exit;
  return { code, out: process.out, err: process.err };
}

async function metric(daemon: Daemon, series: string): Promise<string | undefined> {
  const text = await (await fetch(`${daemon.admin}/metrics`)).text();
  return text.split("\n").find((line) => line.startsWith(series));
}

describe("a destination that is removed from the config while a thousand deliveries are waiting for it", () => {
  it("is warned of; moved, the new one gets each; discarded, nobody does", PATIENT, async () => {
    await using old = startReceiver(() => 503);
    await using receiver = startReceiver();
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: old.url, admin: "127.0.0.1:0" }));
    const { crm } = JSON.parse(await w.read("config.yaml")).destinations;
    const next = { ...crm, webhooks: [{ url: receiver.url }] };
    const daemon = await w.serve();
    await sendAll(daemon);
    await old.count(10);

    const served = await run(w, daemon, "move", "crm", "new", "--yes");
    assert.deepEqual([served.code, served.out], [1, []]);
    assert.match(
      served.err.join("\n"),
      /^fairlead: crm is being served; before you move or discard its waiting deliveries, pause it/,
    );

    await configure(w, { new: { ...next, types: ["identify"] }, off: { ...next, enabled: false } });
    const told = await daemon.process.line(/daemon\.unserved/);
    assert.match(told, /destination=crm waiting=1500 hint=".*`fairlead move`.*`fairlead discard`"/);
    const series = 'fairlead_deliveries_unserved{destination="crm"}';
    assert.equal(await metric(daemon, series), `${series} ${COUNT}`);

    const aside = await run(w, daemon, "move", "crm", "off", "--yes", "--json");
    assert.deepEqual([aside.code, aside.err], [0, []]);
    assert.deepEqual(JSON.parse(aside.out[0] ?? ""), {
      ...{ destination: "crm", to: "off", moved: COUNT, doubled: 0, more: false },
    });
    const moved = await run(w, daemon, "move", "off", "new", "--yes");
    assert.deepEqual(moved.out, ["1,500 deliveries are waiting for off.", "Moved 1,500 deliveries from off to new."]);
    assert.equal(await metric(daemon, "fairlead_deliveries_unserved{"), undefined);
    await receiver.all(IDS);
    assert.equal(receiver.hooks.length, COUNT);
    assert.equal(receiver.forged, 0);
    await daemon.process.line(/destination\.moved destination=crm to=off count=1000 doubled=0/);
  });

  it("fails what is discarded, over a restart too", PATIENT, async () => {
    await using old = startReceiver(() => 503);
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: old.url }));
    const { crm } = JSON.parse(await w.read("config.yaml")).destinations;
    const first = await w.serve();
    await sendAll(first);
    await old.count(10);
    await configure(w, { crm: { ...crm, enabled: false } });
    await first.process.line(/daemon\.unserved/);
    first.process.kill("SIGTERM");
    await first.process.exit;

    const daemon = await w.serve();
    await daemon.process.line(/daemon\.unserved destination=crm waiting=1500/);
    const discarded = await run(w, daemon, "discard", "crm", "--yes");
    assert.deepEqual([discarded.code, discarded.err], [0, []]);
    assert.deepEqual(discarded.out, ["1,500 deliveries are waiting for crm.", "Discarded 1,500 deliveries of crm."]);
    const failed = 'fairlead_deliveries_settled_total{destination="crm",state="failed"}';
    assert.equal(await metric(daemon, failed), `${failed} ${COUNT}`);
    const rows = await w.rows();
    assert.deepEqual([rows.length, new Set(rows.map(({ state }) => state))], [COUNT, new Set(["failed"])]);
  });
});
