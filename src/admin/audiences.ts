import * as v from "valibot";
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
import { KB } from "../model/units.ts";
import { computation, sync, synced, toComputation, toSync } from "./answers/computation.ts";
import { about, success } from "./answers/fields.ts";
import { unknownName } from "./destinations.ts";
import { LIST_TYPES, LONGEST_USER, LONGEST_VALUE, readList, splitterFor, userOf } from "./lists.ts";
import { answer, readBody, readQuery, route } from "./route.ts";

/** Decompressed. */
const LARGEST_LIST = 2 * KB * KB * KB;
const MOST_USERS = 10_000;

const flag = v.optional(v.picklist(["0", "1"], "must be 0 or 1"), "0");
const user = v.union([
  v.pipe(v.string(), v.minLength(1), v.maxLength(LONGEST_USER)),
  v.pipe(v.number(), v.integer(), v.safeInteger()),
]);
const value = v.union([v.pipe(v.string(), v.maxLength(LONGEST_VALUE)), v.number(), v.boolean(), v.null()]);
const users = v.optional(v.pipe(v.array(user), v.maxLength(MOST_USERS, `may name ${MOST_USERS} users`)), []);

/** What a list looks like as a JSON array; in the other formats it is text. */
const LISTS = {
  audience: v.array(v.union([user, v.objectWithRest({ userId: user }, v.unknown())])),
  trait: v.array(v.union([v.tuple([user, value]), v.objectWithRest({ userId: user, value }, v.unknown())])),
} as const;

const FORMATS =
  "one JSON array, JSON lines, or CSV with a header (userId; of a trait userId and value), by its Content-Type";

const ABOUT_LIST = {
  audience: `The whole membership: ${FORMATS}. A call goes out for each user added or removed, the first time for all.`,
  trait: `Users and their values: ${FORMATS}. A call goes out for each user whose value is another one; null takes it away, and who is not in the list keeps theirs.`,
} as const;

const done = about("What was done, is being done, or on a dry run would be.", v.strictObject({ success, ...synced }));
const syncFaults = [
  "unknown_source",
  "source_disabled",
  "name_taken",
  "sync_running",
  "store_failed",
  "stopping",
] as const;

type Plural = "audiences" | "traits";

const WORDS = {
  audiences: { kind: "audience", title: "Audience", unknown: "unknown_audience", gone: "false" },
  traits: { kind: "trait", title: "Trait", unknown: "unknown_trait", gone: "null" },
} as const;

function pathOf<const P extends Plural>(plural: P) {
  return `/api/sources/:source/${plural}/:name` as const;
}

function paramsOf(plural: Plural) {
  return { source: "A source of the config.", name: `The ${WORDS[plural].kind}'s name.` };
}

/** The routes by which audiences, or traits, are looked at: the same under other paths. */
function readingRoutes<const P extends Plural>(plural: P) {
  const { kind, title, unknown } = WORDS[plural];
  const listed = v.strictObject({ [plural]: v.array(computation) });
  const syncs = about("The newest first, ten at most.", v.array(sync));
  return {
    all: route({
      ...{ id: `list${title}s`, method: "get", path: `/api/${plural}` as const },
      summary: `List the ${plural} of all sources, the newest first`,
      answers: { 200: about("By source and name.", listed) },
    }),
    ofSource: route({
      ...{ id: `list${title}sOfSource`, method: "get", path: `/api/sources/:source/${plural}` as const },
      summary: `List the ${plural} of a source, the newest first`,
      params: { source: paramsOf(plural).source },
      answers: { 200: about("By name.", listed) },
      faults: ["unknown_source"],
    }),
    one: route({
      ...{ id: `get${title}`, method: "get", path: pathOf(plural), params: paramsOf(plural) },
      summary: `Look at one ${kind}`,
      answers: { 200: about("What it is, and its last syncs.", v.strictObject({ [kind]: computation, syncs })) },
      faults: [unknown],
    }),
  };
}

/** Those by which they are changed. */
function changingRoutes<const P extends Plural>(plural: P) {
  const { kind, title, unknown, gone } = WORDS[plural];
  const otherTypes = LIST_TYPES.filter((type) => type !== "application/json").map((type) => [type, v.string()]);
  return {
    put: route({
      ...{ id: `sync${title}`, method: "put", path: pathOf(plural), params: paramsOf(plural) },
      summary: `Compare a list with the ${kind}, and send what changed`,
      description: ABOUT_LIST[kind],
      query: v.strictObject({
        dryRun: about("1: only counts.", flag),
        allowShrink: about("1: it may lose more than half of its users.", flag),
      }),
      body: { shape: LISTS[kind], maxBytes: LARGEST_LIST, also: Object.fromEntries(otherTypes) },
      answers: { 200: done },
      faults: [...syncFaults, "list_shrinks"],
    }),
    remove: route({
      ...{ id: `remove${title}`, method: "delete", path: pathOf(plural), params: paramsOf(plural) },
      summary: `Remove the ${kind}`,
      description: `A call goes out for each of its users: the trait is ${gone}.`,
      query: v.strictObject({ silent: about("1: no call goes out.", flag) }),
      answers: { 200: done },
      faults: [...syncFaults, unknown],
    }),
  };
}

export const audienceRoutes = { ...readingRoutes("audiences"), ...changingRoutes("audiences") };
export const traitRoutes = { ...readingRoutes("traits"), ...changingRoutes("traits") };

export const membersRoute = route({
  id: "changeMembers",
  method: "post",
  path: "/api/sources/:source/audiences/:name/members",
  params: { source: "A source of the config.", name: "An audience that there is." },
  summary: "Add users to an audience, and remove others",
  description: "A call goes out for each user of whom that is news.",
  body: {
    shape: v.strictObject({ add: users, remove: users }, "must be an object with add and remove"),
    maxBytes: KB * KB,
  },
  answers: { 200: about("What was done, or is being done.", v.strictObject({ success, ...synced })) },
  faults: [...syncFaults, "unknown_audience"],
});

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
export function getComputations(kind: ComputationClass, world: AudiencesWorld): Response {
  return answerList(kind, world.audiences.all(), world);
}

/** `GET /api/sources/:source/audiences`, `…/traits`. A source that is gone may have some still. */
export function getComputationsOf(source: string, kind: ComputationClass, world: AudiencesWorld): Response {
  const own = world.audiences.all().filter((one) => one.source === source);
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
export function getComputation(wanted: Wanted, { audiences, timeline }: AudiencesWorld): Response {
  const found = audiences.find(wanted);
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
