import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { respondFault } from "../http/respond.ts";
import type { Deletion, Receipt, StoredDeletions } from "../model/deletion.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { RequestDeletion } from "../model/ports.ts";
import { formatTime, KB } from "../model/units.ts";
import { deletion, deletionEntries, deletionStatus, receipt } from "./answers/deletion.ts";
import { about, count, success, text, timeOf } from "./answers/fields.ts";
import { answer, type Like, limitQuery, readBody, readQuery, route } from "./route.ts";

const MAX_BODY_BYTES = 500 * KB;
const MOST_USERS = 1_000;
/** What one answer lists at most. */
const MOST_LISTED = 1_000;

const userIds = v.pipe(
  v.array(v.pipe(v.string(), v.minLength(1, "each must be a string that is not empty"))),
  v.minLength(1, "name at least one user"),
  v.maxLength(MOST_USERS, `name at most ${MOST_USERS} users in one request`),
);
const sources = v.pipe(v.array(v.string()), v.minLength(1, "name at least one source, or leave it out for all"));
const flag = v.optional(v.boolean("must be true or false"), false);

export const deletionRoute = route({
  id: "deleteUsers",
  method: "post",
  path: "/api/deletions",
  summary: "Delete users: notify all that take their events",
  description:
    "A delete notification for each user and source, to all that take events of it. What waits of these users does not go " +
    "out any more. Answered when the request is durable; it is kept, and `GET /api/deletions/{id}` says how far it is.",
  body: {
    shape: v.strictObject({
      userIds,
      sources: about("All, if left out.", v.optional(sources)),
      erase: about("Removes what Fairlead itself has of them, once the notifications have gone out.", flag),
      suppress: about("Refuses their later calls from these sources, until that is taken back.", flag),
    }),
    maxBytes: MAX_BODY_BYTES,
  },
  answers: {
    200: about(
      "How many notifications are set off, and from which sources.",
      v.strictObject({
        success,
        id: v.string(),
        status: deletionStatus,
        notifications: count,
        sources: v.array(v.string()),
        untold: deletionEntries.untold,
      }),
    ),
  },
  faults: ["unknown_source", "store_full", "store_failed"],
});

export const deletionsRoute = route({
  id: "listDeletions",
  method: "get",
  path: "/api/deletions",
  summary: "List deletion requests, the newest first",
  query: v.strictObject(
    {
      limit: limitQuery({ most: MOST_LISTED, byDefault: 20 }),
      cursor: about(
        "Of an answer to the same question.",
        v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty"))),
      ),
      user: about(
        "Those of this userId, erased or not.",
        v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all"))),
      ),
    },
    "is not known; there are limit, cursor and user",
  ),
  answers: {
    200: about(
      "A page. `cursor` leads to the next one, and is null after the last.",
      v.strictObject({ deletions: v.array(deletion), cursor: text }),
    ),
  },
});

export const receiptRoute = route({
  id: "getDeletion",
  method: "get",
  path: "/api/deletions/:id",
  summary: "Tell all there is to know of a deletion request",
  params: { id: "As it was answered when the request was made." },
  answers: { 200: about("The request, with its users.", receipt) },
  faults: ["unknown_deletion"],
});

export const saltRoute = route({
  id: "getSalt",
  method: "get",
  path: "/api/deletions/salt",
  summary: "Tell the salt of the hashes in receipts",
  description: "For comparing them by hand; `GET /api/deletions?user=` finds the requests of a user without it.",
  answers: { 200: about("The same for as long as the outbox lives.", v.strictObject({ salt: v.string() })) },
});

export type DeletionsWorld = {
  readonly bodies: Bodies;
  readonly requestDeletion: RequestDeletion;
  readonly deletions: StoredDeletions;
  readonly wakeDeletion: () => void;
};

/** `POST /api/deletions {userIds, sources?, erase?, suppress?}` (SPEC.md 6): answered when the request is durable. */
export async function postDeletion(request: Request, { bodies, requestDeletion }: DeletionsWorld): Promise<Response> {
  const read = await readBody(request, deletionRoute.body, bodies);
  if (isFault(read)) return respondFault(read.code === "invalid_request" ? withForm(read) : read);
  const { sources = null, ...wishes } = read.value;
  const said = await requestDeletion({ ...wishes, sources });
  return answer(deletionRoute, isFault(said) ? said : { success: true, ...said });
}

function withForm(refusal: Fault): Fault {
  return { ...refusal, message: `${refusal.message}; send {"userIds": ["…"], "sources": ["…"]}` };
}

/** `GET /api/deletions?limit=&cursor=&user=`: the requests that were made, the newest first. */
export function getDeletions(given: Readonly<Record<string, string>>, { deletions }: DeletionsWorld): Response {
  const read = readQuery(deletionsRoute.query, given);
  if (isFault(read)) return respondFault(read);
  const { limit, cursor = null, user = null } = read.value;
  const page = deletions.page({ limit, cursor, user });
  return answer(deletionsRoute, { deletions: page.deletions.map(describe), cursor: page.cursor });
}

/** `GET /api/deletions/:id`: one of them, and who its users are, or by which hash they can be recognised. */
export function getDeletion(id: string, { deletions }: DeletionsWorld): Response {
  const found = deletions.receipt(id);
  return answer(receiptRoute, found === null ? unknownDeletion(id) : describeReceipt(found));
}

/** `GET /api/deletions/salt`: apart from the hashes, so that whoever is shown a receipt cannot try ids. */
export function getSalt({ deletions }: DeletionsWorld): Response {
  return answer(saltRoute, { salt: deletions.salt });
}

function unknownDeletion(id: string): Fault {
  return fault(
    "unknown_deletion",
    `there is no deletion ${JSON.stringify(id.slice(0, 100))}; fairlead deletions lists them`,
  );
}

function describe(one: Deletion): Like<typeof deletion> {
  const { id, status, stage, requestedAt, endedAt, users, scope, sources, untold, ...others } = one;
  const { erase, suppress, notices, erased } = others;
  const times = { requestedAt: formatTime(requestedAt), endedAt: timeOf(endedAt) };
  return { id, status, stage, ...times, users, scope, sources, untold, erase, suppress, notices, erased };
}

function describeReceipt({ people, ...one }: Receipt): Like<typeof receipt> {
  return {
    ...describe(one),
    people: people.map(({ userId, hash, suppressed }) => ({ userId, hash, suppressed })),
  };
}

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
  const found = deletions.receipt(id);
  if (found === null) return respondFault(unknownDeletion(id));
  if (!found.erase) return respondFault(fault("invalid_request", NOT_ERASING));
  const forced = await deletions.force(id);
  if (isFault(forced)) return respondFault(forced);
  wakeDeletion();
  return answer(eraseRoute, { success: true, deletion: describe(forced) });
}

const NOT_ERASING = "this request was made without erase; make another one for its users that has it";
