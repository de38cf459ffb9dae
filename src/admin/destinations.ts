import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { respond, respondFault } from "../http/respond.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import { KB } from "../model/units.ts";
import { countMovable, countWaiting, discardPage, movePage, type UnservedWorld } from "./unserved.ts";

const MAX_BODY_BYTES = 4 * KB;
/** Deliveries in one page: the daemon does nothing else while one is written. */
export const MOST_IN_PAGE = 1_000;
const IN_PAGE_BY_DEFAULT = 500;

const LIMIT_RULE = `must be a whole number from 1 to ${MOST_IN_PAGE}`;
const page = {
  limit: v.optional(
    v.pipe(
      v.number(LIMIT_RULE),
      v.integer(LIMIT_RULE),
      v.minValue(1, LIMIT_RULE),
      v.maxValue(MOST_IN_PAGE, LIMIT_RULE),
    ),
    IN_PAGE_BY_DEFAULT,
  ),
  dryRun: v.optional(v.boolean("must be true or false"), false),
};
const name = v.pipe(v.string("must name a destination"), v.nonEmpty("must name a destination"));
const discardWish = v.strictObject(page, shape("limit and dryRun"));
const moveWish = v.strictObject({ to: name, ...page }, shape("to, limit and dryRun"));

function shape(keys: string): (issue: v.StrictObjectIssue) => string {
  return ({ path, expected }) => {
    if (!path) return `must be an object with ${keys}`;
    return expected === "never" ? `is not known; there are ${keys}` : "is missing";
  };
}

type World = UnservedWorld & { readonly bodies: Bodies };

/**
 * `POST /api/destinations/:name/discard {limit?, dryRun?}`: the next page of what waits for a destination that nothing is
 * delivered to becomes `failed`. Answers `{discarded, more}`, or with `dryRun` only `{waiting}`. The caller paces.
 */
export async function postDiscard(request: Request, from: string, world: World): Promise<Response> {
  const wish = await readWish(request, discardWish, world);
  if (isFault(wish)) return respondFault(wish);
  if (wish.dryRun) return answer(asWaiting(countWaiting(from, world)));
  return answer(await discardPage(from, wish.limit, world));
}

/** `POST /api/destinations/:name/move {to, limit?, dryRun?}`: likewise, to another destination: `{moved, doubled, more}`. */
export async function postMove(request: Request, from: string, world: World): Promise<Response> {
  const wish = await readWish(request, moveWish, world);
  if (isFault(wish)) return respondFault(wish);
  const by = { from, to: wish.to };
  if (wish.dryRun) return answer(asWaiting(countMovable(by, world)));
  return answer(await movePage(by, wish.limit, world));
}

type Wish = typeof discardWish | typeof moveWish;

async function readWish<W extends Wish>(
  request: Request,
  wish: W,
  { bodies }: World,
): Promise<v.InferOutput<W> | Fault> {
  const text = await bodies.read(request, MAX_BODY_BYTES);
  if (typeof text !== "string") return text;
  const parsed = parseJson(text);
  if (isFault(parsed)) return parsed;
  const result = v.safeParse(wish, parsed.value, { abortEarly: true });
  return result.success ? result.output : invalid(result.issues[0]);
}

function invalid(issue: v.BaseIssue<unknown>): Fault {
  return fault("invalid_request", `${v.getDotPath(issue) ?? "the body"}: ${issue.message}`);
}

function asWaiting(count: number | Fault): object {
  return typeof count === "number" ? { waiting: count } : count;
}

function answer(what: object): Response {
  return isFault(what) ? respondFault(what) : respond(200, { success: true, ...what });
}
