import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { respondFault } from "../http/respond.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { RequestDeletion } from "../model/ports.ts";
import { KB } from "../model/units.ts";
import { about, count, success } from "./answers/fields.ts";
import { readBody } from "./read.ts";
import { answer, route } from "./route.ts";

const MAX_BODY_BYTES = 500 * KB;
const MOST_USERS = 1_000;

const userIds = v.pipe(
  v.array(v.pipe(v.string(), v.minLength(1, "each must be a string that is not empty"))),
  v.minLength(1, "name at least one user"),
  v.maxLength(MOST_USERS, `name at most ${MOST_USERS} users in one request`),
);
const sources = v.pipe(v.array(v.string()), v.minLength(1, "name at least one source, or leave it out for all"));

export const deletionRoute = route({
  id: "deleteUsers",
  method: "post",
  path: "/api/deletions",
  summary: "Send delete notifications for users",
  description: "One for each user and source, to all that take events of it. Answered when they are durable.",
  body: { shape: v.strictObject({ userIds, sources: v.optional(sources) }), maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about(
      "How many notifications were set off, and from which sources.",
      v.strictObject({ success, notifications: count, sources: v.array(v.string()) }),
    ),
  },
  faults: ["unknown_source", "overloaded", "store_full", "store_failed"],
});

/** `POST /api/deletions {userIds, sources?}` (SPEC.md 6): answered when the notifications are durable. */
export async function postDeletion(
  request: Request,
  { bodies, requestDeletion }: { readonly bodies: Bodies; readonly requestDeletion: RequestDeletion },
): Promise<Response> {
  const read = await readBody(request, deletionRoute.body, bodies);
  if (isFault(read)) return respondFault(read.code === "invalid_request" ? withForm(read) : read);
  const { userIds, sources = null } = read.value;
  const receipt = await requestDeletion({ userIds, sources });
  return answer(deletionRoute, isFault(receipt) ? receipt : { success: true, ...receipt });
}

function withForm(refusal: Fault): Fault {
  return { ...refusal, message: `${refusal.message}; send {"userIds": ["…"], "sources": ["…"]}` };
}
