import * as v from "valibot";
import { KB } from "../model/units.ts";
import { computation, sync, synced } from "./answers/computation.ts";
import { about, success } from "./answers/fields.ts";
import { LONGEST_USER, LONGEST_VALUE } from "./lists/member.ts";
import { LIST_TYPES } from "./lists/read-list.ts";
import { route } from "./route.ts";

/** Decompressed. */
export const LARGEST_LIST = 2 * KB * KB * KB;
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
