import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { respond, respondFault } from "../http/respond.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { RequestDeletion } from "../model/ports.ts";
import { KB } from "../model/units.ts";

const MAX_BODY_BYTES = 500 * KB;
const MOST_USERS = 1_000;

const userIds = v.pipe(
  v.array(v.pipe(v.string(), v.minLength(1, "each must be a string that is not empty"))),
  v.minLength(1, "name at least one user"),
  v.maxLength(MOST_USERS, `name at most ${MOST_USERS} users in one request`),
);
const sources = v.pipe(v.array(v.string()), v.minLength(1, "name at least one source, or leave it out for all"));
const deletionRequest = v.strictObject({ userIds, sources: v.optional(sources) });

/** `POST /api/deletions {userIds, sources?}` (SPEC.md 6): answered when the notifications are durable. */
export async function postDeletion(
  request: Request,
  { bodies, requestDeletion }: { readonly bodies: Bodies; readonly requestDeletion: RequestDeletion },
): Promise<Response> {
  const text = await bodies.read(request, MAX_BODY_BYTES);
  if (typeof text !== "string") return respondFault(text);
  const parsed = parseJson(text);
  if (isFault(parsed)) return respondFault(parsed);
  const result = v.safeParse(deletionRequest, parsed.value, { abortEarly: true });
  if (!result.success) return respondFault(invalid(result.issues[0]));
  const receipt = await requestDeletion({ userIds: result.output.userIds, sources: result.output.sources ?? null });
  return isFault(receipt) ? respondFault(receipt) : respond(200, { success: true, ...receipt });
}

function invalid(issue: v.BaseIssue<unknown>): Fault {
  const path = v.getDotPath(issue) ?? "the body";
  return fault("invalid_request", `${path}: ${issue.message}; send {"userIds": ["…"], "sources": ["…"]}`);
}
