// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";
import { holdPort } from "../runtime/receiver.ts";
import { feed } from "./feed.ts";
import { startPlace, startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { KEY, makeConfig, makeWorld, SECRET, type World } from "./world.ts";

const env = { FAIRLEAD_WRITE_KEY: KEY };
const NOWHERE = "http://127.0.0.1:9/hooks";

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

async function send(w: World, ...args: readonly string[]): Promise<Ended> {
  const process = w.run(["send", ...args], { env });
  const { code } = await process.exit;
  return { code, out: process.out.join("\n"), err: process.err.join("\n") };
}

/** A port that is free at this moment. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What is said of each kind of call, and what a receiver has to get. */
const CALLS: readonly (readonly [args: readonly string[], body: object])[] = [
  [
    ["identify", "--user", "u1", "--traits", '{"email":"a@example.com"}'],
    { type: "identify", userId: "u1", traits: { email: "a@example.com" } },
  ],
  [
    ["track", "--event", "Signed Up", "--user", "u1", "--properties", '{"plan":"pro"}'],
    { type: "track", userId: "u1", event: "Signed Up", properties: { plan: "pro" } },
  ],
  [["page", "--name", "Home", "--user", "u1"], { type: "page", userId: "u1", name: "Home" }],
  [
    ["screen", "--name", "Start", "--anonymous", "a1", "--context", '{"os":{"name":"iOS"}}'],
    { type: "screen", anonymousId: "a1", name: "Start", context: { os: { name: "iOS" } } },
  ],
  [["group", "--group", "g1", "--user", "u1"], { type: "group", groupId: "g1", userId: "u1" }],
  [["alias", "--user", "new", "--previous", "old"], { type: "alias", "Previous ID": "old", "User ID": "new" }],
];

describe("fairlead send", () => {
  it("makes each of the six calls, and names the messageId that the receiver gets", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w } = place;
    const { ingest } = place.daemon;
    for (const [index, [args, expected]] of CALLS.entries()) {
      const { code, out, err } = await send(w, ...args, "--url", ingest);
      assert.deepEqual({ code, err }, { code: 0, err: "" });
      const [, type, messageId = ""] = /^accepted: (\w+), messageId (\S+)$/m.exec(out) ?? [];
      assert.equal(type, args[0]);
      await receiver.all([messageId]);
      assert.partialDeepStrictEqual(JSON.parse(receiver.hooks[index]?.body ?? ""), { ...expected, messageId });
    }
    assert.equal(receiver.forged, 0);
  });

  it("needs to be told nothing but the type: fairlead listen then gets a signed webhook", PATIENT, async () => {
    await using w = await makeWorld();
    const listen = w.run(["listen", "--listen", "127.0.0.1:0", "--json"], { env: { FAIRLEAD_SECRET: SECRET } });
    const url = /http:[^,]+/.exec(await listen.line(/^listening at /))?.[0] ?? "";
    await w.write("config.yaml", makeConfig({ url, ingest: `0.0.0.0:${await freePort()}` }));
    await w.serve();
    const { code, out } = await send(w, "track", "--json");
    assert.equal(code, 0);
    const { messageId, ...answer } = JSON.parse(out);
    assert.deepEqual(answer, { status: 200, success: true, accepted: 1, duplicate: 0 });
    const received = JSON.parse(await listen.line(/^{/));
    assert.equal(received.signature, "ok");
    const body = { type: "track", userId: "fairlead-test", event: "Test Event", messageId };
    assert.partialDeepStrictEqual(JSON.parse(received.body), body);
  });

  it("says of a repeat that it is one", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    const { ingest } = await w.serve();
    const args = ["track", "--url", ingest, "--message-id", "m1"];
    assert.match((await send(w, ...args)).out, /^accepted: track, messageId m1$/m);
    const second = await send(w, ...args);
    assert.match(second.out, /^duplicate: track, messageId m1$/m);
    assert.equal(second.code, 0);
  });

  it("takes a whole call from a file, and from standard input", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w } = place;
    const { ingest } = place.daemon;
    const call = { userId: "u1", event: "Bought", messageId: "m1" };
    await w.write("call.json", JSON.stringify(call));
    assert.equal((await send(w, "track", "--data", "@call.json", "--url", ingest)).code, 0);
    const piped = { input: JSON.stringify({ ...call, messageId: "m2" }), env };
    assert.equal(feed(w, ["send", "track", "--data", "-", "--user", "u2", "--url", ingest], piped).code, 0);
    await receiver.all(["m1", "m2"]);
    const [first, second] = receiver.hooks.map(({ body }) => JSON.parse(body));
    assert.partialDeepStrictEqual(first, call);
    assert.partialDeepStrictEqual(second, { userId: "u2", event: "Bought", messageId: "m2" });
  });

  it("gives the daemon's code and message when it refuses, and exits 1", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    await w.write("wrong-key", "not-the-key\n");
    const { ingest } = await w.serve();
    const wrongKey = await send(w, "track", "--url", ingest, "--write-key-file", "wrong-key");
    assert.equal(wrongKey.code, 1);
    assert.match(
      wrongKey.err,
      /^fairlead: http:\/\/127\.0\.0\.1:\d+ refused the call with 401 unknown_write_key: no source/,
    );
    const whole = ["--data", '{"userId":"u1","event":"E","timestamp":"yesterday"}'];
    const late = await send(w, "track", "--url", ingest, ...whole, "--json");
    assert.equal(late.code, 1);
    assert.partialDeepStrictEqual(JSON.parse(late.out), { status: 400, success: false, code: "invalid_timestamp" });
    const idless = await send(w, "track", "--url", ingest, "--data", '{"event":"E"}');
    assert.match(idless.err, /refused the call with 400 missing_id: You must pass either/);
    // Of what its options make, the client library knows it before anything is sent.
    const never = await send(w, "track", "--url", ingest, "--timestamp", "2026-02-31");
    assert.equal(never.code, 1);
    assert.match(never.err, /^fairlead: the call was not sent: invalid_timestamp: timestamp must be /);
  });

  it("does not send what the client library would throw at, and gives its sentence", PATIENT, async () => {
    await using w = await makeWorld();
    const late = await send(w, "track", "--url", "http://127.0.0.1:9", "--timestamp", "yesterday");
    assert.equal(late.code, 1);
    assert.match(
      late.err,
      /^fairlead: the call was not sent: invalid_timestamp: timestamp must be a Date, .*"yesterday"/,
    );
  });

  it("sends as the client library does, and shows with DEBUG=analytics what that does", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w } = place;
    const { ingest } = place.daemon;
    const args = ["send", "track", "--url", ingest, "--message-id", "m1", "--timestamp", "2020-01-02T03:04:05Z"];
    const process = w.run(args, { env: { ...env, DEBUG: "analytics" } });
    assert.equal((await process.exit).code, 0);
    assert.deepEqual(process.err, ["analytics response 200"]);
    await receiver.all(["m1"]);
    const { context, timestamp } = JSON.parse(receiver.hooks[0]?.body ?? "");
    assert.equal(context.library.name, "fairlead-client");
    assert.equal(timestamp, "2020-01-02T03:04:05.000Z");
  });

  it("goes over a Unix socket, as the config says, and says when nobody is there", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    const ingest = `unix:${w.path("ingest.sock")}`;
    await w.write("config.yaml", makeConfig({ url: receiver.url, ingest }));
    const early = await send(w, "track");
    assert.equal(early.err, `fairlead: cannot reach ${ingest}: there is no such socket; is fairlead serve running?`);
    assert.equal(early.code, 1);
    await w.serve();
    assert.equal((await send(w, "track", "--message-id", "m1")).code, 0);
    assert.equal((await send(w, "track", "--message-id", "m2", "--url", ingest)).code, 0);
    await receiver.all(["m1", "m2"]);
  });

  it("asks whether the daemon runs if it does not", PATIENT, async () => {
    await using w = await makeWorld();
    await using nobody = await holdPort();
    const listen = `127.0.0.1:${nobody.port}`;
    await w.write("config.yaml", makeConfig({ url: NOWHERE, ingest: listen }));
    const message = `cannot reach http://${listen}: connection refused; is fairlead serve running?`;
    assert.deepEqual(await send(w, "track"), { code: 1, out: "", err: `fairlead: ${message}` });
    const json = await send(w, "track", "--json", "--message-id", "m1");
    assert.equal(json.code, 1);
    assert.deepEqual(JSON.parse(json.out), {
      messageId: "m1",
      status: null,
      success: false,
      code: "unreachable",
      message,
    });
  });
});

describe("fairlead send, of the config", () => {
  it("needs no more than the listener and the write key", PATIENT, async () => {
    await using w = await makeWorld();
    const port = await freePort();
    const sources = { off: { writeKey: "k0", enabled: false }, website: { writeKey: "${file:key}" } };
    const destinations = { crm: { webhooks: [{ url: NOWHERE }], sharedSecret: "${credential:crm-secret}" } };
    const config = { ingest: { listen: `127.0.0.1:${port}` }, admin: { listen: "127.0.0.1:0" }, sources, destinations };
    await w.write("config.yaml", JSON.stringify(config));
    await w.write("key", KEY);
    await w.write("crm-secret", SECRET);
    // As under systemd: only the daemon gets the credential.
    await w.serve({ env: { CREDENTIALS_DIRECTORY: w.folder } });
    assert.equal((await send(w, "track")).code, 0);
    const off = await send(w, "track", "--source", "off");
    assert.match(off.err, /refused the call with 401 source_disabled/);
  });

  it("exits 78 if just these are wrong, and names the place", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE, ingest: "127.0.0.1:9", writeKey: "${NOT_SET}" }));
    const { code, err } = await send(w, "track");
    assert.equal(code, 78);
    assert.match(err, /^config\.yaml:1:\d+: sources\.website\.writeKey: needs the environment variable NOT_SET/m);
  });

  it("exits 78 without one, and says how to do without", PATIENT, async () => {
    await using w = await makeWorld();
    const { code, err } = await send(w, "track");
    assert.equal(code, 78);
    assert.match(err, /^fairlead: there is no config file; .*; or use --url and \$FAIRLEAD_WRITE_KEY$/);
  });
});

describe("fairlead send, wrongly used", () => {
  it("exits 2, and says which option is wrong and where", PATIENT, async () => {
    await using w = await makeWorld();
    const json = await send(w, "track", "--properties", '{"plan":pro}');
    assert.equal(json.code, 2);
    assert.match(
      json.err,
      /^fairlead: --properties:1:9: is not JSON: expected a value here\n {2}{"plan":pro}\n {10}\^$/,
    );
    const type = await send(w, "trak");
    assert.equal(type.code, 2);
    assert.match(type.err, /'trak' is invalid .* identify, track, page, screen, group, alias/);
    const file = await send(w, "track", "--data", "@none.json");
    assert.deepEqual(file, { code: 2, out: "", err: "fairlead: cannot read --data @none.json: no such file" });
  });
});
