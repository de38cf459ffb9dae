import type { Bodies } from "../http/body.ts";
import { respondFault } from "../http/respond.ts";
import type { Streams } from "../http/stream.ts";
import {
  type Audiences,
  type Computation,
  type ComputationClass,
  LONGEST_NAME,
  type Member,
  type Synced,
  type Wanted,
} from "../model/audience.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Source } from "../model/source.ts";
import type { Timeline } from "../model/timeline.ts";
import { toComputation, toSync } from "./answers/computation.ts";
import { audienceRoutes, LARGEST_LIST, membersRoute, traitRoutes } from "./computation-routes.ts";
import { userOf } from "./lists/member.ts";
import { readList, splitterFor } from "./lists/read-list.ts";
import { readBody, readQuery } from "./read.ts";
import { answer } from "./route.ts";
import { unknownName } from "./unserved.ts";

export type AudiencesWorld = {
  readonly sources: () => readonly Source[];
  readonly audiences: Audiences;
  readonly timeline: Timeline;
  readonly bodies: Bodies;
  readonly streams: Streams;
};

const ROUTES = { audience: audienceRoutes, trait: traitRoutes } as const;
const PLURAL = { audience: "audiences", trait: "traits" } as const;

/** `GET /api/audiences`, `GET /api/traits`: those of all sources. */
export async function getComputations(kind: ComputationClass, world: AudiencesWorld): Promise<Response> {
  return answerList(kind, await world.audiences.all(), world);
}

/** `GET /api/sources/:source/audiences`, `…/traits`. A source that is gone may have some still. */
export async function getComputationsOf(
  source: string,
  kind: ComputationClass,
  world: AudiencesWorld,
): Promise<Response> {
  const own = (await world.audiences.all()).filter((one) => one.source === source);
  if (own.length > 0 || world.sources().some(({ name }) => name === source)) return answerList(kind, own, world);
  return respondFault(
    unknownName(
      "unknown_source",
      source,
      world.sources().map(({ name }) => name),
    ),
  );
}

function answerList(kind: ComputationClass, all: readonly Computation[], { timeline }: AudiencesWorld): Response {
  const listed = all
    .filter((one) => one.class === kind)
    .sort(newestFirst)
    .map((one) => toComputation(one, timeline));
  return answer(ROUTES[kind].all, { [PLURAL[kind]]: listed });
}

/** Of one moment, the one that was made last. */
function newestFirst(one: Computation, other: Computation): number {
  return other.createdAt - one.createdAt || other.number - one.number;
}

/** `GET /api/sources/:source/audiences/:name`, `…/traits/:name`. */
export async function getComputation(wanted: Wanted, { audiences, timeline }: AudiencesWorld): Promise<Response> {
  const found = await audiences.find(wanted);
  if (!found) return respondFault(unknown(wanted));
  const syncs = found.syncs.map((one) => toSync(one, timeline));
  return answer(ROUTES[wanted.class].one, { [wanted.class]: toComputation(found, timeline), syncs });
}

function unknown({ class: kind, name, source }: Wanted): Fault {
  const code = kind === "audience" ? "unknown_audience" : "unknown_trait";
  return fault(code, `source ${source.slice(0, 100)} has no ${kind} ${JSON.stringify(name.slice(0, 100))}`);
}

/**
 * `PUT /api/sources/:source/audiences/:name?dryRun&allowShrink`, `…/traits/:name`: takes a list as a stream. Answered when all
 * that it changes is written down, or a moment later, if that is enough to send it.
 */
export async function putList(request: Request, wanted: Wanted, world: AudiencesWorld): Promise<Response> {
  const { query } = ROUTES[wanted.class].put;
  const asked = readQuery(query, queryOf(request));
  if (isFault(asked)) return respondFault(asked);
  const splitter = splitterFor(request.headers.get("content-type"));
  const refusal = refuseName(wanted);
  if (refusal) return respondFault(refusal);
  if (isFault(splitter)) return respondFault(splitter);
  const options = { dryRun: asked.value.dryRun === "1", allowShrink: asked.value.allowShrink === "1" };
  const rows = readList(world.streams.read(request, LARGEST_LIST), splitter, wanted.class);
  return answerSynced(wanted, await world.audiences.list(wanted, rows, options), world);
}

function queryOf({ url }: Request): Record<string, string> {
  return Object.fromEntries(new URL(url).searchParams);
}

function refuseName({ class: kind, name }: Wanted): Fault | null {
  if (name.length <= LONGEST_NAME && name.isWellFormed()) return null;
  return fault("invalid_request", `the name of the ${kind} must be of at most ${LONGEST_NAME} characters of Unicode`);
}

/** `DELETE /api/sources/:source/audiences/:name?silent`, `…/traits/:name`. */
export async function deleteComputation(request: Request, wanted: Wanted, world: AudiencesWorld): Promise<Response> {
  const asked = readQuery(ROUTES[wanted.class].remove.query, queryOf(request));
  if (isFault(asked)) return respondFault(asked);
  return answerSynced(wanted, await world.audiences.remove(wanted, { silent: asked.value.silent === "1" }), world);
}

/** `POST /api/sources/:source/audiences/:name/members {add?, remove?}`. */
export async function postMembers(request: Request, wanted: Wanted, world: AudiencesWorld): Promise<Response> {
  const read = await readBody(request, membersRoute.body, world.bodies);
  if (isFault(read)) return respondFault(read);
  const members = membersOf(read.value.add, read.value.remove);
  return answerSynced(wanted, isFault(members) ? members : await world.audiences.change(wanted, members), world);
}

type Users = readonly (string | number)[];

function membersOf(add: Users, remove: Users): readonly Member[] | Fault {
  const members = new Map<string, Member>();
  for (const [key, users, value] of [["add", add, true] as const, ["remove", remove, null] as const]) {
    for (const [index, given] of users.entries()) {
      const user = userOf(given, `${key}[${index}]`);
      if (typeof user !== "string") return user;
      const other = members.get(user);
      if (other && other.value !== value) return fault("invalid_request", `${key}[${index}] is in add as well`);
      members.set(user, { user, value });
    }
  }
  return [...members.values()];
}

function answerSynced({ class: kind }: Wanted, synced: Synced | Fault, { timeline }: AudiencesWorld): Response {
  if (isFault(synced)) return respondFault(synced);
  const { key, size, added, changed, removed, sync } = synced;
  const said = { success: true, key, size, added, changed, removed, sync: sync && toSync(sync, timeline) } as const;
  return answer(ROUTES[kind].put, said);
}
