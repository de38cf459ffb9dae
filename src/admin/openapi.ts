import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { FAULT_STATUS, type FaultCode } from "../model/fault.ts";
import { formatSize } from "../model/units.ts";
import { about, refusal, type Shape } from "../wire/fields.ts";
import { isOpen } from "./access.ts";
import { BODY_FAULTS, type Body, type Route, route } from "./route.ts";

export const openApiRoute = route({
  id: "getOpenApi",
  method: "get",
  path: "/openapi.json",
  summary: "This document",
  answers: {
    200: about("The OpenAPI document of this API, for programs that read it.", v.record(v.string(), v.unknown())),
  },
});

/** The OpenAPI 3.1 document of these routes. */
export function describeApi(routes: readonly Route[], version: string): Json {
  const shapes = createShapes();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = templateOf(route.path);
    paths[path] = { ...paths[path], [route.method]: describeOperation(route, shapes) };
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Fairlead's operator's API",
      version,
      description: ABOUT,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "admin.listen" }],
    // Either: the config decides whether a token is needed.
    security: [{ token: [] }, {}],
    paths,
    components: { schemas: shapes.named, securitySchemes: { token: TOKEN } },
  };
}

const ABOUT = `What operators and their programs ask a running daemon, at \`admin.listen\` of its config.

Requests of web pages (known by Origin or Sec-Fetch-Site) and requests with a Host other than the listener's are refused: the API is open to no web page but the dashboard. Any request that is not a GET must have the Content-Type of JSON. A Retry-After says when to try again. New keys may be added to answers; codes of refusals are stable.`;

const TOKEN = {
  type: "http",
  scheme: "bearer",
  description:
    "`admin.token` of the config, where there is one: required, unless the API listens on loopback or a Unix socket. " +
    "`/healthz` and `/readyz` never need it. `admin.readToken` is enough for requests that change nothing: each GET except the copy of the outbox and the salt of deletions.",
};

/** Hono writes `:name` where OpenAPI writes `{name}`. */
function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

const JSON_TYPE = "application/json";

/** A route as OpenAPI describes an operation. */
function describeOperation(route: Route, shapes: Shapes): Json {
  const { id, method, summary, description, path, body } = route;
  const parameters = [...pathParameters(route), ...queryParameters(route, shapes)];
  return {
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    ...(isOpen(path) && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...((body || method === "post") && { requestBody: describeBody(body, shapes) }),
    responses: { ...answersOf(route, shapes), ...refusalsOf(route, shapes) },
  };
}

function pathParameters({ params = {} }: Route): readonly Json[] {
  return Object.entries(params).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
}

function queryParameters({ query }: Route, shapes: Shapes): readonly Json[] {
  return Object.entries(query?.entries ?? {}).map(([name, entry]) => {
    const { description, default: written, ...schema } = shapes.output(entry);
    return {
      name,
      in: "query",
      required: !isOptional(entry),
      ...(description !== undefined && { description }),
      // As it is parsed: in a query everything is text.
      schema: written === undefined ? schema : { ...schema, default: v.parse(entry, undefined) },
    };
  });
}

/** The body of a POST without parameters. JSON is required because web pages cannot send it without a preflight request. */
const NOTHING = {
  description: "Ignored, but its Content-Type must be this one: send `{}`.",
  required: true,
  content: { [JSON_TYPE]: { schema: { type: "object" } } },
};

function describeBody(body: Body | undefined, shapes: Shapes): Json {
  if (!body) return NOTHING;
  const { shape, maxBytes, type = JSON_TYPE, also = {} } = body;
  const description = `At most ${formatSize(maxBytes)}; compressed with gzip, if Content-Encoding says so.`;
  const all = Object.entries({ [type]: shape, ...also });
  const content = Object.fromEntries(all.map(([name, one]) => [name, { schema: shapes.input(one) }]));
  return { description, required: true, content };
}

function answersOf({ answers, type = JSON_TYPE }: Route, shapes: Shapes): Json {
  const all = Object.entries(answers).map(([status, shape]) => {
    const { description = "Done.", ...schema } = shapes.output(shape);
    return [status, { description, content: { [type]: { schema } } }];
  });
  return Object.fromEntries(all);
}

/** Statuses that a retry may resolve, and that can have a Retry-After. */
const RETRIED: readonly number[] = [409, 429, 503];

/** The refusals of a route as OpenAPI responses, by status, each with its possible codes. */
function refusalsOf(route: Route, shapes: Shapes): Json {
  const fault = shapes.output(refusal);
  const byStatus = Map.groupBy(codesOf(route), (code) => FAULT_STATUS[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, { ...describe(codes, fault), ...headersOf(status) }]),
  );
}

function codesOf({ method, path, query, body, full, faults = [] }: Route): readonly FaultCode[] {
  const all: readonly FaultCode[] = [
    ...(isOpen(path) ? [] : (["unauthorized"] as const)),
    ...(["forbidden_origin", "forbidden_host"] as const),
    ...(full || method !== "get" ? (["read_only"] as const) : []),
    ...(method === "post" ? (["unsupported_media_type"] as const) : []),
    ...(query ? (["invalid_request"] as const) : []),
    ...(body ? BODY_FAULTS : []),
    ...faults,
    // Every write to the outbox can fail with either.
    ...(faults.includes("store_failed") ? (["outbox_gone"] as const) : []),
    // A store that is away fails reads as well.
    "store_failed",
    "internal",
  ];
  return [...new Set(all)];
}

function describe(codes: readonly FaultCode[], fault: Json): Json {
  return {
    description: `Refused: ${codes.map((code) => `\`${code}\``).join(", ")}.`,
    content: { "application/json": { schema: { allOf: [fault, { properties: { code: { enum: codes } } }] } } },
  };
}

function headersOf(status: number): Json {
  if (!RETRIED.includes(status)) return {};
  return { headers: { "Retry-After": { description: "When to try again, in seconds.", schema: { type: "integer" } } } };
}

/** A part of the document. */
type Json = { readonly [key: string]: unknown };

/** Shapes as JSON Schemas, draft 2020-12 as in OpenAPI 3.1. */
type Shapes = {
  /** The input: a shape before parsing. */
  input(shape: Shape): Json;
  /** The output, or the meaning of text in a query: a shape after parsing. Other keys may be added later. */
  output(shape: Shape): Json;
  /** Named schemas, to which the others refer. */
  readonly named: Json;
};

function createShapes(): Shapes {
  const named: Record<string, Json> = {};
  return {
    named,
    input: (shape) => collect(convert(shape, "input")) as Json,
    output: (shape) => collect(opened(convert(shape, "output"))) as Json,
  };

  /** Stores a titled schema under its title, and replaces it by a reference. */
  function collect(json: unknown): unknown {
    if (Array.isArray(json)) return json.map(collect);
    if (typeof json !== "object" || json === null) return json;
    const inner = Object.fromEntries(Object.entries(json).map(([key, value]) => [key, collect(value)]));
    // A property may be called `title`.
    if (typeof inner.title !== "string") return inner;
    // The description belongs to this place, not to the shape.
    const { description, ...shape } = inner;
    return { $ref: keep(inner.title, shape), ...(description !== undefined && { description }) };
  }

  function keep(name: string, json: Json): string {
    const known = named[name] ?? json;
    if (JSON.stringify(known) !== JSON.stringify(json)) throw new Error(`two shapes have the name ${name}`);
    named[name] = json;
    return `#/components/schemas/${name}`;
  }
}

function convert(shape: Shape, typeMode: "input" | "output"): Json {
  // These checks are functions; descriptions explain them.
  const ignoreActions = ["check", "raw_check"];
  const { $schema: _, ...json } = toJsonSchema(shape, { target: "draft-2020-12", typeMode, ignoreActions });
  return json;
}

/** Allows other keys: readers should ignore the additions of newer daemons. */
function opened(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(opened);
  if (typeof json !== "object" || json === null) return json;
  const kept = Object.entries(json).filter(([key, value]) => key !== "additionalProperties" || value !== false);
  return Object.fromEntries(kept.map(([key, value]) => [key, opened(value)]));
}

/** Whether it may be left out. */
function isOptional(shape: Shape): boolean {
  return v.safeParse(shape, undefined).success;
}
