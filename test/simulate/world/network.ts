import type { Post, PostRequest } from "../../../src/model/ports.ts";
import { type Ms, SECOND } from "../../../src/model/units.ts";
import { type Behaviour, createFalseNetwork, OFFLINE, REFUSED, SELF_SIGNED, type Sent } from "../../flow/network.ts";
import { judgeRequest } from "../checks/requests.ts";
import { mix } from "../random.ts";
import { beginStop, endStop } from "./clocks.ts";
import { isHalted, moment, never, runsAgain } from "./life.ts";
import type { Asked } from "./tracks.ts";
import { noteTaken } from "./tracks.ts";
import type { Life, World } from "./world.ts";

/** The network of one process: each request is judged when it comes, and its answer is noted when it leaves. */
export function createPost(world: World, life: () => Life): Post {
  let network: ReturnType<typeof createFalseNetwork> | null = null;
  return async function post(request: PostRequest) {
    const here = life();
    if (here.dead) return never();
    network ??= createFalseNetwork(here.clock, (sent) => behave(world.manners.get(sent.url) ?? "well", sent));
    const asked = world.tracks.begin(request, here);
    judgeRequest({ world, request, asked, life: here });
    moment(world, here);
    if (isHalted(here)) await runsAgain(here);
    const reply = await network.post(request);
    if (isHalted(here)) await runsAgain(here);
    const status = reply.kind === "answered" ? reply.status : 0;
    const silence = reply.kind === "answered" && (status === 429 || status === 503) ? Number(reply.retryAfter ?? 0) : 0;
    const meaning = meaningOf({ kind: reply.kind, status });
    noteAnswer(world, asked, reply.kind === "answered" && silence === 0);
    const taken = meaning === "success" || meaning === "final";
    noteTaken(world.turns, asked.url, { taken, startAt: asked.at, at: here.clock.now() });
    noteNetwork(world, asked, meaning);
    world.tracks.end(asked, { meaning, silence: silence * 1_000 }, here.clock.now());
    moment(world, here, "answer");
    if (isHalted(here)) await runsAgain(here);
    return reply;
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

/**
 * What a receiver does with what it gets. `flaky` answers each request in another way; those that are choosy always refuse the
 * same events, wherever they come to, and take all others.
 */
const MANNERS = {
  well: 200,
  created: 204,
  busy: 503,
  broken: 500,
  unauthorized: 401,
  gone: 410,
  refuses: 400,
  redirects: { status: 302, headers: { Location: "https://elsewhere.example.com/" } },
  slow: { status: 200, after: 3_000 },
  edge: { status: 200, after: 4_999 },
  late: { status: 200, after: 6_000 },
  slow_failure: { status: 502, after: 2_000 },
  endless: { status: 200, body: "never ends" },
  wants_silence: { status: 429, headers: { "Retry-After": "45" } },
  wants_long_silence: { status: 503, headers: { "Retry-After": "400" } },
  hangs: "hang",
  down: REFUSED,
  offline: OFFLINE,
  untrusted: SELF_SIGNED,
} as const satisfies Record<string, Behaviour>;

/** What those that are choosy refuse, out of ten events, and with which answer. */
const CHOOSY = {
  choosy: { outOfTen: 3, answer: 500 },
  very_choosy: { outOfTen: 9, answer: 500 },
  choosy_for_good: { outOfTen: 5, answer: 400 },
} as const;

export type Manner = keyof typeof MANNERS | keyof typeof CHOOSY | "flaky";

export const ALL_MANNERS = [...Object.keys(MANNERS), "flaky", ...Object.keys(CHOOSY)] as readonly Manner[];

const FLAKY: readonly (keyof typeof MANNERS)[] = ["well", "busy", "refuses", "slow", "down", "hangs", "well", "broken"];

/** What a receiver of this manner does with a request. */
function behave(manner: Manner, { url, nth, body }: Pick<Sent, "url" | "nth" | "body">): Behaviour {
  if (isChoosy(manner)) return refuses(body, CHOOSY[manner].outOfTen) ? CHOOSY[manner].answer : 200;
  if (manner !== "flaky") return MANNERS[manner];
  const which = FLAKY[mix(url.length, url.charCodeAt(8), nth) % FLAKY.length];
  return MANNERS[which ?? "well"];
}

function isChoosy(manner: Manner): manner is keyof typeof CHOOSY {
  return Object.hasOwn(CHOOSY, manner);
}

/** By what is in it: the same at each attempt. */
function refuses(body: string, outOfTen: number): boolean {
  let sum = 0;
  for (let nth = 0; nth < body.length; nth += 1) sum = (sum * 31 + body.charCodeAt(nth)) | 0;
  return mix(sum, 1, 2) % 10 < outOfTen;
}

/** What the receiver's answer means, by the rules of the manual and not by the code of the daemon. */
export type Meaning = "success" | "again" | "final" | "offline" | "nothing";

function meaningOf(answer: { readonly kind: string; readonly status?: number }): Meaning {
  if (answer.kind === "offline") return "offline";
  if (answer.kind !== "answered") return "again";
  const status = answer.status ?? 0;
  if (status >= 200 && status <= 299) return "success";
  if (status >= 500) return "again";
  return [401, 403, 404, 405, 407, 408, 423, 425, 429].includes(status) ? "again" : "final";
}
