import * as v from "valibot";
import { respond, respondFault } from "../http/respond.ts";
import { FAULT_STATUS, type Fault, type FaultCode, fault } from "../model/fault.ts";
import type { Rejection, Rejections } from "../model/refusal.ts";
import { formatTime } from "../model/units.ts";

/** What one answer lists at most. */
export const MOST_LISTED = 100;
const LISTED_BY_DEFAULT = 20;

const LIMIT_RULE = `must be a whole number from 1 to ${MOST_LISTED}`;
const limit = v.pipe(
  v.string(),
  v.regex(/^\d{1,9}$/, LIMIT_RULE),
  v.transform(Number),
  v.minValue(1, LIMIT_RULE),
  v.maxValue(MOST_LISTED, LIMIT_RULE),
);
const wanted = v.strictObject(
  {
    limit: v.optional(limit, String(LISTED_BY_DEFAULT)),
    source: v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all"))),
    code: v.optional(
      v.picklist(Object.keys(FAULT_STATUS) as FaultCode[], "must be a code that calls are refused with"),
    ),
  },
  "is not known; there are limit, source and code",
);

type Wanted = v.InferOutput<typeof wanted>;

/** `GET /api/rejected?limit=&source=&code=`: the last calls that were refused, the newest first. */
export function getRejected(query: Readonly<Record<string, string>>, rejections: Rejections): Response {
  const result = v.safeParse(wanted, query, { abortEarly: true });
  if (!result.success) return respondFault(invalid(result.issues[0]));
  return respond(200, { rejected: find(result.output, rejections).map(describeRejection) });
}

function invalid(issue: v.BaseIssue<unknown>): Fault {
  const [item] = issue.path ?? [];
  const got = item?.origin === "value" ? ` (got ${JSON.stringify(String(item.value).slice(0, 100))})` : "";
  return fault("invalid_request", `${String(item?.key).slice(0, 100)} ${issue.message}${got}`);
}

/** What is wanted may lie behind much that is not, so that all of them are looked at: they are few. */
function find({ limit, source, code }: Wanted, rejections: Rejections): readonly Rejection[] {
  return rejections
    .newest(Number.POSITIVE_INFINITY)
    .filter((one) => source === undefined || one.source === source)
    .filter((one) => code === undefined || one.fault.code === code)
    .slice(0, limit);
}

export function describeRejection(rejection: Rejection): object {
  const { at, source, type, messageId, fault: refusal, count = 1, from, request, sample } = rejection;
  const { code, message } = refusal;
  const { address, userAgent, origin } = from;
  const sender = { address, userAgent, origin };
  return { at: formatTime(at), source, type, messageId, code, message, count, from: sender, request, sample };
}
