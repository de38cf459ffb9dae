import * as v from "valibot";
import type { Fault } from "../model/fault.ts";
import type { Rejection } from "../model/refusal.ts";
import { formatTime } from "../model/units.ts";
import { type rejection, rejectionList } from "../wire/deliveries.ts";
import { type Answer, CODES, MOST_LISTED } from "../wire/fields.ts";
import { unknownName } from "./destinations.ts";
import { type Answered, type Asked, limitQuery, route, type Serve, textQuery } from "./route.ts";
import type { AdminWorld } from "./world.ts";

/** Recently refused calls. */
export function serveRejected(serve: Serve, world: AdminWorld): void {
  serve(rejectedRoute, ({ query }) => getRejected(query, world));
}

const rejectedRoute = route({
  id: "listRejected",
  method: "get",
  path: "/api/rejected",
  summary: "List the last calls that were refused, the newest first",
  query: v.strictObject(
    {
      limit: limitQuery({ most: MOST_LISTED.rejected, byDefault: 20 }),
      source: textQuery,
      code: v.optional(v.picklist(CODES, "must be a code of a refused call")),
    },
    "is unknown; known are limit, source and code",
  ),
  answers: { 200: rejectionList },
  faults: ["unknown_source"],
});

/** `GET /api/rejected?limit=&source=&code=`: recently refused calls, newest first. */
function getRejected(
  { limit, source, code }: Asked<typeof rejectedRoute>["query"],
  { rejections, sources }: Pick<AdminWorld, "rejections" | "sources">,
): Answered<typeof rejectedRoute> {
  const all = rejections.newest(Number.POSITIVE_INFINITY);
  const refusal = refuseSource(source, all);
  if (refusal) return refusal;
  const found = all
    .filter((one) => source === undefined || one.source === source)
    .filter((one) => code === undefined || one.fault.code === code);
  return { rejected: found.slice(0, limit).map(describeRejection) };

  /** A removed source is known as long as one of its refusals is remembered. */
  function refuseSource(name: string | undefined, remembered: readonly Rejection[]): Fault | null {
    const known = sources().map((one) => one.name);
    if (name === undefined || known.includes(name) || remembered.some((one) => one.source === name)) return null;
    return unknownName("unknown_source", name, known);
  }
}

export function describeRejection(one: Rejection): Answer<typeof rejection> {
  const { at, source, type, messageId, fault: refusal, count = 1, from, request, sample } = one;
  const { code, message } = refusal;
  const { address, userAgent, origin } = from;
  const sender = { address, userAgent, origin };
  return { at: formatTime(at), source, type, messageId, code, message, count, from: sender, request, sample };
}
