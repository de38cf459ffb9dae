import type { Answer, Outcome } from "../model/outcome.ts";
import type { Clock, Post, PostRequest, Reply } from "../model/ports.ts";
import type { Ms } from "../model/units.ts";
import { parseRetryAfter } from "../settle/retry-after.ts";
import type { Limits } from "./limits.ts";

export type AttemptWorld = { readonly clock: Clock; readonly post: Post; readonly limits: Limits };

/** What became of a request, and the first KB of what was answered, once it is here. The text never rejects. */
export type Made = { readonly outcome: Outcome; readonly text: Promise<string> | null };

/**
 * Sends one request, and says what became of it. The receiver may take so long until its status line and headers are
 * here (SPEC.md 4.1: five seconds). Never throws.
 */
export async function attempt(
  request: Omit<PostRequest, "signal">,
  timeout: Ms,
  { clock, post, limits }: AttemptWorld,
): Promise<Made> {
  const startedAt = clock.now();
  const limit = limits.start(timeout);
  const { url, headers, body, tls } = request;
  const reply = await post({ url, headers, body, tls, signal: limit.signal });
  // The rest of the answer is read in the background, within the same time; it never changes the outcome.
  if (reply.kind === "answered") void reply.body.then(limit.end);
  else limit.end();
  const answer = toAnswer(reply, { timeout, stopped: limits.released(), clock });
  const outcome = { ...answer, url, startedAt, duration: clock.now() - startedAt };
  return { outcome, text: reply.kind === "answered" ? reply.body : null };
}

type Circumstances = { readonly timeout: Ms; readonly stopped: boolean; readonly clock: Clock };

function toAnswer(reply: Reply, { timeout, stopped, clock }: Circumstances): Answer {
  if (reply.kind === "aborted") return stopped ? { kind: "released" } : { kind: "timeout", after: timeout };
  if (reply.kind !== "answered") return reply;
  const { status, location } = reply;
  return { kind: "answered", status, location, retryAfter: parseRetryAfter(reply.retryAfter, clock.wall()) };
}
