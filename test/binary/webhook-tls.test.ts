import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fixture, startTlsReceiver } from "../runtime/tls.ts";
import { PATIENT } from "./waiting.ts";
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
});
