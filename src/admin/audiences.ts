import * as v from "valibot";
import {
  type Computation,
  type ComputationClass,
  LONGEST_NAME,
  type Member,
  type Sync,
  type Synced,
  type Wanted,
} from "../model/audience.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Timeline } from "../model/timeline.ts";
import { KB } from "../model/units.ts";
import { type computation, computationDetail, computationList, type sync, synced } from "../wire/computations.ts";
import { type Answer, about } from "../wire/fields.ts";
import { unknownName } from "./destinations.ts";
import { LIST_TYPES, LONGEST_USER, LONGEST_VALUE, readList, splitterFor, userOf } from "./lists.ts";
import { type Asked, route, type Serve, wallTime, wallTimeOf } from "./route.ts";
import type { AdminWorld } from "./world.ts";

/** Audiences and traits. */
export function serveAudiences(serve: Serve, world: AdminWorld): void {
  for (const [kind, routes] of [["audience", audienceRoutes] as const, ["trait", traitRoutes] as const]) {
    serve(routes.all, () => getComputations(kind, world));
    serve(routes.ofSource, ({ params }) => getComputationsOf(params.source, kind, world));
    serve(routes.one, ({ params }) => getComputation({ ...params, class: kind }, world));
    serve(routes.put, ({ request, params, query }) => putList(request, { ...params, ...query, class: kind }, world));
    serve(routes.remove, ({ params, query }) => deleteComputation({ ...params, ...query, class: kind }, world));
  }
  serve(membersRoute, ({ params, body }) => postMembers({ ...params, class: "audience" }, body, world));
}

/** Decompressed. */
const LARGEST_LIST = 2 * KB * KB * KB;
const MOST_USERS = 10_000;

const flag = v.optional(v.picklist(["0", "1"], "must be 0 or 1"), "0");
const user = v.union([
  v.pipe(v.string(), v.minLength(1), v.maxLength(LONGEST_USER)),
  v.pipe(v.number(), v.integer(), v.safeInteger()),
]);
const value = v.union([v.pipe(v.string(), v.maxLength(LONGEST_VALUE)), v.number(), v.boolean(), v.null()]);
const users = v.optional(v.pipe(v.array(user), v.maxLength(MOST_USERS, `may have at most ${MOST_USERS} users`)), []);

/** The shape of a list as a JSON array; the other formats are text. */
const LISTS = {
  audience: v.array(v.union([user, v.objectWithRest({ userId: user }, v.unknown())])),
  trait: v.array(v.union([v.tuple([user, value]), v.objectWithRest({ userId: user, value }, v.unknown())])),
} as const;

const FORMATS =
  "a JSON array, JSON lines, or CSV with a header (userId; for a trait: userId and value), as its Content-Type says";

const ABOUT_LIST = {
  audience: `The whole membership: ${FORMATS}. A call goes out for each user added or removed, the first time for all.`,
  trait: `Users and their values: ${FORMATS}. A call goes out for each user whose value has changed; null removes it, and users who are not in the list keep theirs.`,
} as const;

const syncFaults = [
  "unknown_source",
  "source_disabled",
  "name_taken",
  "sync_running",
  "store_failed",
  "stopping",
] as const;

const OTHER_TYPES = Object.fromEntries(
  LIST_TYPES.filter((type) => type !== "application/json").map((type) => [type, v.string()]),
);

type Plural = "audiences" | "traits";

const WORDS = {
  audiences: { kind: "audience", title: "Audience", unknown: "unknown_audience", removed: "false" },
  traits: { kind: "trait", title: "Trait", unknown: "unknown_trait", removed: "null" },
} as const;

/** The routes of audiences or of traits, which differ only in their paths. */
function routesOf<const P extends Plural>(plural: P) {
  const { kind, title, unknown, removed } = WORDS[plural];
  const path = `/api/sources/:source/${plural}/:name` as const;
  const params = { source: "A source of the config.", name: `The ${kind}'s name.` };
  return {
    all: route({
      id: `list${title}s`,
      method: "get",
      path: `/api/${plural}` as const,
      summary: `List the ${plural} of all sources, the newest first`,
      answers: { 200: about("By source and name.", computationList[kind]) },
    }),
    ofSource: route({
      id: `list${title}sOfSource`,
      method: "get",
      path: `/api/sources/:source/${plural}` as const,
      summary: `List the ${plural} of a source, the newest first`,
      params: { source: params.source },
      answers: { 200: about("By name.", computationList[kind]) },
      faults: ["unknown_source"],
    }),
    one: route({
      id: `get${title}`,
      method: "get",
      path,
      params,
      summary: `Show one ${kind}`,
      answers: { 200: computationDetail[kind] },
      faults: [unknown],
    }),
    put: route({
      id: `sync${title}`,
      method: "put",
      path,
      params,
      summary: `Compare a list with the ${kind}, and send what changed`,
      description: ABOUT_LIST[kind],
      query: v.strictObject({
        dryRun: about("1: only counts.", flag),
        allowShrink: about("1 allows the list to remove more than half of the users.", flag),
      }),
      body: { shape: LISTS[kind], maxBytes: LARGEST_LIST, also: OTHER_TYPES, streamed: true },
      answers: { 200: synced },
      faults: [...syncFaults, "list_shrinks"],
    }),
    remove: route({
      id: `remove${title}`,
      method: "delete",
      path,
      params,
      summary: `Remove the ${kind}`,
      description: `A call goes out for each of its users: the trait is ${removed}.`,
      query: v.strictObject({ silent: about("1 removes it without sending calls.", flag) }),
      answers: { 200: synced },
      faults: [...syncFaults, unknown],
    }),
  };
}

const audienceRoutes = routesOf("audiences");
const traitRoutes = routesOf("traits");

const membersRoute = route({
  id: "changeMembers",
  method: "post",
  path: "/api/sources/:source/audiences/:name/members",
  params: { source: "A source of the config.", name: "An audience that exists." },
  summary: "Add users to an audience, and remove others",
  description: "A call goes out for each user whose membership changes.",
  body: {
    shape: v.strictObject({ add: users, remove: users }, "must be an object with add and remove"),
    maxBytes: KB * KB,
  },
  answers: { 200: synced },
  faults: [...syncFaults, "unknown_audience"],
});

/** `GET /api/audiences`, `GET /api/traits`: the computations of all sources. */
async function getComputations(kind: ComputationClass, { audiences, timeline }: AdminWorld) {
  return listed(kind, await audiences.all(), timeline);
}

/** `GET /api/sources/:source/audiences`, `…/traits`. A source that was removed may still have some. */
async function getComputationsOf(source: string, kind: ComputationClass, world: AdminWorld) {
  const { audiences, sources, timeline } = world;
  const own = (await audiences.all()).filter((one) => one.source === source);
  const names = sources().map(({ name }) => name);
  if (own.length === 0 && !names.includes(source)) return unknownName("unknown_source", source, names);
  return listed(kind, own, timeline);
}

/** Newest first; among those of the same moment, the last created first. */
function listed(kind: ComputationClass, all: readonly Computation[], timeline: Timeline) {
  const found = all
    .filter((one) => one.class === kind)
    .sort((one, other) => other.createdAt - one.createdAt || other.number - one.number)
    .map((one) => toComputation(one, timeline));
  return kind === "audience" ? { audiences: found } : { traits: found };
}

/** `GET /api/sources/:source/audiences/:name`, `…/traits/:name`. */
async function getComputation(wanted: Wanted, { audiences, timeline }: AdminWorld) {
  const found = await audiences.find(wanted);
  if (!found) return unknown(wanted);
  const one = toComputation(found, timeline);
  const syncs = found.syncs.map((sync) => toSync(sync, timeline));
  return wanted.class === "audience" ? { audience: one, syncs } : { trait: one, syncs };
}

function unknown({ class: kind, name, source }: Wanted): Fault {
  const code = kind === "audience" ? "unknown_audience" : "unknown_trait";
  return fault(code, `source ${source.slice(0, 100)} has no ${kind} ${JSON.stringify(name.slice(0, 100))}`);
}

type Flags<R extends "put" | "remove"> = Asked<(typeof audienceRoutes)[R]>["query"];

/**
 * `PUT /api/sources/:source/audiences/:name`, `…/traits/:name`: reads a list as a stream. Answers when all its changes are
 * durable, or a moment later if that is enough time to send them.
 */
async function putList(
  request: Request,
  { source, name, class: kind, dryRun, allowShrink }: Wanted & Flags<"put">,
  world: AdminWorld,
) {
  const wanted: Wanted = { source, name, class: kind };
  const splitter = splitterFor(request.headers.get("content-type"));
  if (name.length > LONGEST_NAME || !name.isWellFormed()) {
    return fault("invalid_request", `the name of the ${kind} must have at most ${LONGEST_NAME} characters of Unicode`);
  }
  if (isFault(splitter)) return splitter;
  const rows = readList(world.streams.read(request, LARGEST_LIST), splitter, kind);
  const options = { dryRun: dryRun === "1", allowShrink: allowShrink === "1" };
  return describe(await world.audiences.list(wanted, rows, options), world.timeline);
}

/** `DELETE /api/sources/:source/audiences/:name`, `…/traits/:name`. */
async function deleteComputation(
  { source, name, class: kind, silent }: Wanted & Flags<"remove">,
  { audiences, timeline }: AdminWorld,
) {
  return describe(await audiences.remove({ source, name, class: kind }, { silent: silent === "1" }), timeline);
}

/** `POST /api/sources/:source/audiences/:name/members`. */
async function postMembers(
  wanted: Wanted,
  { add, remove }: Asked<typeof membersRoute>["body"],
  { audiences, timeline }: AdminWorld,
) {
  const members = membersOf(add, remove);
  return isFault(members) ? members : describe(await audiences.change(wanted, members), timeline);
}

type Users = readonly (string | number)[];

function membersOf(add: Users, remove: Users): readonly Member[] | Fault {
  const members = new Map<string, Member>();
  for (const [key, users, value] of [["add", add, true] as const, ["remove", remove, null] as const]) {
    for (const [index, given] of users.entries()) {
      const user = userOf(given, `${key}[${index}]`);
      if (typeof user !== "string") return user;
      const other = members.get(user);
      if (other && other.value !== value) return fault("invalid_request", `${key}[${index}] is also in add`);
      members.set(user, { user, value });
    }
  }
  return [...members.values()];
}

function describe(result: Synced | Fault, timeline: Timeline): Answer<typeof synced> | Fault {
  if (isFault(result)) return result;
  const { key, size, added, changed, removed, sync } = result;
  return { success: true, key, size, added, changed, removed, sync: sync && toSync(sync, timeline) };
}

function toSync(one: Sync, timeline: Timeline): Answer<typeof sync> {
  return {
    number: one.number,
    kind: one.kind,
    state: one.finishedAt === null ? "running" : "finished",
    startedAt: wallTime(one.startedAt, timeline),
    finishedAt: wallTimeOf(one.finishedAt, timeline),
    added: one.added,
    changed: one.changed,
    removed: one.removed,
    done: one.done,
  };
}

function toComputation(one: Computation, timeline: Timeline): Answer<typeof computation> {
  const [last = null] = one.syncs;
  return {
    source: one.source,
    class: one.class,
    name: one.name,
    key: one.key,
    id: one.id,
    size: one.size,
    createdAt: wallTime(one.createdAt, timeline),
    lastSync: last && toSync(last, timeline),
  };
}
