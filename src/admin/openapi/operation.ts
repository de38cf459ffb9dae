import * as v from "valibot";
import { formatSize } from "../../model/units.ts";
import { isOpen } from "../access.ts";
import type { Body, Route } from "../route.ts";
import { refusalsOf } from "./refusals.ts";
import { isOptional, type Json, type Shapes } from "./shapes.ts";

const JSON_TYPE = "application/json";

/** A route as OpenAPI describes an operation. */
export function describeOperation(route: Route, shapes: Shapes): Json {
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
    ...{ name, in: "path", required: true, description, schema: { type: "string" } },
  }));
}

function queryParameters({ query }: Route, shapes: Shapes): readonly Json[] {
  return Object.entries(query?.entries ?? {}).map(([name, entry]) => {
    const { description, default: written, ...schema } = shapes.output(entry);
    return {
      ...{ name, in: "query", required: !isOptional(entry) },
      ...(description !== undefined && { description }),
      // As it is read: in a query all is text.
      schema: written === undefined ? schema : { ...schema, default: v.parse(entry, undefined) },
    };
  });
}

/** What is sent to a POST that wants nothing: web pages cannot send JSON unasked. */
const NOTHING = {
  description: "Nothing of it is read, but its Content-Type has to be this one: send `{}`.",
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
