/** What `fairlead send` and its import use of the client library: its checks, its requests, and its retry table. */

import type { Sendable } from "../../client/envelope.ts";
import { measureCall, type WriteBody } from "../../client/envelope.ts";
import { LIMITS, readTarget } from "../../client/options.ts";
import type { Fetch } from "../../client/platform.ts";
import { platform } from "../../client/platform.ts";
import type { FinalAnswer } from "../../client/post.ts";
import { createDebug } from "../../client/report.ts";
import { createSender, type Sender, type Sending } from "../../client/sender.ts";
import { write } from "../../client/write.ts";
import type { CallType, JsonObject } from "../../model/event.ts";
import type { Clock, Random } from "../../model/ports.ts";
import { formatDuration } from "../../model/units.ts";
import { UnreachableError } from "./fetch.ts";
import type { Target } from "./target.ts";

export type SendWorld = {
  readonly clock: Pick<Clock, "after" | "wall">;
  readonly random: Random;
  /** Has a deadline of its own. */
  readonly fetch: Fetch;
  /** Takes the lines that DEBUG=analytics asks for. */
  readonly log: (line: string) => void;
};

/** Requests that are not the library's usual ones. */
export type Requests = {
  /** Instead of that of batches. */
  readonly path?: string;
  readonly write: WriteBody;
};

/** Opens the library's sender for a target. How often it tries is for its user to say at each batch. */
export function openSender({ base, writeKey }: Target, world: SendWorld, requests?: Requests): Sender {
  const { clock, random, fetch, log } = world;
  const endpoint = base.startsWith("unix:") ? "http://localhost" : base;
  const { url, headers, mask } = readTarget(writeKey.reveal(), { endpoint });
  const path = requests?.path ?? BATCH;
  const target = { url: `${url.slice(0, -BATCH.length)}${path}`, headers, mask };
  const debug = createDebug(false, { log, debugNames: platform.debugNames, trail: platform.createTrail() });
  const { after, wall } = clock;
  return createSender(
    { target, fetch, retries: Infinity, timeoutMs: LONGEST_MS },
    { after, wall, fetch, fraction: random.fraction, uuid: () => random.hex(16) },
    requests ? { debug, write: requests.write } : { debug },
  );
}

const BATCH = "/v1/batch";

/** What a timer can hold: it is the deadline of `fetch` that counts, for its words. */
const LONGEST_MS = 2 ** 31 - 1;

/** Nothing ends a request but its deadline. */
export const NEVER = new AbortController().signal;

/** Writes a call as the library does. Throws its AnalyticsError if the call breaks the rules (SPEC.md 2.3). */
export function writeCall(type: CallType, call: JsonObject, { clock, random }: SendWorld): Sendable {
  const written = write(type, call, { wall: clock.wall, uuid: () => random.hex(16) });
  measureCall(written, LIMITS);
  return written;
}

type Taken = Extract<Sending<unknown>, { kind: "taken" }>;

/** Whether it is Fairlead that has taken a batch: it speaks of each of the calls. Else nothing is known of them. */
export function isFairleads(taken: Taken, calls: number): taken is Taken & { readonly accepted: number } {
  const { status, accepted, duplicates, rejections } = taken;
  return status === 200 && accepted !== null && accepted + duplicates + rejections.of.size === calls;
}

/** Why nothing came back: in words that go on after a colon, with the system's code where there is one. */
export function whyNone(answer: Exclude<FinalAnswer, { kind: "answered" }>): { code: string | null; reason: string } {
  if (answer.kind === "timeout") return { code: null, reason: `no answer within ${formatDuration(answer.timeoutMs)}` };
  const { cause } = answer;
  return { code: cause instanceof UnreachableError ? cause.code : null, reason: messageOf(cause) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
