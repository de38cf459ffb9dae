import type { Answer, Outcome } from "../model/delivery.ts";
import type { Cancel, Clock, Post, PostRequest, Reply } from "../model/ports.ts";
import type { At, Ms } from "../model/units.ts";
import { parseRetryAfter } from "../settle/backoff.ts";

export type AttemptWorld = { readonly clock: Clock; readonly post: Post; readonly limits: Limits };

/** The outcome of a request. `text`: the first KB of the answer's body, once it was read; it never rejects. */
export type AttemptResult = { readonly outcome: Outcome; readonly text: Promise<string> | null };

/**
 * Sends one request, and answers its outcome. `timeout` ends when the status line and headers have arrived (SPEC.md 4.1:
 * five seconds). Never throws.
 */
export async function attempt(
  request: Omit<PostRequest, "signal">,
  timeout: Ms,
  { clock, post, limits }: AttemptWorld,
): Promise<AttemptResult> {
  const startedAt = clock.now();
  const limit = limits.start(timeout);
  const { url, headers, body, tls } = request;
  const reply = await post({ url, headers, body, tls, signal: limit.signal });
  // The body of the answer is read in the background, within the same time, and never changes the outcome.
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

/** The time limit of one attempt. */
export type Limit = {
  /** Aborted when the time is up, or when all attempts are abandoned. */
  readonly signal: AbortSignal;
  /** The attempt is over. */
  end(): void;
};

/** The time limits of attempts. Those of one length share a timer, because most attempts are over long before. */
export type Limits = {
  start(length: Ms): Limit;
  /** Ends all attempts at once, and each later one as it begins. */
  release(): void;
  released(): boolean;
  /** Aborted by `release`. */
  readonly signal: AbortSignal;
};

type Running = { readonly controller: AbortController; readonly endsAt: At };

export function createLimits(clock: Clock): Limits {
  const queues = new Map<Ms, Queue>();
  const releasing = new AbortController();

  return {
    start(length) {
      if (releasing.signal.aborted) return { signal: releasing.signal, end() {} };
      const controller = new AbortController();
      const queue = queueOf(length);
      const running = { controller, endsAt: clock.now() + length };
      queue.add(running);
      return { signal: controller.signal, end: () => queue.remove(running) };
    },
    release() {
      releasing.abort();
      for (const queue of queues.values()) queue.abortAll();
    },
    released: () => releasing.signal.aborted,
    signal: releasing.signal,
  };

  function queueOf(length: Ms): Queue {
    const known = queues.get(length);
    if (known) return known;
    const queue = createQueue(clock);
    queues.set(length, queue);
    return queue;
  }
}

type Queue = { add(running: Running): void; remove(running: Running): void; abortAll(): void };

/** Limits of one length, and so in the order in which they end. */
function createQueue(clock: Clock): Queue {
  const all = new Set<Running>();
  let cancel: Cancel | null = null;

  return {
    add(running) {
      all.add(running);
      if (cancel === null) watch(running);
    },
    remove: (running) => void all.delete(running),
    abortAll() {
      cancel?.();
      for (const { controller } of all) controller.abort();
    },
  };

  function watch({ endsAt }: Running): void {
    cancel = clock.after(Math.max(0, endsAt - clock.now()), abortDue);
  }

  function abortDue(): void {
    cancel = null;
    for (const running of all) {
      if (running.endsAt > clock.now()) {
        watch(running);
        return;
      }
      all.delete(running);
      running.controller.abort();
    }
  }
}
