import * as v from "valibot";
import { respondFault } from "../http/respond.ts";
import { fault, isFault } from "../model/fault.ts";
import { deletion } from "./answers/deletion.ts";
import { about, count, success } from "./answers/fields.ts";
import { type DeletionsWorld, describe, MAX_BODY_BYTES, unknownDeletion, userIds } from "./deletions.ts";
import { readBody } from "./read.ts";
import { answer, route } from "./route.ts";

export const unsuppressRoute = route({
  id: "unsuppressUsers",
  method: "post",
  path: "/api/deletions/unsuppress",
  summary: "Take calls of deleted users again",
  body: { shape: v.strictObject({ userIds }), maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about(
      "How many of them were suppressed, from whichever source; none is now.",
      v.strictObject({ success, unsuppressed: count }),
    ),
  },
  faults: ["store_failed"],
});

export const eraseRoute = route({
  id: "eraseDeletion",
  method: "post",
  path: "/api/deletions/:id/erase",
  summary: "Erase the users of a request although a notification was given up",
  description: "Those that are on their way still are waited for. The one that was given up goes, too.",
  params: { id: "Of a request with `erase`." },
  answers: { 200: about("The request as it stands.", v.strictObject({ success, deletion })) },
  faults: ["unknown_deletion", "invalid_request", "store_failed"],
});

/** `POST /api/deletions/unsuppress {userIds}`: their calls are taken again. Answers how many of them were suppressed. */
export async function postUnsuppress(request: Request, { bodies, deletions }: DeletionsWorld): Promise<Response> {
  const read = await readBody(request, unsuppressRoute.body, bodies);
  if (isFault(read)) return respondFault(read);
  const lifted = await deletions.suppressed.lift(read.value.userIds);
  return answer(unsuppressRoute, typeof lifted === "number" ? { success: true, unsuppressed: lifted } : lifted);
}

/** `POST /api/deletions/:id/erase`: it need not wait for a notification that was given up to be replayed. */
export async function postErase(id: string, { deletions, wakeDeletion }: DeletionsWorld): Promise<Response> {
  const found = await deletions.receipt(id);
  if (found === null) return respondFault(unknownDeletion(id));
  if (!found.erase) return respondFault(fault("invalid_request", NOT_ERASING));
  const forced = await deletions.force(id);
  if (isFault(forced)) return respondFault(forced);
  wakeDeletion();
  return answer(eraseRoute, { success: true, deletion: describe(forced) });
}

const NOT_ERASING = "this request was made without erase; make another one for its users that has it";
