// Requests to the operator's API: lists with filters and cursors, and bodies of all that it takes.
import fc from "fast-check";
import { type Text, textLike, written } from "./text.ts";

/** A request to the operator's API. */
export type Input = {
  readonly method: string;
  readonly path: string;
  /** Each name comes once. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Where there is one, it has this Content-Type. */
  readonly body: { readonly text: Text; readonly type: string } | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
};

const NAMES = ["crm", "dead", "down", "website", "vip", "1-crm", "2-dead", "m1", "m-2", "gone", "del-0-0"];
const ODD_NAMES = [
  "%00",
  "%ff",
  "%2F",
  "..%2f",
  "__proto__",
  "constructor",
  "-",
  "1-",
  "-crm",
  "99999999999999999999-crm",
];
const anyName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NAMES) },
  fc.constantFrom(...ODD_NAMES, "1e3-crm", "-1-crm", "1.5-crm", "x".repeat(3_000)),
  textLike({ seeds: NAMES, pieces: ["-", "1", "crm"] }).map(
    (text) => encodeURIComponent(written(text).toWellFormed()).slice(0, 9_000) || "a",
  ),
);

const anyNumber = fc.oneof(
  fc.integer({ min: -2, max: 12 }),
  fc.constantFrom(2 ** 53 - 1, -(2 ** 53) + 1, 2 ** 53, 1e308, 1.5, 2 ** 63, 1_793_188_800_000),
);
const anyPart = fc.oneof(
  anyNumber,
  fc.constantFrom<unknown>("crm", "", "dead", null, [], {}, true, "\u0000", "\ud800"),
);
/** As the daemon makes them, and nearly so. */
const anyListCursor = fc
  .oneof(
    fc.tuple(fc.constantFrom("event", "settled", "lost"), anyNumber, anyPart),
    fc.array(anyPart, { maxLength: 4 }),
    anyPart,
  )
  .map((position) => Buffer.from(JSON.stringify(position)).toString("base64url"));
const anyReplayCursor = fc
  .tuple(
    fc.constantFrom("failed", "expired", "delivered", "waiting", ""),
    anyNumber,
    fc.oneof(fc.constant(""), anyListCursor),
  )
  .map((parts) => parts.join(":"));
const anyCursor = fc.oneof(
  { weight: 3, arbitrary: anyListCursor },
  { weight: 3, arbitrary: anyReplayCursor },
  textLike({
    seeds: ["WyJldmVudCIsMywiY3JtIl0", "failed:1793188800000:", "del-0195-0000"],
    pieces: ["W", "~", ":"],
  }).map(written),
);

const anyTime = fc.oneof(
  fc.constantFrom(...["2h", "2009-11-10", "2009-11-10T23:00:00Z", "2009-02-31", "9999-12-31T23:59:60Z", "0000-01-01"]),
  fc.constantFrom(
    ...["99999999999999999999d", `${"9".repeat(400)}d`, "1e3h", "0ms", "-1h", "2009-11-10T24:00:00+23:59"],
  ),
  textLike({ seeds: ["2009-11-10T23:00:00+00:00", "1h30m"], pieces: ["-", "31", "T", ":", "Z", "h", "d"] }).map(
    written,
  ),
);
const VALUES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  state: fc.constantFrom("waiting", "delivered", "failed", "expired", "lost", ""),
  destination: fc.constantFrom("crm", "dead", "\u0000", ""),
  source: fc.constantFrom("website", "__proto__"),
  type: fc.constantFrom("track", "delete", "toString"),
  user: fc.constantFrom("u1", "🙂", "%", "\u0000"),
  ...{ since: anyTime, until: anyTime, cursor: anyCursor },
  limit: fc.oneof(
    fc.integer({ min: -1, max: 1_001 }).map(String),
    fc.constantFrom("1e2", "05", "1.0", "", " 5", "٣", "9".repeat(30)),
  ),
  dryRun: fc.constantFrom("0", "1", "true"),
  force: fc.constantFrom("0", "1", ""),
};
const anyPair = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .constantFrom(...Object.keys(VALUES))
      .chain((name) => fc.tuple(fc.constant(name), VALUES[name] ?? anyTime)),
  },
  fc.tuple(fc.constantFrom("colour", "limit[]", "Limit", "limit ", "__proto__", "constructor", "toString"), anyTime),
);
const anyQuery = fc
  .uniqueArray(anyPair, { maxLength: 4, selector: ([name]) => name })
  .map((pairs) => pairs.map(([name, value]) => [name, value.toWellFormed()] as const));

const anyWish = fc
  .record(
    {
      filter: fc.oneof(
        anyQuery.map((pairs) =>
          Object.fromEntries(pairs.filter(([name]) => !["limit", "cursor", "dryRun"].includes(name))),
        ),
        fc.constantFrom<unknown>(null, [], "failed"),
      ),
      limit: fc.oneof(anyNumber, fc.constant(null)),
      cursor: fc.oneof(anyReplayCursor, anyPart),
      dryRun: fc.oneof(fc.boolean(), fc.constant<unknown>(1)),
    },
    { requiredKeys: ["filter"] },
  )
  .map((wish) => JSON.stringify(wish));
const LISTS = ['["u1","u2"]', '[["u1",5],["u2",null]]', '"u1"\n{"userId":"u2"}\n', "userId,value\nu1,x\n"];
const anyBody = fc.record({
  text: fc.oneof(
    anyWish,
    textLike({
      seeds: [
        ...LISTS,
        '{"userIds":["u9"],"erase":false,"suppress":true}',
        '{"filter":{},"dryRun":true}',
        '{"to":"crm","limit":5}',
        '{"add":["u1"],"remove":[7]}',
      ],
      pieces: [
        "{",
        "}",
        "[",
        "]",
        '"userIds":',
        '"filter":',
        '"to":',
        '"add":',
        '"u1"',
        ",",
        "1e999",
        "null",
        "[".repeat(9_000),
      ],
    }),
  ),
  type: fc.oneof(
    { weight: 4, arbitrary: fc.constant("application/json") },
    fc.constantFrom(
      "text/csv",
      "application/x-ndjson",
      "application/jsonl; a=b",
      "text/plain",
      "APPLICATION/JSON;",
      "",
    ),
  ),
});

/** What takes a query; of others it is ignored. */
const LISTS_OF = ["/api/deliveries", "/api/deliveries", "/api/deletions", "/api/rejected"];
const GETS = [
  ...["/api/deliveries/:", "/api/events/:", "/api/deletions/:", "/api/status", "/openapi.json", "/healthz", "/readyz"],
  ...["/api/audiences", "/api/sources/:/traits", "/api/sources/:/audiences/:", "/api", "/%"],
];
const POSTS = [
  "/api/replay",
  "/api/replay",
  "/api/deliveries/:/retry",
  "/api/deletions",
  "/api/deletions/unsuppress",
  "/api/deletions/:/erase",
  "/api/destinations/:/pause",
  "/api/destinations/:/resume",
  "/api/destinations/:/discard",
  "/api/destinations/:/move",
  "/api/reload",
  "/api/sources/website/audiences/:/members",
  "/api/status",
];
const PUTS = ["/api/sources/website/audiences/:", "/api/sources/website/traits/:", "/api/sources/:/traits/:"];

/** With a name for each colon. */
function anyPath(templates: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...templates), anyName, anyName)
    .map(([template, one, other]) => template.replace(":", () => one).replace(":", () => other));
}

const anyHeaders = fc.oneof(
  { weight: 9, arbitrary: fc.constant([]) },
  fc.array(
    fc.constantFrom(
      ...(["", "null", "https://a.example"] as const).map((value) => ["origin", value] as const),
      ...(["", "a b", "localhost:x", "[::1]", "127.0.0.1.", "\u00ff"] as const).map(
        (value) => ["host", value] as const,
      ),
      ...(["gzip", "GZIP", "br", ""] as const).map((value) => ["content-encoding", value] as const),
      ["authorization", "Bearer "] as const,
    ),
    { maxLength: 2 },
  ),
);

type Asked = { readonly query?: typeof anyQuery; readonly body?: fc.Arbitrary<Input["body"]> };

function asking(method: string, templates: readonly string[], { query, body }: Asked): fc.Arbitrary<Input> {
  return fc.record({
    method: fc.constant(method),
    path: anyPath(templates),
    query: query ?? fc.constant([]),
    body: body ?? fc.constant(null),
    headers: anyHeaders,
  });
}

export const anyInput: fc.Arbitrary<Input> = fc.oneof(
  { weight: 5, arbitrary: asking("GET", LISTS_OF, { query: anyQuery }) },
  { weight: 2, arbitrary: asking("GET", GETS, {}) },
  { weight: 4, arbitrary: asking("POST", POSTS, { body: anyBody }) },
  { weight: 2, arbitrary: asking("PUT", PUTS, { query: anyQuery, body: anyBody }) },
  { weight: 1, arbitrary: asking("DELETE", PUTS, { query: anyQuery }) },
);
