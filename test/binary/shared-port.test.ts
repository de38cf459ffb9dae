import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PATIENT } from "./waiting.ts";
import { type Daemon, KEY, makeConfig, makeWorld, postCall, type World } from "./world.ts";

/** The config of one of several daemons, each with an outbox of its own. */
function configOf(ingest: string, { reusePort = true, writeKey = KEY } = {}): string {
  const config = JSON.parse(makeConfig({ url: "http://127.0.0.1:9/hooks", ingest, writeKey }));
  return JSON.stringify({ ...config, ingest: { ...config.ingest, reusePort } });
}

/** A daemon, and one that takes only another write key on the same port. */
async function startTwo(one: World, other: World): Promise<readonly [Daemon, Daemon]> {
  await one.write("config.yaml", configOf("127.0.0.1:0"));
  const first = await one.serve();
  await other.write("config.yaml", configOf(new URL(first.ingest).host, { writeKey: "another-key" }));
  return [first, await other.serve()];
}

/** With two daemons, the chance that one of them gets none of so many connections is one in 10^30. */
const CONNECTIONS = 100;

/** The answers to calls with the first daemon's key, each on a connection of its own. */
async function answers({ ingest }: Daemon): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>();
  for (let nth = 0; nth < CONNECTIONS && statuses.size < 2; nth++) {
    const call = { userId: "u1", event: "E" };
    statuses.add((await postCall(`${ingest}/v1/track`, call, { headers: headersOf(KEY), keepalive: false })).status);
  }
  return statuses;
}

function headersOf(key: string): Record<string, string> {
  return { Authorization: `Basic ${btoa(`${key}:`)}`, Connection: "close" };
}

describe("ingest.reusePort", () => {
  it("lets two daemons answer on one port, and the other alone when one stops", PATIENT, async () => {
    await using one = await makeWorld();
    await using other = await makeWorld();
    const [first, second] = await startTwo(one, other);
    assert.equal(second.ingest, first.ingest);
    assert.deepEqual(await answers(first), new Set([200, 401]));
    second.process.kill("SIGTERM");
    assert.deepEqual(await second.process.exit, { code: 0, signal: null });
    assert.deepEqual(await answers(first), new Set([200]));
  });

  it("is not changed by a reload", PATIENT, async () => {
    await using one = await makeWorld();
    await using other = await makeWorld();
    const [first] = await startTwo(one, other);
    await one.write("config.yaml", configOf(new URL(first.ingest).host, { reusePort: false }));
    const reload = one.run(["reload", "--admin", first.admin]);
    assert.equal((await reload.exit).code, 0);
    assert.match(reload.out.join("\n"), /^ {2}ingest\.reusePort$/m);
    assert.deepEqual(await answers(first), new Set([200, 401]));
  });

  it("has to be set for each of them", PATIENT, async () => {
    await using one = await makeWorld();
    await using other = await makeWorld();
    await one.write("config.yaml", configOf("127.0.0.1:0"));
    const first = await one.serve();
    await other.write("config.yaml", configOf(new URL(first.ingest).host, { reusePort: false }));
    const refused = other.run(["serve", "--config", "config.yaml"]);
    assert.equal((await refused.exit).code, 1);
    assert.match(refused.err.join("\n"), /cannot listen on .*: the port is in use/);
  });
});
