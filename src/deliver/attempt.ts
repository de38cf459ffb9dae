import type { Answer, Outcome } from "../model/delivery.ts";
import type { Cancel, Clock, Post, PostRequest, PostSignal, Reply } from "../model/ports.ts";
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
  const limit = limits.start(timeout);
  const { startedAt } = limit;
  const { url, headers, body, tls } = request;
  const reply = await post({ url, headers, body, tls, signal: limit });
  // The body of the answer is read in the background, within the same time, and never changes the outcome.
  if (reply.kind === "answered") void reply.body.then(() => limit.end());
  else limit.end();
  const answer = toAnswer(reply, { timeout, stopped: limits.released(), clock });
  const outcome = { ...answer, url, startedAt, duration: clock.now() - startedAt };
  return { outcome, text: reply.kind === "answered" ? reply.body : null };
}

type Circumstances = { readonly timeout: Ms; readonly stopped: boolean; readonly clock: Clock };

function toAnswer(reply: Reply, { timeout, stopped, clock }: Circumstances): Answer {
  if (reply.kind === "aborted") return stopped ? { kind: "released" } : { kind: "timeout", after: timeout };
  if (reply.kind !== "answered") return reply;
  const { status, location, retryAfter } = reply;
  return {
    kind: "answered",
    status,
    location,
    retryAfter: retryAfter === null ? null : parseRetryAfter(retryAfter, clock.wall()),
  };
}

/**
 * The time limit of one attempt. Aborted when the time is up, or when all attempts are abandoned. A class, because there is
 * one for each attempt: its methods as closures would cost more than the rest of it.
 */
export class Limit implements PostSignal {
  readonly startedAt: At;
  aborted = false;
  #listeners = NO_LISTENERS;
  /** Those of its length that run form a ring. A Set would copy itself time and again, as they come and go. */
  #before: Limit = this;
  #after: Limit = this;

  constructor(startedAt: At) {
    this.startedAt = startedAt;
  }

  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
  }

  /** The next one in the ring. */
  next(): Limit {
    return this.#after;
  }

  /** Joins the ring as the last one before `end`. */
  join(end: Limit): void {
    this.#before = end.#before;
    this.#after = end;
    end.#before.#after = this;
    end.#before = this;
  }

  /** The attempt is over: leaves the ring. */
  end(): void {
    this.#before.#after = this.#after;
    this.#after.#before = this.#before;
    this.#before = this;
    this.#after = this;
  }

  abort(): void {
    this.end();
    this.aborted = true;
    for (const listener of this.#listeners) listener();
  }
}

const NO_LISTENERS: readonly (() => void)[] = [];

/** The time limits of attempts. Those of one length share a timer, because most attempts are over long before. */
export type Limits = {
  start(length: Ms): Limit;
  /** Ends all attempts at once, and each later one as it begins. */
  release(): void;
  released(): boolean;
  /** Aborted by `release`. */
  readonly signal: AbortSignal;
};

export function createLimits(clock: Clock): Limits {
  const queues = new Map<Ms, Queue>();
  const releasing = new AbortController();

  return {
    start(length) {
      if (!releasing.signal.aborted) return queueOf(length).start();
      const limit = new Limit(clock.now());
      limit.abort();
      return limit;
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
    const queue = createQueue(length, clock);
    queues.set(length, queue);
    return queue;
  }
}

type Queue = { start(): Limit; abortAll(): void };

/** Limits of one length, and so in the order in which they end. */
function createQueue(length: Ms, clock: Clock): Queue {
  const ring = new Limit(0);
  let cancel: Cancel | null = null;

  return {
    start() {
      const limit = new Limit(clock.now());
      limit.join(ring);
      cancel ??= watch(limit);
      return limit;
    },
    abortAll() {
      cancel?.();
      while (ring.next() !== ring) ring.next().abort();
    },
  };

  function watch({ startedAt }: Limit): Cancel {
    return clock.after(Math.max(0, startedAt + length - clock.now()), abortDue);
  }

  function abortDue(): void {
    cancel = null;
    while (ring.next() !== ring) {
      if (ring.next().startedAt + length > clock.now()) {
        cancel = watch(ring.next());
        return;
      }
      ring.next().abort();
    }
  }
}
