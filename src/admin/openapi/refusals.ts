import * as v from "valibot";
import { FAULT_STATUS, type FaultCode } from "../../model/fault.ts";
import { isOpen } from "../access.ts";
import { about, named } from "../answers/fields.ts";
import { CODES } from "../answers/rejection.ts";
import { BODY_FAULTS } from "../read.ts";
import type { Route } from "../route.ts";
import type { Json, Shapes } from "./shapes.ts";

/** How each refusal looks. */
const refusal = named(
  "Fault",
  v.strictObject({
    success: v.literal(false),
    code: about("Stable: programs may go by it.", v.picklist(CODES)),
    message: about("What could not be done, why, and what to do. Its words may change.", v.string()),
    error: about("The same as `message`.", v.string()),
  }),
);

/** The statuses with which trying again may help, and that can say when. */
const RETRIED: readonly number[] = [409, 429, 503];

/** The refusals of a route as OpenAPI describes responses, by status, each with the codes that it can have. */
export function refusalsOf(route: Route, shapes: Shapes): Json {
  const fault = shapes.output(refusal);
  const byStatus = Map.groupBy(codesOf(route), (code) => FAULT_STATUS[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, { ...describe(codes, fault), ...headersOf(status) }]),
  );
}

function codesOf({ method, path, query, body, faults = [] }: Route): readonly FaultCode[] {
  const all: readonly FaultCode[] = [
    ...(isOpen(path) ? [] : (["unauthorized"] as const)),
    ...(["forbidden_origin", "forbidden_host"] as const),
    ...(method === "post" ? (["unsupported_media_type"] as const) : []),
    ...(query ? (["invalid_request"] as const) : []),
    ...(body ? BODY_FAULTS : []),
    ...faults,
    // Whatever writes to the outbox meets either.
    ...(faults.includes("store_failed") ? (["outbox_gone"] as const) : []),
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
