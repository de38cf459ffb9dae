import { createApi } from "../../src/admin/api.ts";
import { BODY_FAULTS } from "../../src/admin/route.ts";
import type { AdminWorld } from "../../src/admin/world.ts";
import { anchorOf, block, code, contents, enumerate, escaped, page, prose, sentence, table } from "./markdown.ts";

/** The parts of a JSON Schema that the operator's API uses. */
type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly format?: string;
};
type Content = Readonly<Record<string, { readonly schema: Schema }>>;
type Parameter = {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
};
type Operation = {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description?: string; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>;
};
type Schemas = Readonly<Record<string, Schema>>;
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Schemas };
};
type Named = { readonly title: string; readonly operation: Operation };

/** A page for each part of the API. The first whose paths fit has a route. */
const PAGES: readonly (readonly [file: string, title: string, paths: RegExp])[] = [
  ["deliveries.md", "Deliveries and calls", /^\/api\/(deliveries|events|route|replay|rejected)/],
  ["destinations.md", "Destinations", /^\/api\/destinations/],
  ["deletions.md", "Deletions", /^\/api\/deletions/],
  ["audiences.md", "Audiences and traits", /^\/api\/(audiences|traits|sources)/],
  ["watching.md", "Charts and the live stream", /^\/api\/(series|live)/],
  ["daemon.md", "The daemon", /./],
];

/** The pages of docs/reference/operator-api/, from the document that the daemon answers at /openapi.json. */
export async function operatorApiPages(): Promise<ReadonlyMap<string, string>> {
  const document = await openApi();
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, title: `${method.toUpperCase()} ${path}`, operation })),
  );
  const pages: readonly Page[] = PAGES.map(([file, title], nth) => ({
    file,
    title,
    routes: routes.filter(({ path }) => PAGES.findIndex(([, , paths]) => paths.test(path)) === nth),
  }));
  const { schemas } = document.components;
  const used = new Map(pages.map((one) => [one, shapesOf(one, schemas)]));
  const own = (one: Page) => [...(used.get(one) ?? [])].filter((name) => isOwn(name, [...used.values()]));
  const shared = Object.keys(schemas).filter((name) => !pages.some((one) => own(one).includes(name)));
  return new Map([
    ["index.md", indexPage(pages)],
    ...pages.map((one) => [one.file, routesPage(one, own(one), schemas)] as const),
    ["shapes.md", shapesPage(shared, schemas)],
  ]);
}

/** Whether a shape stands on the page of its routes, because no other page needs it. */
function isOwn(name: string, used: readonly ReadonlySet<string>[]): boolean {
  return used.filter((names) => names.has(name)).length === 1 && !IN_SHAPES.test(name);
}

/** Of the pages that are long by their routes alone. */
const IN_SHAPES = /Deliver|Event|Attempt|Webhook|Rejection|Preview|Sync|Computation/;

/** The named shapes that the routes of a page answer with or take, and those that these refer to. */
function shapesOf({ routes }: Page, schemas: Schemas): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { operation } of routes) {
    const answered = Object.entries(operation.responses).filter(([status]) => status < "300");
    collect([operation.requestBody ?? null, answered]);
  }
  return found;

  function collect(value: unknown): void {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      collect(schemas[name]);
    }
  }
}

const SOURCE = "the routes in src/admin/";

async function openApi(): Promise<Document> {
  const listen = { kind: "unix", path: "/run/fairlead/admin.sock" };
  // Enough for the routes, and for what they say of themselves.
  const world = { version: "", admin: () => ({ listen, token: null }) } as unknown as AdminWorld;
  return (await createApi(world).request("/openapi.json")).json() as Promise<Document>;
}

type Page = { readonly file: string; readonly title: string; readonly routes: readonly Named[] };

function indexPage(pages: readonly Page[]): string {
  return page(
    SOURCE,
    "# All routes of the operator's API",
    "[The operator's API](../operator-api.md) says how to reach it and who may. `GET /openapi.json` describes the same for programs.",
    ...pages.flatMap(({ file, title, routes }) => [
      `## ${title}`,
      table(
        ["route", "what it does"],
        routes.map((one) => [`[\`${one.title}\`](${file}#${anchorOf(one.title)})`, escaped(one.operation.summary)]),
      ),
    ]),
    "## Refusals",
    prose(`Every route can answer ${enumerate(COMMON_REFUSALS.slice(0, 6).map(code))}. A route with a body can also answer
      ${enumerate(COMMON_REFUSALS.slice(6).map(code))}. The pages of the routes list only the others. What they mean:
      [codes](../codes.md#the-operators-api).`),
  );
}

function routesPage({ title, routes }: Page, own: readonly string[], schemas: Schemas): string {
  return page(
    SOURCE,
    `# The operator's API: ${title.toLowerCase()}`,
    ...(isLong(routes.length + own.length) ? [contents([...routes.map((one) => one.title), ...own])] : []),
    "[Shapes](shapes.md) has the other named types, [the index](index.md#refusals) the refusals of every route.",
    ...routes.flatMap(routeParts),
    ...own.flatMap((name) => shapeParts(name, schemas)),
  );
}

/** Whether a page has contents of its own. The index lists all routes anyway. */
function isLong(headings: number): boolean {
  return headings > 4 && headings < 9;
}

function routeParts({ title, operation }: Named): readonly string[] {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  return [
    `## ${title}`,
    [sentence(escaped(summary)), ...(description ? [escaped(description)] : [])].join(" "),
    ...(parameters.length > 0 ? [table(["parameter", "value", ""], parameters.map(parameterRow))] : []),
    ...(requestBody ? bodyParts(requestBody) : []),
    ...Object.entries(responses)
      .filter(([status]) => status < "300")
      .flatMap(([status, { description: says, content }]) => [
        `Answers ${status}: ${escaped(says)}`,
        ...typeBlocks(content),
      ]),
    ...refusalParts(responses),
  ];
}

function parameterRow({ name, description = "", schema }: Parameter): readonly string[] {
  const { default: byDefault } = schema;
  const otherwise = byDefault === undefined ? "" : `Default: ${code(String(byDefault))}.`;
  return [code(name), code(typeOf(schema)), `${escaped(description)} ${otherwise}`];
}

function bodyParts({ description = "", content }: NonNullable<Operation["requestBody"]>): readonly string[] {
  return [`Body: ${escaped(description)}`, ...typeBlocks(content)];
}

/** Nothing for a body or an answer that has no keys of its own. */
function typeBlocks(content: Content): readonly string[] {
  const types = Object.entries(content).map(([type, { schema }]) => {
    const text = typeOf(schema);
    return type === "application/json" ? text : `${type}: ${text}`;
  });
  return types.every((text) => text === "object") ? [] : [block(types.join("\n"))];
}

/** Of a route's own; the codes stand in the descriptions of its refusals. */
function refusalParts(responses: Operation["responses"]): readonly string[] {
  const refused = Object.entries(responses).filter(([status]) => status >= "400");
  const all = refused.flatMap(([, { description }]) =>
    [...description.matchAll(/`(\w+)`/g)].map(([, one = ""]) => one),
  );
  const own = all.filter((one) => !COMMON_REFUSALS.includes(one));
  return own.length > 0 ? [`Refusals: ${own.map(code).join(", ")}.`] : [];
}

const COMMON_REFUSALS: readonly string[] = [
  ...["unauthorized", "forbidden_origin", "forbidden_host", "read_only", "store_failed", "internal"],
  ...BODY_FAULTS.filter((one) => one !== "invalid_request"),
];

function shapesPage(names: readonly string[], schemas: Schemas): string {
  return page(
    SOURCE,
    "# Shapes of the operator's API",
    prose(`What the answers of [the routes](index.md) are made of. A \`?\` marks a key that may be missing. Times are ISO 8601 in
      UTC, durations milliseconds. Newer versions may add keys.`),
    contents(names),
    ...names.flatMap((name) => shapeParts(name, schemas)),
  );
}

function shapeParts(name: string, schemas: Schemas): readonly string[] {
  return [`## ${name}`, block(shapeText(name, schemas))];
}

/** A shape that has all keys of another one begins with that. */
function shapeText(name: string, schemas: Schemas): string {
  const { [name]: shape = {}, ...others } = schemas;
  const { properties = {} } = shape;
  const base = Object.entries(others).find(([, { properties: less = {} }]) => {
    const keys = Object.keys(less);
    const isPart = keys.every((key) => JSON.stringify(less[key]) === JSON.stringify(properties[key]));
    return keys.length > 2 && keys.length < Object.keys(properties).length && isPart;
  });
  if (!base) return typeOf(shape);
  const [baseName, { properties: less = {} }] = base;
  const more = Object.entries(properties).filter(([key]) => !(key in less));
  return `${baseName} & ${typeOf({ ...shape, properties: Object.fromEntries(more) })}`;
}

/** Of a type. The only longer one is that of all codes, which have a page of their own. */
const MOST_WORDS = 20;

/** A schema in the notation of TypeScript, with descriptions as comments. */
function typeOf(schema: Schema, indent = ""): string {
  const { $ref, const: constant, enum: words, anyOf, allOf, items, properties, additionalProperties } = schema;
  if ($ref) return $ref.split("/").at(-1) ?? "";
  if (constant !== undefined) return JSON.stringify(constant);
  if (words && words.length > MOST_WORDS) return "string";
  if (words) return words.map((word) => JSON.stringify(word)).join(" | ");
  if (anyOf) return anyOf.map((one) => typeOf(one, indent)).join(" | ");
  if (allOf) return allOf.map((one) => typeOf(one, indent)).join(" & ");
  if (items) return listOf(typeOf(items, indent));
  if (properties) return objectOf(schema, indent);
  if (typeof additionalProperties === "object") return `{ [name]: ${typeOf(additionalProperties, indent)} }`;
  if (schema.minimum !== undefined && schema.maximum !== undefined) return `${schema.minimum}…${schema.maximum}`;
  return schema.type ?? "any";
}

function listOf(item: string): string {
  return / [|&] /.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
}

function objectOf({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? "" : "?";
    const comment = schema.description ? `  // ${schema.description.replaceAll(/\s+/g, " ")}` : "";
    return `${inner}${name}${optional}: ${typeOf(schema, inner)}${comment}`;
  });
  return lines.length === 0 ? "{}" : `{\n${lines.join("\n")}\n${indent}}`;
}
