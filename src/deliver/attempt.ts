import type { Answer, Outcome } from "../model/outcome.ts";
import type { Clock, Post, PostRequest, Reply } from "../model/ports.ts";
import type { Ms } from "../model/units.ts";
import { parseRetryAfter } from "../settle/retry-after.ts";

export type AttemptWorld = { readonly clock: Clock; readonly post: Post };

export type AttemptOptions = {
  /** How long the receiver may take until its status line and headers are here (SPEC.md 4.1: five seconds). */
  readonly timeout: Ms;
  /** Releases the attempt when the daemon has to stop. */
  readonly signal: AbortSignal;
};

/** Sends one request, and says what became of it. Never throws. */
export async function attempt(
  request: Omit<PostRequest, "signal">,
  { timeout, signal }: AttemptOptions,
  { clock, post }: AttemptWorld,
): Promise<Outcome> {
  const startedAt = clock.now();
  const limit = new AbortController();
  const release = (): void => limit.abort();
  const cancelTimer = clock.after(timeout, release);
  signal.addEventListener("abort", release);
  const reply = await post({ ...request, signal: limit.signal });
  // The rest of the answer is read in the background, within the same time; it never changes the outcome.
  void readRest(reply).finally(() => {
    cancelTimer();
    signal.removeEventListener("abort", release);
  });
  const answer = toAnswer(reply, { timeout, stopped: signal.aborted, clock });
  return { ...answer, url: request.url, startedAt, duration: clock.now() - startedAt };
}

/** By the port's contract this never rejects. */
async function readRest(reply: Reply): Promise<void> {
  if (reply.kind === "answered") await reply.body;
}

type Circumstances = { readonly timeout: Ms; readonly stopped: boolean; readonly clock: Clock };

function toAnswer(reply: Reply, { timeout, stopped, clock }: Circumstances): Answer {
  if (reply.kind === "aborted") return stopped ? { kind: "released" } : { kind: "timeout", after: timeout };
  if (reply.kind !== "answered") return reply;
  const { status, location } = reply;
  return { kind: "answered", status, location, retryAfter: parseRetryAfter(reply.retryAfter, clock.wall()) };
}
