// The collection API, through the whole daemon: whatever bytes come to its door are answered, and with a code.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { FAULT_STATUS, type FaultCode } from "../../src/model/fault.ts";
import { parseExactly } from "../../src/model/json.ts";
import { Secret } from "../../src/model/secret.ts";
import { type Answer, startDaemon, type TestDaemon } from "../flow/daemon.ts";
import { KEY, makeIngest, makeSource } from "../flow/make.ts";
import { type Fuzzed, fuzz } from "./fuzz.ts";
import { anyInput, BASIC, type Body, base64, type Input, likeness } from "./requests.ts";
import { fuzzTime } from "./slow.ts";
import { written } from "./text.ts";

fuzz<Input>({ name: "collection", input: anyInput, runs: 300, start });

fuzzTime({
  ...likeness,
  name: "collection",
  harmless: "a few words, ",
  // A daemon of its own each time would take longer than the call.
  run: async (text) => {
    daemon ??= await open();
    await ask(daemon, {
      method: "POST",
      path: "/v1/batch",
      query: "",
      headers: [["authorization", BASIC]],
      body: { text, as: "text" },
    });
  },
  stop: async () => daemon?.stop(),
});
let daemon: TestDaemon | null = null;

/** Inputs are short: with the usual limits, few would come near them. */
const LIMITS = { maxCall: 1_024, maxBatch: 600_000 };

/** One that looks at all that a request can say of its sender. */
function open(): Promise<TestDaemon> {
  const proxied = makeIngest({ trustedProxies: ["127.0.0.1"], corsOrigins: ["https://*.example"], ...LIMITS });
  const app = makeSource({ name: "app", writeKey: new Secret("app-key"), ip: "truncate", type: "web" });
  return startDaemon({ config: { ingest: proxied, sources: [makeSource({ ip: "truncate" }), app] } });
}

async function start(): Promise<Fuzzed<Input>> {
  const d = await open();
  let accepted = 0;
  return {
    async holds(input) {
      const answer = await ask(d, input);
      accepted += holdsOf(input, answer);
      assert.equal(Object.keys(Object.prototype).length, 0);
    },
    async stop() {
      await d.clock.rest();
      // Pixels are counted nowhere that is seen from outside.
      assert.ok(d.sent.length >= accepted, `${accepted} calls were taken, and ${d.sent.length} delivered`);
      for (const { body } of d.sent) assert.equal(JSON.stringify(parseExactly(body)), body);
      await d.stop();
    },
  };
}

/** How many calls were accepted that go out. */
function holdsOf(input: Input, { status, headers: said, text, json }: Answer): number {
  const { method, path } = input;
  assert.notEqual(status, 500);
  if (method === "GET" && /^(\/v1\/pixel|\/pixel\/v1)\//.test(path)) {
    assert.deepEqual([status, said.get("content-type")], [200, "image/gif"]);
    return 0;
  }
  if (status === 204) assert.equal(method, "OPTIONS");
  if (status === 204 || method === "HEAD" || said.get("content-type") === "image/gif") return 0;
  assert.equal(said.get("content-type"), "application/json");
  if (status !== 200) {
    assert.equal(FAULT_STATUS[json.code as FaultCode], status, text);
    assert.ok(json.success === false && json.message !== "" && json.error === json.message);
    if (status === 429 || status === 503) assert.match(said.get("retry-after") ?? "", /^\d+$/);
    return 0;
  }
  const { accepted = 0, duplicate = 0, rejected = [], unlisted = 0 } = json as Said;
  for (const { code } of rejected) assert.equal(FAULT_STATUS[code], 400);
  if (accepted > 0) assert.ok(keyedBy(input), "taken without a write key");
  const calls = callsOf(input);
  if (calls !== null) assert.equal(accepted + duplicate + rejected.length + unlisted, calls);
  // What is said of integrations may keep a call in.
  return written(input.body.text).includes("integrations") ? 0 : accepted;
}

type Said = { accepted?: number; duplicate?: number; rejected?: { code: FaultCode }[]; unlisted?: number };

function keyedBy({ path, query, headers, body }: Input): boolean {
  const all = [path, query, written(body.text), ...headers.map(([, value]) => value)].join(" ");
  return all.includes(KEY) || all.includes(base64(KEY).slice(0, 12));
}

/** How many calls a batch holds; null if it cannot be seen here. */
function callsOf({ path, body: { text, as, lost = 0 } }: Input): number | null {
  if (!path.endsWith("/batch") || as !== "text" || lost > 0) return null;
  const { batch } = JSON.parse(written(text)) as { batch: readonly unknown[] | null };
  return batch?.length ?? 0;
}

async function ask(d: TestDaemon, { method, path, query, headers, body }: Input): Promise<Answer> {
  const all = new Headers();
  for (const [name, value] of headers) all.set(name, value);
  const bodiless = method === "GET" || method === "HEAD";
  const bytes = bytesOf(body);
  if (body.as === "gzip" && !all.has("content-encoding")) all.set("content-encoding", "gzip");
  if (!bodiless && body.length !== "none") {
    all.set("content-length", String(bytes.length + (body.length === "too long" ? 700_000 : 0)));
  }
  return d.send(path + query, { method, headers: all, ...(!bodiless && { body: bytes }) });
}

function bytesOf({ text, as, lost = 0, wrong }: Body): Uint8Array<ArrayBuffer> {
  const plain = Buffer.from(written(text), as === "raw" ? "latin1" : "utf8");
  const bytes = new Uint8Array(as === "gzip" ? gzipSync(plain) : plain);
  if (as === "gzip" && wrong !== undefined && wrong < bytes.length) bytes[wrong] = 0xff;
  return bytes.slice(0, Math.max(0, bytes.length - lost));
}
