import assert from "node:assert/strict";
import { createApi } from "../../src/admin/api.ts";
import type { AdminWorld } from "../../src/admin/world.ts";
import type { JsonSchema } from "../../src/config/json-schema.ts";
import { faultsOf } from "../config/json-schema-validator.ts";

/** A question to the operator's API, and what it answered. */
export type Exchange = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** The body that was sent. */
  readonly sent?: string | undefined;
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
};

type Content = Readonly<Record<string, { readonly schema: Schema }>>;
type Schema = JsonSchema & { readonly $ref?: string };
type Parameter = {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly schema: Schema;
};
export type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>;
};
export type Document = {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
};

/** The API without anything behind it: enough for its routes, and for what they say of themselves. */
export function bareApi(): ReturnType<typeof createApi> {
  const listen = { kind: "unix", path: "/run/fairlead/admin.sock" };
  return createApi({ version: "1.2.3", admin: () => ({ listen, token: null }) } as unknown as AdminWorld);
}

/** The document as a client gets it. */
export async function fetchDocument(): Promise<Document> {
  return (await bareApi().request("/openapi.json")).json() as Promise<Document>;
}

let document: Promise<Document> | null = null;

/** Fails if an exchange is not as `/openapi.json` says: a key too many or too few is enough. */
export async function assertDocumented(exchange: Exchange): Promise<void> {
  document ??= fetchDocument();
  const faults = faultsOfExchange(await document, exchange);
  const { method, path } = exchange;
  assert.deepEqual(faults, [], `${method} ${path} is not as /openapi.json says; see the route beside its handler`);
}

function faultsOfExchange(doc: Document, exchange: Exchange): readonly string[] {
  const operation = findOperation(doc, exchange);
  if (!operation) return faultsOf(inPlace(doc, { $ref: "#/components/schemas/Fault" }), JSON.parse(exchange.text));
  return [
    ...faultsOfAnswer(doc, operation, exchange),
    ...(exchange.status === 200 ? faultsOfQuestion(doc, operation, exchange) : []),
  ];
}

function findOperation({ paths }: Document, { method, path }: Exchange): Operation | undefined {
  const asked = new URL(path, "http://localhost").pathname.replace(/(.)\/$/, "$1");
  const found = Object.keys(paths).filter((template) => patternOf(template).test(asked));
  const [template = ""] = found.sort((a, b) => a.split("{").length - b.split("{").length);
  return paths[template]?.[method.toLowerCase()];
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
}

function faultsOfAnswer(doc: Document, { responses }: Operation, { status, type, text }: Exchange): readonly string[] {
  const response = responses[status];
  if (!response) return [`the status ${status} is not in the document: ${text}`];
  const media = (type ?? "").replace(/;.*$/, "");
  const content = response.content[media];
  if (!content) return [`the type ${media} of ${status} is not in the document`];
  return media === "application/json" ? faultsOf(inPlace(doc, content.schema), JSON.parse(text)) : [];
}

/** What was answered well has to be a question that the document allows. */
function faultsOfQuestion(doc: Document, { parameters = [], requestBody }: Operation, exchange: Exchange) {
  const { searchParams } = new URL(exchange.path, "http://localhost");
  const ofQuery = [...searchParams].flatMap(([name, text]) => {
    const schema = parameters.find((one) => one.in === "query" && one.name === name)?.schema;
    if (!schema) return [`the parameter ${name} is not in the document`];
    return faultsOf(schema, schema.type === "integer" ? Number(text) : text, name);
  });
  const schema = requestBody?.content["application/json"]?.schema;
  if (!schema || exchange.sent === undefined) return ofQuery;
  return [...ofQuery, ...faultsOf(inPlace(doc, schema), JSON.parse(exchange.sent), "the body")];
}

/** A schema with all that it refers to in place, and without room for other keys: the document leaves it to newer daemons. */
function inPlace(doc: Document, schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value) => {
    if (typeof value?.$ref === "string")
      return inPlace(doc, doc.components.schemas[value.$ref.split("/").at(-1)] ?? {});
    const isClosed = value?.type === "object" && value.properties && value.additionalProperties === undefined;
    return isClosed ? { ...value, additionalProperties: false } : value;
  });
}
