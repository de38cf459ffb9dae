import * as v from "valibot";
import type { Deletion } from "../model/deletion.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import { formatTime, KB } from "../model/units.ts";
import {
  type deletion,
  deletionList,
  deletionReceipt,
  deletionRequested,
  erasing,
  MOST_USERS,
  salt,
  unsuppressed,
} from "../wire/deletions.ts";
import { type Answer, about, MOST_LISTED } from "../wire/fields.ts";
import { type Answered, type Asked, limitQuery, route, type Serve, textQuery, timeOf } from "./route.ts";
import type { AdminWorld } from "./world.ts";

export function serveDeletions(serve: Serve, world: AdminWorld): void {
  serve(deletionRoute, ({ body }) => postDeletion(body, world));
  serve(deletionsRoute, ({ query }) => getDeletions(query, world));
  serve(saltRoute, async () => ({ salt: await world.deletions.salt() }));
  serve(receiptRoute, ({ params }) => getDeletion(params.id, world));
  serve(unsuppressRoute, ({ body }) => postUnsuppress(body, world));
  serve(eraseRoute, ({ params }) => postErase(params.id, world));
}

const MAX_BODY_BYTES = 500 * KB;

const userIds = v.pipe(
  v.array(v.pipe(v.string(), v.minLength(1, "each must be a string that is not empty"))),
  v.minLength(1, "name at least one user"),
  v.maxLength(MOST_USERS, `name at most ${MOST_USERS} users in one request`),
);
const sources = v.pipe(v.array(v.string()), v.minLength(1, "name at least one source, or leave it out for all"));
const flag = v.optional(v.boolean("must be true or false"), false);

const deletionRoute = route({
  id: "deleteUsers",
  method: "post",
  path: "/api/deletions",
  summary: "Delete users, and notify every destination that gets their events",
  description:
    "Sends a delete notification for each user and source to each destination that gets events of the source. Waiting deliveries about these users " +
    "are not sent. Answered when the request is durable; `GET /api/deletions/{id}` reports its progress.",
  body: {
    shape: v.strictObject({
      userIds,
      sources: about("All, if left out.", v.optional(sources)),
      erase: about("Also removes their data from Fairlead, after the notifications have been sent.", flag),
      suppress: about("Refuses later calls about them from these sources, until they are unsuppressed.", flag),
    }),
    maxBytes: MAX_BODY_BYTES,
    example: '{"userIds": ["…"], "sources": ["…"]}',
  },
  answers: { 200: deletionRequested },
  faults: ["unknown_source", "store_full", "store_failed"],
});

const deletionsRoute = route({
  id: "listDeletions",
  method: "get",
  path: "/api/deletions",
  summary: "List deletion requests, the newest first",
  query: v.strictObject(
    {
      limit: limitQuery({ most: MOST_LISTED.deletions, byDefault: 20 }),
      cursor: about("The cursor of the previous page.", textQuery),
      user: about("Only requests for this userId, erased or not.", textQuery),
    },
    "is unknown; known are limit, cursor and user",
  ),
  answers: { 200: deletionList },
});

const receiptRoute = route({
  id: "getDeletion",
  method: "get",
  path: "/api/deletions/:id",
  summary: "Show a deletion request in full",
  params: { id: "The id from the answer to the request." },
  answers: { 200: deletionReceipt },
  faults: ["unknown_deletion"],
});

/** The salt is not part of a receipt: someone who is shown a receipt could otherwise try userIds. */
const saltRoute = route({
  id: "getSalt",
  method: "get",
  path: "/api/deletions/salt",
  summary: "Show the salt of the hashes in receipts",
  description: "For comparing them by hand; `GET /api/deletions?user=` finds the requests of a user without it.",
  full: true,
  answers: { 200: salt },
});

const unsuppressRoute = route({
  id: "unsuppressUsers",
  method: "post",
  path: "/api/deletions/unsuppress",
  summary: "Accept calls of deleted users again",
  body: { shape: v.strictObject({ userIds }), maxBytes: MAX_BODY_BYTES },
  answers: { 200: unsuppressed },
  faults: ["store_failed"],
});

const eraseRoute = route({
  id: "eraseDeletion",
  method: "post",
  path: "/api/deletions/:id/erase",
  summary: "Erase the users of a request although a notification failed",
  description: "It waits for notifications that are still being sent. The failed one is erased, too.",
  params: { id: "Of a request with `erase`." },
  answers: { 200: erasing },
  faults: ["unknown_deletion", "invalid_request", "store_failed"],
});

/** `POST /api/deletions` (SPEC.md 6): answered when the request is durable. */
async function postDeletion(
  { sources, ...wishes }: Asked<typeof deletionRoute>["body"],
  { requestDeletion }: AdminWorld,
): Promise<Answered<typeof deletionRoute>> {
  const requested = await requestDeletion({ ...wishes, sources: sources ?? null });
  return isFault(requested) ? requested : { success: true, ...requested };
}

/** `GET /api/deletions`: all requests, newest first. */
async function getDeletions(
  { limit, cursor, user }: Asked<typeof deletionsRoute>["query"],
  { deletions }: AdminWorld,
): Promise<Answered<typeof deletionsRoute>> {
  const page = await deletions.page({ limit, cursor: cursor ?? null, user: user ?? null });
  return { deletions: page.deletions.map(describe), cursor: page.cursor };
}

/** `GET /api/deletions/:id`: one request with its users, or the hashes by which they can be recognised. */
async function getDeletion(id: string, { deletions }: AdminWorld): Promise<Answered<typeof receiptRoute>> {
  const found = await deletions.receipt(id);
  if (found === null) return unknownDeletion(id);
  const people = found.people.map(({ userId, hash, suppressed }) => ({ userId, hash, suppressed }));
  return { ...describe(found), people };
}

/** `POST /api/deletions/unsuppress`: answers how many of the users were suppressed. */
async function postUnsuppress(
  { userIds }: Asked<typeof unsuppressRoute>["body"],
  { deletions }: AdminWorld,
): Promise<Answered<typeof unsuppressRoute>> {
  const lifted = await deletions.suppressed.lift(userIds);
  return typeof lifted === "number" ? { success: true, unsuppressed: lifted } : lifted;
}

/** `POST /api/deletions/:id/erase`: erases without waiting for the replay of a notification that was given up. */
async function postErase(id: string, { deletions, wakeDeletion }: AdminWorld): Promise<Answered<typeof eraseRoute>> {
  const found = await deletions.receipt(id);
  if (found === null) return unknownDeletion(id);
  if (!found.erase) return fault("invalid_request", NOT_ERASING);
  const forced = await deletions.force(id);
  if (isFault(forced)) return forced;
  wakeDeletion();
  return { success: true, deletion: describe(forced) };
}

const NOT_ERASING = "this request was made without erase; make another one with erase for the same users";

function unknownDeletion(id: string): Fault {
  return fault(
    "unknown_deletion",
    `there is no deletion ${JSON.stringify(id.slice(0, 100))}; fairlead deletions lists them`,
  );
}

function describe(one: Deletion): Answer<typeof deletion> {
  return {
    id: one.id,
    status: one.status,
    stage: one.stage,
    requestedAt: formatTime(one.requestedAt),
    endedAt: timeOf(one.endedAt),
    users: one.users,
    scope: one.scope,
    sources: one.sources,
    untold: one.untold,
    erase: one.erase,
    suppress: one.suppress,
    notices: one.notices,
    erased: one.erased,
  };
}
