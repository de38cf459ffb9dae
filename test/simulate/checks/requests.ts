import type { PostRequest } from "../../../src/model/ports.ts";
import { signatureOf, standardSignatureOf } from "../world/calls.ts";
import { stoodStillAtMost } from "../world/clocks.ts";
import { headerOf, ownerOf, type Shape, secretOf, urlOf } from "../world/shape.ts";
import type { Asked } from "../world/tracks.ts";
import { isDoubtful, type Life, meet, type World, wrong } from "../world/world.ts";
import { checkOrder } from "./order.ts";
import { checkRate } from "./rate.ts";
import { checkFirst } from "./turns.ts";

/** What a receiver knows of a request when it comes. */
export type Judged = {
  readonly request: Omit<PostRequest, "signal">;
  readonly asked: Asked;
  /** Who asks. */
  readonly life: Life;
  readonly world: World;
};

/** Answers what is wrong with a request, or null. */
type Judge = (judged: Judged) => string | null;

const JUDGES: readonly Judge[] = [
  checkContent,
  checkHeaders,
  checkServed,
  checkWait,
  checkRate,
  checkOnce,
  checkDeleted,
  checkFirst,
  checkOrder,
];

/** Judges a request at the moment when it comes. */
export function judgeRequest(judged: Judged): void {
  const { world, asked } = judged;
  meet(world, "requests");
  for (const judge of JUDGES) {
    const found = judge(judged);
    if (found) wrong(world, `${asked.track.id} to ${asked.track.destination}: ${found}`);
  }
}

/** A receiver gets what was sent for it, to the byte, at each attempt; and nothing that was refused, or is for others. */
function checkContent({ request: { body }, asked: { track }, world }: Judged): string | null {
  const { id, destination } = track;
  if (id.startsWith("delete-")) return checkNotice(body);
  if (id.startsWith("audience-")) return checkMembership(body, id);
  const entry = world.ledger.byBody(body);
  if (!entry) return `nobody has sent this: ${body.slice(0, 300)}`;
  if (entry.messageId !== id) return `webhook-id is ${id}, the message is ${entry.messageId}`;
  if (entry.refused) return "it was refused, and goes out all the same";
  const isFor = [...entry.takers, world.moving?.from === destination ? "" : world.moving?.to];
  if (!isFor.includes(destination)) return `it is for ${[...entry.takers].join(", ") || "nobody"}`;
  return null;
}

function checkNotice(body: string): string | null {
  const shape = /^\{"type":"delete","userId":"\w+","timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"\}$/;
  return shape.test(body) ? null : `a delete notification has three keys: ${body}`;
}

function checkMembership(body: string, id: string): string | null {
  const call = JSON.parse(body);
  if (JSON.stringify(call) !== body) return `its body changes when it is parsed and written again: ${body}`;
  const { type, messageId, traits, context } = call;
  const told = traits[context?.personas?.computation_key];
  if (type === "identify" && messageId === id && typeof told === "boolean") return null;
  return `a membership is an identify call with a trait: ${body}`;
}

/** Headers and signatures are those of the config; while that is changed, of either. */
function checkHeaders({ request, world, life }: Judged): string | null {
  const found = [world.shape, ...(world.nextShape ? [world.nextShape] : [])].map((shape) =>
    check(request, shape, life),
  );
  return found.includes(null) ? null : (found[0] ?? null);
}

function check({ url, headers, body }: Judged["request"], shape: Shape, life: Life): string | null {
  const name = ownerOf(url);
  const destination = shape.destinations[name];
  const seconds = String(Math.floor(life.clock.wall() / 1_000));
  const id = headers["webhook-id"] ?? "";
  const secrets = destination.secrets.map((version) => secretOf(name, version));
  const [first] = secrets;
  const wanted: Record<string, string | undefined> = {
    "User-Agent": "Fairlead/1.0",
    "Content-Type": "application/json",
    Authorization: headerOf(name, destination),
    "X-Signature": first && signatureOf(body, first),
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": secrets.map((secret) => standardSignatureOf(`${id}.${seconds}.${body}`, secret)).join(" "),
  };
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(headers)])) {
    if (headers[name] !== wanted[name]) return `${name} is ${headers[name]}, and should be ${wanted[name]}`;
  }
  return null;
}

/** Only webhooks of the config are asked, and none of a destination that is disabled or paused. */
function checkServed({ request: { url }, asked: { track }, world, life }: Judged): string | null {
  const shapes = [world.shape, ...(world.nextShape ? [world.nextShape] : [])];
  if (!shapes.some((shape) => serves(shape, url))) return `${url} is not in the config, or disabled`;
  if (world.paused.has(track.destination) && !isDoubtful(life)) return "the destination is paused";
  return null;
}

function serves({ destinations }: Shape, url: string): boolean {
  const name = ownerOf(url);
  const { listed, enabled, webhooks } = destinations[name];
  return listed && enabled && webhooks.some((webhook) => urlOf(name, webhook) === url);
}

/**
 * Nothing is attempted before its wait is over (the shortest that chance allows), unless a receiver of its destination is back
 * from an outage since it was last attempted; and a receiver that wants silence has it.
 */
function checkWait({ asked: { track, before, url, at, isNewRound }, world }: Judged): string | null {
  const silentUntil = world.tracks.silentUntil.get(url) ?? 0;
  if (at < silentUntil) return `${url} wanted silence for ${silentUntil - at} ms more`;
  if (!isNewRound || at >= before.freeAt) return null;
  const reopenedAt = world.tracks.reopenedAt.get(track.destination) ?? 0;
  if (reopenedAt > before.endAt) return null;
  return `attempt ${before.rounds + 1} begins ${before.freeAt - at} ms before its wait is over`;
}

/** One round at a time; nobody is asked again after a success, nor who has refused for good, nor more than once after the cutoff. */
function checkOnce(judged: Judged): string | null {
  const { asked, world } = judged;
  const { track, before, at, isNewRound } = asked;
  if (isNewRound && before.open > 0) return "it is asked again while an attempt of it runs";
  if (before.succeededAt !== null) return `a receiver had it ${at - before.succeededAt} ms ago, and it is sent again`;
  const refusal = checkFinals(judged);
  if (refusal) return refusal;
  const { cutoff } = world.shape;
  const { firstAt } = before;
  if (!isNewRound || firstAt === null) return null;
  if (at < firstAt + cutoff + stoodStillAtMost(world, track.destination, { from: firstAt, until: at })) return null;
  if (before.late > 0) return `a second attempt begins ${at - firstAt - cutoff} ms after the cutoff`;
  track.late += 1;
  return null;
}

function checkFinals({ asked: { track, url }, world }: Judged): string | null {
  const shape = world.shape.destinations[track.destination as keyof typeof world.shape.destinations];
  const version = world.tracks.versionOf(track.destination);
  if (track.finals.get(url) !== version || world.nextShape) return null;
  const standing = [...track.finals.values()].filter((one) => one === version);
  return standing.length < shape.webhooks.length ? `${url} has refused it for good, and is asked again` : null;
}

/** What a user sent before a deletion was asked for does not go out once the notification of it is made. */
function checkDeleted({ request: { body }, world, life }: Judged): string | null {
  if (isDoubtful(life)) return null;
  const entry = world.ledger.byBody(body);
  const { event, userId, source } = entry ?? {};
  if (!event || !userId) return null;
  const notice = world.rows.notices.find((one) => one.userId === userId && one.source === source && one.upTo >= event);
  return notice ? `its user ${userId} was deleted: the notification is event ${notice.event}, this is ${event}` : null;
}
