import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { respondFault } from "../http/respond.ts";
import { type Fault, isFault } from "../model/fault.ts";
import { KB } from "../model/units.ts";
import { about, count, success } from "./answers/fields.ts";
import { keysRule, limitEntry, readBody } from "./read.ts";
import { answer, route } from "./route.ts";
import { countMovable, countWaiting, discardPage, movePage, type UnservedWorld } from "./unserved.ts";

const MAX_BODY_BYTES = 4 * KB;
/** Deliveries in one page: the daemon does nothing else while one is written. */
export const MOST_IN_PAGE = 1_000;
const IN_PAGE_BY_DEFAULT = 500;

const page = {
  limit: limitEntry({ most: MOST_IN_PAGE, byDefault: IN_PAGE_BY_DEFAULT }),
  dryRun: about("Says how many wait, and changes nothing.", v.optional(v.boolean("must be true or false"), false)),
};
const name = v.pipe(v.string("must name a destination"), v.nonEmpty("must name a destination"));
const discardWish = v.strictObject(page, keysRule("limit and dryRun"));
const moveWish = v.strictObject({ to: name, ...page }, keysRule("to, limit and dryRun"));

const more = about("Whether others wait still.", v.boolean());
const waiting = about("A dry run: how many wait.", v.strictObject({ success, waiting: count }));

const common = {
  method: "post",
  params: { name: "The destination for which they wait. It has to be paused, disabled, or out of the config." },
  faults: ["unknown_destination", "destination_in_use", "destination_busy", "store_failed"],
} as const;

export const discardRoute = route({
  ...common,
  id: "discardWaiting",
  path: "/api/destinations/:name/discard",
  summary: "Give up a page of what waits for a destination",
  description: "They become failed, and are kept as others that failed. Ask again while there are more.",
  body: { shape: discardWish, maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about("What was done.", v.union([v.strictObject({ success, discarded: count, more }), waiting])),
  },
});

export const moveRoute = route({
  ...common,
  id: "moveWaiting",
  path: "/api/destinations/:name/move",
  summary: "Let a page of what waits for a destination wait for another one",
  description: "As if they had just been accepted for it: with no attempts so far. Ask again while there are more.",
  body: { shape: moveWish, maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about(
      "What was done. `doubled`: those that have failed because the event was there already.",
      v.union([v.strictObject({ success, moved: count, doubled: count, more }), waiting]),
    ),
  },
});

type World = UnservedWorld & { readonly bodies: Bodies };

/**
 * `POST /api/destinations/:name/discard {limit?, dryRun?}`: the next page of what waits for a destination that nothing is
 * delivered to becomes `failed`. Answers `{discarded, more}`, or with `dryRun` only `{waiting}`. The caller paces.
 */
export async function postDiscard(request: Request, from: string, world: World): Promise<Response> {
  const read = await readBody(request, discardRoute.body, world.bodies);
  if (isFault(read)) return respondFault(read);
  const { limit, dryRun } = read.value;
  if (dryRun) return answer(discardRoute, asWaiting(await countWaiting(from, world)));
  return answer(discardRoute, asDone(await discardPage(from, limit, world)));
}

/** `POST /api/destinations/:name/move {to, limit?, dryRun?}`: likewise, to another destination: `{moved, doubled, more}`. */
export async function postMove(request: Request, from: string, world: World): Promise<Response> {
  const read = await readBody(request, moveRoute.body, world.bodies);
  if (isFault(read)) return respondFault(read);
  const { to, limit, dryRun } = read.value;
  const by = { from, to };
  if (dryRun) return answer(moveRoute, asWaiting(await countMovable(by, world)));
  return answer(moveRoute, asDone(await movePage(by, limit, world)));
}

function asWaiting(count: number | Fault) {
  return typeof count === "number" ? { success: true as const, waiting: count } : count;
}

function asDone<T extends object>(what: T | Fault) {
  return isFault(what) ? what : { success: true as const, ...what };
}
