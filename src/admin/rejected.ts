import * as v from "valibot";
import { respondFault } from "../http/respond.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Rejection, Rejections } from "../model/refusal.ts";
import type { Source } from "../model/source.ts";
import { formatTime } from "../model/units.ts";
import { about } from "./answers/fields.ts";
import { CODES, rejection } from "./answers/rejection.ts";
import { unknownName } from "./destinations.ts";
import { answer, type Like, limitQuery, readQuery, route } from "./route.ts";

/** What one answer lists at most. */
export const MOST_LISTED = 100;

const wanted = v.strictObject(
  {
    limit: limitQuery({ most: MOST_LISTED, byDefault: 20 }),
    source: v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all"))),
    code: v.optional(v.picklist(CODES, "must be a code that calls are refused with")),
  },
  "is not known; there are limit, source and code",
);

export const rejectedRoute = route({
  id: "listRejected",
  method: "get",
  path: "/api/rejected",
  summary: "List the last calls that were refused, the newest first",
  query: wanted,
  answers: { 200: about("Those that are wanted.", v.strictObject({ rejected: v.array(rejection) })) },
  faults: ["unknown_source"],
});

export type RejectedWorld = {
  readonly rejections: Rejections;
  /** As the config in force has them. */
  readonly sources: () => readonly Pick<Source, "name">[];
};

type Wanted = v.InferOutput<typeof wanted>;

/** `GET /api/rejected?limit=&source=&code=`: the last calls that were refused, the newest first. */
export function getRejected(query: Readonly<Record<string, string>>, world: RejectedWorld): Response {
  const read = readQuery(rejectedRoute.query, query);
  if (isFault(read)) return respondFault(read);
  const refusal = refuseSource(read.value.source, world);
  if (refusal) return respondFault(refusal);
  return answer(rejectedRoute, { rejected: find(read.value, world.rejections).map(describeRejection) });
}

/** One that is removed is known as long as a refusal of it is remembered. */
function refuseSource(wanted: string | undefined, { rejections, sources }: RejectedWorld): Fault | null {
  const known = sources().map(({ name }) => name);
  if (wanted === undefined || known.includes(wanted)) return null;
  const isRemembered = rejections.newest(Number.POSITIVE_INFINITY).some(({ source }) => source === wanted);
  return isRemembered ? null : unknownName("unknown_source", wanted, known);
}

/** What is wanted may lie behind much that is not, so that all of them are looked at: they are few. */
function find({ limit, source, code }: Wanted, rejections: Rejections): readonly Rejection[] {
  return rejections
    .newest(Number.POSITIVE_INFINITY)
    .filter((one) => source === undefined || one.source === source)
    .filter((one) => code === undefined || one.fault.code === code)
    .slice(0, limit);
}

export function describeRejection(one: Rejection): Like<typeof rejection> {
  const { at, source, type, messageId, fault: refusal, count = 1, from, request, sample } = one;
  const { code, message } = refusal;
  const { address, userAgent, origin } = from;
  const sender = { address, userAgent, origin };
  return { at: formatTime(at), source, type, messageId, code, message, count, from: sender, request, sample };
}
