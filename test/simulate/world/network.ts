import type { Post, PostRequest } from "../../../src/model/ports.ts";
import { type Ms, SECOND } from "../../../src/model/units.ts";
import { createFalseNetwork } from "../../flow/network.ts";
import { judgeRequest } from "../checks/requests.ts";
import { beginStop, endStop } from "./clocks.ts";
import { moment, never } from "./life.ts";
import { behave, type Meaning, meaningOf } from "./receivers.ts";
import type { Asked } from "./tracks.ts";
import { noteTaken } from "./turns.ts";
import type { Life, World } from "./world.ts";

/** The network of one process: each request is judged when it comes, and its answer is noted when it leaves. */
export function createPost(world: World, life: () => Life): Post {
  let network: ReturnType<typeof createFalseNetwork> | null = null;
  return async function post(request: PostRequest) {
    const here = life();
    if (here.dead) return never();
    network ??= createFalseNetwork(here.clock, (sent) => behave(world.manners.get(sent.url) ?? "well", sent));
    const asked = world.tracks.begin(request, here);
    judgeRequest(world, request, asked);
    moment(world, here);
    if (here.dead) return never();
    const reply = await network.post(request);
    if (here.dead) return never();
    const status = reply.kind === "answered" ? reply.status : 0;
    const silence = reply.kind === "answered" && (status === 429 || status === 503) ? Number(reply.retryAfter ?? 0) : 0;
    const meaning = meaningOf({ kind: reply.kind, status });
    noteAnswer(world, asked, reply.kind === "answered" && silence === 0);
    const taken = meaning === "success" || meaning === "final";
    noteTaken(world.turns, asked.url, { taken, startAt: asked.at, at: here.clock.now() });
    noteNetwork(world, asked, meaning);
    world.tracks.end(asked, { meaning, silence: silence * 1_000 }, here.clock.now());
    moment(world, here);
    return here.dead ? never() : reply;
  };
}

/** Answers at once. Whatever else a receiver does is a reason for its lane to be careful. */
const AT_ONCE: Ms = SECOND;

/** Since when a receiver answers whatever it gets, with any status. */
function noteAnswer({ turns, life }: World, { url, at }: Asked, answered: boolean): void {
  const now = life.clock.now();
  if (!answered || now - at > AT_ONCE) turns.answering.delete(url);
  else if (!turns.answering.has(url)) turns.answering.set(url, now);
}

/**
 * A machine may be offline from the last attempt of a destination on that left it, or from the start of the process, until the
 * next one that does.
 */
function noteNetwork(world: World, { track, at }: Asked, meaning: Meaning): void {
  const { onlineAt, life } = world;
  const { destination } = track;
  if (meaning === "offline") {
    const from = onlineAt.get(destination) ?? Math.min(at, life.startedAt);
    beginStop(world, destination, { why: "offline", from });
    return;
  }
  onlineAt.set(destination, life.clock.now());
  endStop(world, destination, "offline");
}
