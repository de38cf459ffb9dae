// Requests to the collection API: calls that have a chance, and all that can be wrong with them.
import fc from "fast-check";
import { KEY } from "../flow/make.ts";
import { anyObject, anyText as anyWord } from "../model/make.ts";
import { type Text, textLike, written } from "./text.ts";

/** A request to the collection API. */
export type Input = {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Body;
};

export type Body = {
  readonly text: Text;
  /** `raw`: each character stands for a byte, which need not make UTF-8. */
  readonly as: "text" | "raw" | "gzip";
  /** How many bytes are missing at its end, and which one is another. */
  readonly lost?: number;
  readonly wrong?: number;
  /** How its length is announced. */
  readonly length?: "right" | "too long" | "none";
};

const CALL =
  '{"userId":"u1","event":"Signed Up","properties":{"plan":"pro","n":1.5,"id":9223372036854775807},"messageId":"m1"}';
const BATCH = `{"batch":[{"type":"track","userId":1,"event":"e"},{"type":"page","anonymousId":"a","traits":{"__proto__":{"polluted":1}}}],"context":{"ip":"203.0.113.7","library":{"name":"analytics.js"}},"integrations":{"all":false},"sentAt":"2009-11-10T23:00:00+0000","writeKey":"${KEY}"}`;

export const likeness = {
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
    ...["1".repeat(209), "9007199254740993", "-12345678901234567890", ",[]", "\\ud83d", "\\u000"],
  ],
};

const anyTime = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("2009-11-10", "2026-11-20T12:00:00.5Z") },
  fc.constantFrom("0000-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", null, "soon"),
);
const anyId = fc.oneof({ weight: 20, arbitrary: anyWord }, fc.integer(), fc.jsonValue({ maxDepth: 1 }));
/** A call that has a chance. What it says of integrations is left out, so that every one that is taken goes out. */
const likelyCall = fc.record(
  {
    type: fc.oneof(fc.constantFrom("track", "identify", "page"), anyWord),
    ...{ userId: anyId, anonymousId: anyId, messageId: anyId, groupId: anyId, previousId: anyId },
    ...{ event: anyWord, timestamp: anyTime, properties: anyObject, traits: anyObject, context: anyObject },
  },
  { requiredKeys: ["userId", "type", "event"] },
);
const batch = fc.record({
  batch: fc.array(fc.oneof({ weight: 9, arbitrary: likelyCall }, fc.jsonValue())),
  context: anyObject,
  sentAt: anyTime,
});
const anyJson = fc
  .oneof({ weight: 8, arbitrary: fc.oneof(likelyCall, batch) }, fc.jsonValue())
  .map((value) => JSON.stringify(value));

const anyWhole = {
  text: fc.oneof({ weight: 4, arbitrary: anyJson }, textLike(likeness)),
  as: fc.constantFrom("text", "text", "text", "raw", "gzip"),
} as const;
const anyBroken = fc.record(
  {
    ...anyWhole,
    lost: fc.constantFrom(0, 0, 0, 1, 9, 40),
    wrong: fc.nat(2_000),
    length: fc.constantFrom("right", "right", "too long", "none"),
  },
  { requiredKeys: ["text", "as"] },
);
const anyBody: fc.Arbitrary<Body> = fc.oneof({ weight: 3, arbitrary: fc.record(anyWhole) }, anyBroken);

const CALLS = ["track", "identify", "page", "screen", "group", "alias", "batch", "batch", "import", "t", "b", "m"];
const anyPath = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...CALLS.map((name) => `/v1/${name}`), "/beacon/v1/batch") },
  { weight: 3, arbitrary: fc.constantFrom("/v1/pixel/track", "/v1/pixel/page", "/pixel/v1/track") },
  fc.constantFrom(...["/v1/track/", "//v1/track", "/", "/v1/%", "/v1/%00", "/v1/track%2f", "/V1/track", "/v1"]),
  fc.constantFrom(KEY, "%ff", "__proto__", "a%2Fb").map((key) => `/v1/projects/${key}/settings`),
  anyWord.map((word) => `/v1/${encodeURI(word.toWellFormed())}`),
);

export const base64 = (text: string) => Buffer.from(text).toString("base64");
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

export const BASIC = `Basic ${base64(`${KEY}:`)}`;
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

export const anyInput: fc.Arbitrary<Input> = fc.record({
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
