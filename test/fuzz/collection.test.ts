// The collection API, through the whole daemon: whatever bytes come to its door are answered, and with a code.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { FAULT_STATUS, type FaultCode } from "../../src/model/fault.ts";
import { Secret } from "../../src/model/secret.ts";
import { type Answer, startDaemon, type TestDaemon } from "../flow/daemon.ts";
import { KEY, makeIngest, makeSource } from "../flow/make.ts";
import { anyObject, anyText as anyWord } from "../model/make.ts";
import { type Fuzzed, fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { type Text, textLike, written } from "./text.ts";

type Input = {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Body;
};

type Body = {
  readonly text: Text;
  /** `raw`: each character stands for a byte, which need not make UTF-8. */
  readonly as: "text" | "raw" | "gzip";
  /** How many bytes are missing at its end, and which one is another. */
  readonly lost?: number;
  readonly wrong?: number;
  /** How its length is announced. */
  readonly length?: "right" | "too long" | "none";
};

const CALL = '{"userId":"u1","event":"Signed Up","properties":{"plan":"pro","n":1.5},"messageId":"m1"}';
const BATCH = `{"batch":[{"type":"track","userId":1,"event":"e"},{"type":"page","anonymousId":"a","traits":{"__proto__":{"polluted":1}}}],"context":{"ip":"203.0.113.7","library":{"name":"analytics.js"}},"integrations":{"all":false},"sentAt":"2009-11-10T23:00:00+0000","writeKey":"${KEY}"}`;

const likeness = {
  seeds: [
    ...[
      CALL,
      BATCH,
      `{"batch":null,"writeKey":"${KEY}"}`,
      "[]",
      "null",
      '"text"',
      '{"batch":[{"writeKey":"website-key"}]}',
    ],
    ...['{"userId":"\\ud800","event":"\\u0000","event":"twice","timestamp":"2009-02-30"}', '{"batch":[1,null,[],{}]}'],
    '{"previousId":"p","userId":null,"groupId":1e999,"context":{"ip":"1.2.3.4","direct":true,"traits":{"a":1}}}',
  ],
  pieces: [
    ...[
      '{"batch":[',
      '{"type":"track",',
      '"userId":',
      '"event":',
      '"messageId":',
      '"timestamp":',
      '"context":',
      '"ip":',
    ],
    ...[
      '"properties":',
      '"integrations":',
      '"writeKey":',
      '"traits":',
      '"sentAt":',
      '"u1"',
      '"e"',
      "1e400",
      "-0",
      "1.0",
    ],
    ...[
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '{"a":',
      '[{"',
      "null",
      "true",
      '"2009-11-10T23:00:00Z"',
      '"::1"',
      '"website-key"',
    ],
    ...["1".repeat(209), "\\ud83d", "\\u000"],
  ],
};

const anyTime = fc.constantFrom("2009-11-10", "0000-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", null, "soon");
const anyId = fc.oneof({ weight: 20, arbitrary: anyWord }, fc.integer(), fc.jsonValue({ maxDepth: 1 }));
/** A call that has a chance. What it says of integrations is left out, so that every one that is taken goes out. */
const likelyCall = fc.record(
  {
    type: fc.oneof(fc.constantFrom("track", "identify", "page"), anyWord),
    ...{ userId: anyId, anonymousId: anyId, messageId: anyId, groupId: anyId, previousId: anyId },
    ...{ event: anyWord, timestamp: anyTime, properties: anyObject, traits: anyObject, context: anyObject },
  },
  { requiredKeys: ["userId"] },
);
const batch = fc.record({
  batch: fc.array(fc.oneof({ weight: 9, arbitrary: likelyCall }, fc.jsonValue())),
  context: anyObject,
  sentAt: anyTime,
});
const anyJson = fc
  .oneof({ weight: 8, arbitrary: fc.oneof(likelyCall, batch) }, fc.jsonValue())
  .map((value) => JSON.stringify(value));

const anyBody: fc.Arbitrary<Body> = fc.record(
  {
    text: fc.oneof({ weight: 4, arbitrary: anyJson }, textLike(likeness)),
    as: fc.constantFrom("text", "text", "text", "raw", "gzip"),
    lost: fc.constantFrom(0, 0, 0, 1, 9, 40),
    wrong: fc.nat(2_000),
    length: fc.constantFrom("right", "right", "too long", "none"),
  },
  { requiredKeys: ["text", "as"] },
);

const CALLS = ["track", "identify", "page", "screen", "group", "alias", "batch", "import", "t", "b", "m"];
const anyPath = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...CALLS.map((name) => `/v1/${name}`), "/beacon/v1/batch") },
  { weight: 3, arbitrary: fc.constantFrom("/v1/pixel/track", "/v1/pixel/page", "/pixel/v1/track") },
  fc.constantFrom(...["/v1/track/", "//v1/track", "/", "/v1/%", "/v1/%00", "/v1/track%2f", "/V1/track", "/v1"]),
  fc.constantFrom(KEY, "%ff", "__proto__", "a%2Fb").map((key) => `/v1/projects/${key}/settings`),
  anyWord.map((word) => `/v1/${encodeURI(word.toWellFormed())}`),
);

const base64 = (text: string) => Buffer.from(text).toString("base64");
const anyField = fc.tuple(
  fc
    .constantFrom(...["userId", "event", "properties.plan", "properties.plan.of", "writeKey", "context.ip", "data"])
    .chain((name) =>
      fc.constantFrom(name, name, `${name}.`, `.${name}`, `${name}.__proto__.polluted`, "integrations.All"),
    ),
  fc.oneof(anyWord, fc.constantFrom(KEY, "true", base64(CALL), base64(CALL).replaceAll("=", ""), base64("[1"), "=%ff")),
);
const anyQuery = fc.oneof(
  { weight: 3, arbitrary: fc.constant("") },
  fc.array(anyField, { maxLength: 5 }).map((fields) => {
    const pairs = fields.map(([name, value]) => [name, value.toWellFormed()] as [string, string]);
    return `?${new URLSearchParams(pairs)}`;
  }),
  textLike({
    seeds: [`?writeKey=${KEY}&userId=u1&event=e`, `?data=${base64(CALL)}`],
    pieces: ["&", "=", ".", "%", "a"],
  }).map((text) => `?${written(text).toWellFormed().slice(0, 20_000)}`),
);

const BASIC = `Basic ${base64(`${KEY}:`)}`;
const anyHeader = fc.constantFrom(
  ...(
    [
      BASIC,
      "Basic !",
      "Basic",
      "basic  ",
      `Bearer ${KEY}`,
      `Basic ${base64(KEY)}`,
      `Basic ${base64("\u0000:")}`,
    ] as const
  ).map((value) => ["authorization", value] as const),
  ...(["gzip", "x-gzip", "GZIP", "br", "", "gzip, gzip", "identity"] as const).map(
    (value) => ["content-encoding", value] as const,
  ),
  ...([KEY, "", "\u00ff", "x".repeat(5_000)] as const).map((value) => ["x-write-key", value] as const),
  ...(["https://a.example", "null", "", "http://[", "\u00e9"] as const).map((value) => ["origin", value] as const),
  ...(["1.2.3.4", "unknown, ::1", ",,", "[::1]:5", "1.2.3.4.5:", ":".repeat(3_000)] as const).map(
    (value) => ["x-forwarded-for", value] as const,
  ),
  ...([
    ["content-type", "text/plain"],
    ["content-type", "\u00ff"],
    ["user-agent", "x".repeat(3_000)],
    ["host", "a b"],
  ] as const),
);

const anyInput: fc.Arbitrary<Input> = fc.record({
  method: fc.oneof(
    { weight: 12, arbitrary: fc.constant("POST") },
    fc.constantFrom("GET", "GET", "PUT", "OPTIONS", "HEAD", "DELETE"),
  ),
  path: anyPath,
  query: anyQuery,
  headers: fc.oneof(
    { weight: 3, arbitrary: fc.constant([["authorization", BASIC] as const]) },
    fc.array(anyHeader, { maxLength: 4 }),
    fc.array(anyHeader, { maxLength: 3 }).map((others) => [["authorization", BASIC] as const, ...others]),
  ),
  body: anyBody,
});

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

/** One that looks at all that a request can say of its sender. */
function open(): Promise<TestDaemon> {
  const proxied = makeIngest({ trustedProxies: ["127.0.0.1"], corsOrigins: ["https://*.example"] });
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
      for (const { body } of d.sent) assert.equal(JSON.stringify(JSON.parse(body)), body);
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
