// The parts of the client library that `fairlead send` and its import use: checks, requests, and the retry table.
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
import { formatDuration, type Ms } from "../../model/units.ts";
import { type Exchange, request } from "../../runtime/request.ts";
import type { Target } from "./target.ts";

export type SendWorld = {
  readonly clock: Pick<Clock, "after" | "wall">;
  readonly random: Random;
  /** Has a deadline of its own. */
  readonly fetch: Fetch;
  /** For the lines of DEBUG=analytics. */
  readonly log: (line: string) => void;
};

/** Requests that differ from the library's own. */
export type Requests = {
  /** Default: that of batches. */
  readonly path?: string;
  readonly write: WriteBody;
};

/** Opens the library's sender for a target. The caller limits the attempts of each batch. */
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

/** The longest timer. The deadline of `fetch` comes first, with a better message. */
const LONGEST_MS = 2 ** 31 - 1;

/** For requests that end only at their deadline. */
export const NEVER = new AbortController().signal;

/** Writes a call as the library does. Throws its AnalyticsError if the call breaks the rules (SPEC.md 2.3). */
export function writeCall(type: CallType, call: JsonObject, { clock, random }: SendWorld): Sendable {
  const written = write(type, call, { wall: clock.wall, uuid: () => random.hex(16) });
  measureCall(written, LIMITS);
  return written;
}

type Taken = Extract<Sending<unknown>, { kind: "taken" }>;

/** Whether Fairlead answered: it accounts for every call. Any other answer says nothing about them. */
export function isFairleads(taken: Taken, calls: number): taken is Taken & { readonly accepted: number } {
  const { status, accepted, duplicates, rejections } = taken;
  return status === 200 && accepted !== null && accepted + duplicates + rejections.of.size === calls;
}

/** Why there is no answer, as words that follow a colon, with the system's error code if there is one. */
export function whyNone(answer: Exclude<FinalAnswer, { kind: "answered" }>): { code: string | null; reason: string } {
  if (answer.kind === "timeout") return { code: null, reason: `no answer within ${formatDuration(answer.timeoutMs)}` };
  const { cause } = answer;
  return { code: cause instanceof UnreachableError ? cause.code : null, reason: messageOf(cause) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why there is no complete answer; the message follows a colon. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  /** The system's error code, if there is one. */
  readonly code: string | null;

  constructor({ code, reason }: Extract<Exchange, { kind: "failed" }>) {
    super(reason);
    this.code = code;
  }
}

/**
 * A `fetch` for the client library with the rules of all commands: Unix sockets work, and certificates are always checked.
 * It has its own deadline for a request and its answer, and ignores signals. Rejects with an UnreachableError.
 */
export function createFetch(base: string, timeout: Ms): Fetch {
  return async (url, { method, headers, body }) => {
    const { origin, pathname } = new URL(url);
    const to = base.startsWith("unix:") ? base : origin;
    const exchange = await request({ base: to, method, path: pathname, headers, body, timeout });
    if (exchange.kind === "failed") throw new UnreachableError(exchange);
    const { status, text } = exchange;
    return { status, statusText: "", headers: exchange.headers, text: async () => text };
  };
}
