import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { describeApi } from "../../src/admin/openapi.ts";
import { isPage, isPageFile } from "../../src/admin/pages.ts";
import { BODY_FAULTS, type Route, route } from "../../src/admin/route.ts";
import { named } from "../../src/wire/fields.ts";
import {
  assertDocumented,
  bareApi,
  type Document,
  type Exchange,
  fetchDocument,
  type Operation,
} from "./documented.ts";
import { startAdmin } from "./make.ts";

const HOW =
  "declare it with route({ id, method, path, summary, params, query, body, answers, faults }) beside its handler, and serve " +
  "it in admin/api.ts with on(thatRoute, handler) in place of api.get or api.post";

const doc = await fetchDocument();
const operations = Object.entries(doc.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    method,
    operation,
  })),
);

describe("GET /openapi.json", () => {
  it("has every route that is served, and no other", () => {
    const served = bareApi()
      .routes.filter(({ method, path }) => method !== "ALL" && !isPage(path) && !isPageFile(path))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    assert.ok(served.length >= 15);
    const described = operations.map(({ name }) => name);
    assert.deepEqual(
      served.filter((name) => !described.includes(name)),
      [],
      `is served, but not described: ${HOW}`,
    );
    assert.deepEqual(
      described.filter((name) => !served.includes(name)),
      [],
      "is described, but not served",
    );
  });

  it("is OpenAPI 3.1 in JSON, and says whose version it is", async () => {
    const { status, headers, text } = await startAdmin().get("/openapi.json");
    assert.deepEqual([status, headers.get("content-type")], [200, "application/json"]);
    const { openapi, info }: Document = JSON.parse(text);
    assert.match(openapi, /^3\.1\.\d+$/);
    assert.equal(info.version, "1.2.3");
    assert.equal(text, (await startAdmin().get("/openapi.json")).text);
  });

  it("has only keys that OpenAPI knows", () => {
    assertKeys(doc, ["openapi", "info", "servers", "security", "paths", "components"]);
    assertKeys(doc.info, ["title", "version", "description", "license"]);
    assertKeys(doc.components, ["schemas", "securitySchemes"]);
    for (const { path, operation } of operations) {
      assert.match(path, /^\/[^:]*$/);
      const own = ["operationId", "summary", "description", "security", "parameters", "requestBody", "responses"];
      assertKeys(operation, own);
      for (const one of operation.parameters ?? [])
        assertKeys(one, ["name", "in", "required", "description", "schema"]);
      assertKeys(operation.requestBody ?? {}, ["description", "required", "content"]);
      for (const one of Object.values(operation.responses)) assertKeys(one, ["description", "headers", "content"]);
    }
  });

  it("names each operation once, and says what it does", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length, ids.join(" "));
    for (const { name, operation } of operations) {
      assert.match(operation.operationId, /^[a-z][a-zA-Z]+$/, name);
      assert.match(operation.summary, /^[A-Z].*[^.]$/, name);
    }
  });

  it("declares each parameter of a path, and no other", () => {
    for (const { name, path, operation } of operations) {
      const declared = (operation.parameters ?? []).filter((one) => one.in === "path");
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      assert.deepEqual(
        declared.map((one) => one.name),
        inPath,
        `${name}: say in params what each is`,
      );
      for (const { required } of declared) assert.equal(required, true, name);
    }
  });

  it("says of each answer and each refusal what it means, and what is in it", () => {
    for (const { name, operation } of operations) {
      assert.ok("200" in operation.responses && "500" in operation.responses, name);
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        assert.match(status, /^[1-5]\d\d$/);
        assert.notEqual(description, "Done.", `${name}: give the shape of ${status} a description`);
        const [media] = Object.values(content);
        assert.ok(media && Object.keys(media.schema).length > 0, `${name} ${status}`);
      }
    }
  });

  it("refers only to what it has, and has only what something refers to", () => {
    const found = [...JSON.stringify(doc).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = ""]) => ref);
    const known = Object.keys(doc.components.schemas).map((name) => `#/components/schemas/${name}`);
    assert.deepEqual([...new Set(found)].sort(), known.sort());
    for (const name of Object.keys(doc.components.schemas)) assert.match(name, /^[A-Za-z0-9._-]+$/);
  });

  it("is of valid schemas: each type is one of JSON Schema's, each list of choices has some", () => {
    const types = ["string", "number", "integer", "boolean", "object", "array", "null"];
    const schemas = schemasIn(doc);
    assert.ok(schemas.length > 300);
    for (const schema of schemas) {
      if ("type" in schema) assert.ok(types.includes(String(schema.type)), JSON.stringify(schema));
      for (const choices of [schema.enum, schema.anyOf, schema.allOf]) {
        if (choices !== undefined) assert.ok(Array.isArray(choices) && choices.length > 0, JSON.stringify(schema));
      }
      if (schema.type === "array") assert.ok(schema.items ?? schema.prefixItems, JSON.stringify(schema));
      const properties = Object.keys(schema.properties ?? {});
      for (const key of (schema.required ?? []) as string[]) assert.ok(properties.includes(key), key);
    }
  });

  it("leaves room for keys that a newer daemon adds to its answers, and none in what is sent", () => {
    const answers = operations.map(({ operation }) => operation.responses);
    assert.doesNotMatch(JSON.stringify([answers, doc.components]), /"additionalProperties":false/);
    const sent = doc.paths["/api/deletions"]?.post?.requestBody?.content["application/json"]?.schema;
    assert.equal(sent?.additionalProperties, false);
  });

  it("has a security scheme, which each operation may need but for those that never do", () => {
    assert.deepEqual(Object.keys(doc.components.securitySchemes), ["token"]);
    assert.deepEqual(doc.security, [{ token: [] }, {}]);
    const open = operations.filter(({ operation }) => operation.security?.length === 0).map(({ path }) => path);
    assert.deepEqual(open, ["/healthz", "/readyz"]);
    for (const { path, operation } of operations)
      assert.equal("401" in operation.responses, !open.includes(path), path);
  });

  it("gives a query as it means, though all in it is text", () => {
    const limit = operationOf("GET /api/deliveries").parameters?.find(({ name }) => name === "limit");
    assert.deepEqual(limit?.schema, { type: "integer", minimum: 1, maximum: 1_000, default: 20 });
    assert.equal(limit?.required, false);
  });

  it("wants a body of every POST, as its Content-Type is what tells it from a web page's", () => {
    const posts = operations.filter(({ method }) => method === "post");
    for (const { name, operation } of posts) {
      assert.deepEqual(Object.keys(operation.requestBody?.content ?? {}), ["application/json"], name);
      assert.equal(operation.requestBody?.required, true, name);
      assert.ok("415" in operation.responses, name);
    }
  });

  it("is asked for like all else: not by web pages", async () => {
    const { status } = await startAdmin().get("/openapi.json", { origin: "https://evil.example.com" });
    assert.equal(status, 403);
  });
});

describe("a route's declaration", () => {
  const shape = v.strictObject({ size: v.number() });
  const declared = route({ id: "a", method: "put", path: "/a/:b", summary: "A", answers: { 200: shape } });

  it("may ask for another type of body, and answer by other statuses", () => {
    const streamed: Route = {
      ...declared,
      body: { shape: v.string(), maxBytes: 1_024, type: "application/x-ndjson" },
      answers: { 200: shape, 422: shape },
    };
    const { paths } = describeApi([streamed], "1") as unknown as Document;
    const operation = paths["/a/{b}"]?.put;
    assert.deepEqual(operation?.requestBody?.content, { "application/x-ndjson": { schema: { type: "string" } } });
    assert.ok(operation?.responses[422] && operation.responses[200]);
  });

  it("cannot give one name to two shapes", () => {
    const answers = { 200: v.strictObject({ one: named("X", v.string()), other: named("X", v.number()) }) };
    assert.throws(() => describeApi([{ ...declared, answers }], "1"), /two shapes have the name X/);
  });

  it("needs not name what reading a body can refuse with: all of that is known", () => {
    const http = fileURLToPath(new URL("../../src/http", import.meta.url));
    const text = readdirSync(http).map((name) => readFileSync(`${http}/${name}`, "utf8"));
    const codes = [...text.join("\n").matchAll(/\bfault\(\s*"(\w+)"/g)].map(([, code]) => code);
    assert.ok(codes.length > 5);
    assert.deepEqual(
      codes.filter((code) => !BODY_FAULTS.some((known) => known === code)),
      [],
    );
  });
});

function operationOf(wanted: string): Operation {
  const found = operations.find(({ name }) => name === wanted);
  return found?.operation ?? assert.fail(wanted);
}

function assertKeys(value: object, known: readonly string[]): void {
  assert.deepEqual(
    Object.keys(value).filter((key) => !known.includes(key)),
    [],
  );
}

/** Whatever looks like a schema, wherever it is. */
function schemasIn(value: unknown): readonly Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([key, inner]) => (key === "security" ? [] : schemasIn(inner)));
  const own = value as Record<string, unknown>;
  const isSchema = !Array.isArray(value) && (typeof own.type === "string" || Array.isArray(own.anyOf));
  // The security scheme has a type too, which is none of these.
  return isSchema && !("scheme" in own) ? [own, ...below] : below;
}

describe("the check that real answers are as the document says", () => {
  const ready: Exchange = {
    method: "GET",
    path: "/readyz",
    status: 200,
    type: "application/json",
    text: '{"status":"ready"}',
  };
  const refusal = { success: false, code: "store_full", message: "m", error: "m" };
  const refused: Exchange = { ...ready, status: 503, text: JSON.stringify(refusal) };
  const discarded: Exchange = {
    method: "POST",
    path: "/api/destinations/crm/discard",
    status: 200,
    type: "application/json",
    text: '{"success":true,"discarded":1,"more":false}',
    sent: '{"limit":1}',
  };
  const listed: Exchange = { ...ready, path: "/api/rejected?limit=5", text: '{"rejected":[]}' };

  it("lets pass what is so", async () => {
    for (const exchange of [ready, refused, discarded, listed]) await assertDocumented(exchange);
    await assertDocumented({ ...refused, path: "/nowhere", status: 404 });
  });

  const wrong: Readonly<Record<string, Exchange>> = {
    "a key that is unknown": { ...ready, text: '{"status":"ready","extra":1}' },
    "a key that is unknown, deep within": { ...refused, text: JSON.stringify({ ...refusal, extra: 1 }) },
    "a key that is missing": { ...ready, text: "{}" },
    "a value of another type": { ...discarded, text: '{"success":true,"discarded":"1","more":false}' },
    "another word": { ...ready, text: '{"status":"well"}' },
    "a code that the route does not name": { ...refused, text: JSON.stringify({ ...refusal, code: "store_gone" }) },
    "a code of another status": { ...refused, text: JSON.stringify({ ...refusal, code: "unauthorized" }) },
    "a status that the route does not name": { ...refused, status: 404 },
    "another Content-Type": { ...ready, type: "text/html" },
    "something else where nothing is": { ...ready, path: "/nowhere" },
    "a query that was taken, though the document forbids it": { ...listed, path: "/api/rejected?limit=500" },
    "a parameter that was taken, though the document has none": { ...listed, path: "/api/rejected?lines=5" },
    "a body that was taken, though the document forbids it": { ...discarded, sent: '{"limit":5000}' },
  };
  for (const [what, exchange] of Object.entries(wrong)) {
    it(`finds ${what}`, () => assert.rejects(assertDocumented(exchange), /is not as \/openapi\.json says/));
  }
});
