import assert from "node:assert/strict";
import { request } from "node:https";
import { describe, it } from "node:test";
import { ask, fixture, openTls } from "../runtime/tls.ts";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { KEY, makeConfig, makeWorld, type World } from "./world.ts";

const CALL = { userId: "u1", event: "E" };
const TAKEN = '"duplicate":0}';

/** A daemon that speaks TLS with the certificate of that name. */
async function serveTls(w: World, { url, certificate }: { readonly url: string; readonly certificate: string }) {
  await w.write("cert.pem", fixture(`${certificate}.crt`));
  await w.write("key.pem", fixture("server.key"));
  const config = JSON.parse(makeConfig({ url }));
  config.ingest.tls = { cert: "cert.pem", key: "key.pem" };
  await w.write("config.yaml", JSON.stringify(config));
  return w.serve();
}

/** As a client does that checks certificates. */
function post(address: string, body: object): Promise<number> {
  const headers = { Authorization: `Basic ${btoa(`${KEY}:`)}` };
  const options = { method: "POST", headers, ca: fixture("ca.crt"), servername: "localhost", agent: false } as const;
  return new Promise((resolve, reject) => {
    const sent = request(`${address}/v1/track`, options, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}

function callOver(host: string): string {
  const body = JSON.stringify({ ...CALL, writeKey: KEY });
  return `POST /v1/track HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

describe("a daemon with a certificate", () => {
  it("takes calls by HTTPS, and delivers them", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    const daemon = await serveTls(w, { url: receiver.url, certificate: "good" });
    assert.match(daemon.ingest, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(await post(daemon.ingest, CALL), 200);
    await receiver.count(1);
  });

  it("serves a renewed one within two seconds, and goes on with the connections that are open", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    const daemon = await serveTls(w, { url: receiver.url, certificate: "self-signed" });
    const open = await openTls({ address: daemon.ingest });
    assert.equal(open.getPeerCertificate().issuer.CN, "localhost");
    assert.ok((await ask(open, { request: callOver("localhost"), end: TAKEN })).startsWith("HTTP/1.1 200"));
    await assert.rejects(post(daemon.ingest, CALL), /self.signed/i);
    await w.write("cert.pem", fixture("good.crt"));
    assert.match(await daemon.process.line(/daemon\.reloaded/), /ingest\.tls changed/);
    assert.equal(await post(daemon.ingest, CALL), 200);
    assert.ok((await ask(open, { request: callOver("localhost"), end: TAKEN })).startsWith("HTTP/1.1 200"));
    open.destroy();
    await receiver.count(3);
  });

  it("keeps the one that it has while the new one is broken", PATIENT, async () => {
    await using w = await makeWorld();
    const daemon = await serveTls(w, { url: "http://127.0.0.1:9/", certificate: "good" });
    await w.write("cert.pem", "-----BEGIN CERTIFICATE-----\nhalf of");
    await daemon.process.line(/daemon\.reload_failed/);
    assert.equal(await post(daemon.ingest, CALL), 200);
    await w.write("cert.pem", fixture("good.crt"));
    await daemon.process.line(/daemon\.reloaded/);
    assert.equal(await post(daemon.ingest, CALL), 200);
  });
});
