import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { certificatePath, fixture, startTlsReceiver, type TlsReceiver } from "../runtime/tls.ts";
import { createWaiting, PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

const CALL = { userId: "u1", event: "E" };
const AUTHORITY = { ca: "ca.pem" };
const CLIENT = { ...AUTHORITY, cert: "client.pem", key: "client-key.pem" };

/** A config whose one webhook has these keys beside its URL, and the files that they may name. */
async function writeConfig(w: World, { url, ...keys }: { readonly url: string } & Partial<typeof CLIENT>) {
  await w.write("ca.pem", fixture("ca.crt"));
  await w.write("client.pem", fixture("client.crt"));
  await w.write("client-key.pem", fixture("server.key"));
  const config = JSON.parse(makeConfig({ url, level: "debug" }));
  Object.assign(config.destinations.crm.webhooks[0], keys);
  await w.write("config.yaml", JSON.stringify(config));
}

/** Sends a call, and waits until so many have been delivered. */
async function deliver(daemon: Daemon, count: number): Promise<void> {
  assert.equal((await daemon.call("/v1/track", CALL)).status, 200);
  await daemon.process.lines(/attempt\.delivered/, count);
}

describe("a receiver that speaks HTTPS", () => {
  it("is trusted once ca names its authority; until then the log says so, and nothing is sent", PATIENT, async () => {
    await using receiver = await startTlsReceiver("good");
    await using w = await makeWorld();
    await writeConfig(w, { url: receiver.url });
    const daemon = await w.serve();
    await daemon.call("/v1/track", CALL);
    const line = await daemon.process.line(/attempt\.failed/);
    assert.match(
      line,
      /outcome=untrusted .*the certificate of 127\.0\.0\.1 is from an unknown authority: .*set ca: to its file/,
    );
    assert.deepEqual(receiver.received, []);
    await writeConfig(w, { url: receiver.url, ...AUTHORITY });
    assert.match(await daemon.process.line(/daemon\.reloaded/), /certificates of 1 webhook changed/);
    await daemon.process.line(/attempt\.delivered/);
    assert.match(receiver.received.join(""), /^POST \/hook/);
  });

  it("gets the certificate that it asks for, and a renewed one after a reload", PATIENT, async () => {
    await using receiver = await startTlsReceiver("good", { asks: true });
    await using w = await makeWorld();
    await writeConfig(w, { url: receiver.url, ...CLIENT });
    const daemon = await w.serve();
    await deliver(daemon, 1);
    await deliver(daemon, 2);
    await w.write("client.pem", fixture("client-renewed.crt"));
    assert.match(await daemon.process.line(/daemon\.reloaded/), /destination crm: certificates of 1 webhook changed/);
    await deliver(daemon, 3);
    assert.deepEqual(receiver.clients, ["client 1", "client 1", "client-renewed 2"]);
    assert.doesNotMatch(daemon.process.err.join("\n"), /BEGIN/);
  });

  it("goes on to get the old certificate while the new one does not fit the key", PATIENT, async () => {
    await using receiver = await startTlsReceiver("good", { asks: true });
    await using w = await makeWorld();
    await writeConfig(w, { url: receiver.url, ...CLIENT });
    const daemon = await w.serve();
    await w.write("client.pem", fixture("client-ca.crt"));
    await daemon.process.line(/daemon\.reload_failed/);
    const problem = await daemon.process.line(/daemon\.config_problem/);
    assert.match(problem, /does not belong to the certificate in destinations\.crm\.webhooks\[0\]\.cert/);
    await deliver(daemon, 1);
    assert.deepEqual(receiver.clients, ["client 1"]);
  });

  it("is one of 30, and each gets its share over no more connections than it has slots", PATIENT, async () => {
    const [concurrency, calls] = [4, 50];
    await using all = new AsyncDisposableStack();
    const waiting = createWaiting();
    const receivers: TlsReceiver[] = [];
    for (let nth = 0; nth < 30; nth += 1) receivers.push(all.use(await startTlsReceiver("good", waiting)));
    const w = all.use(await makeWorld());
    const config = JSON.parse(makeConfig({ url: "" }));
    config.delivery = { concurrency };
    config.destinations = Object.fromEntries(receivers.map(({ url }, nth) => [`crm-${nth}`, { webhooks: [{ url }] }]));
    await w.write("config.yaml", JSON.stringify(config));
    const daemon = await w.serve({ env: { NODE_EXTRA_CA_CERTS: certificatePath("ca") } });
    const batch = Array(calls).fill({ type: "track", ...CALL });
    assert.equal((await daemon.call("/v1/batch", { batch })).status, 200);
    const arrived = (): number => receivers.reduce((sum, { received }) => sum + received.length, 0);
    await waiting.until(
      () => arrived() >= calls * receivers.length,
      () => `only ${arrived()} have arrived`,
    );
    for (const { url, clients } of receivers) {
      const connections = new Set(clients).size;
      assert.ok(connections <= concurrency, `${url}: ${connections} connections`);
    }
  });
});
