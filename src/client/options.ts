import type { SentCall } from "./calls.ts";
import type { CallLimits } from "./envelope.ts";
import { InvalidOptionError, type LostCallError } from "./errors.ts";
import { checkShape, only, whole } from "./option-checks.ts";
import type { WhenFull } from "./queue.ts";
import { readTarget, type Target } from "./target.ts";
import type { Fetch } from "./world.ts";

/** What `new Analytics` takes beside the write key. Times are in milliseconds, sizes in bytes. */
export type Options = {
  /** Where Fairlead listens: `http://127.0.0.1:8080` unless said otherwise. `/v1/batch` is added, unless it ends so. */
  readonly endpoint?: string | undefined;
  /** So many calls are sent at once (20, at most 2,500); `size` is the same. 1 sends each call immediately. */
  readonly flushAt?: number | undefined;
  readonly size?: number | undefined;
  /** What is queued is sent when so much time has passed since the last flush (5,000); `interval` is the same. */
  readonly flushAfter?: number | undefined;
  readonly interval?: number | undefined;
  /** The most that a request may hold (512,000). */
  readonly maxBatchSize?: number | undefined;
  /** The most that a call may be (32,768). */
  readonly maxCallSize?: number | undefined;
  readonly queue?: QueueOptions | undefined;
  /** How often a batch is tried again before it is lost (10). */
  readonly retries?: number | undefined;
  /** How long one request may take until its answer is read (10,000). */
  readonly timeout?: number | undefined;
  /** Sent with each request. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Sends the requests, instead of the platform's own. */
  readonly fetch?: Fetch | undefined;
  /** Told of each call that is lost. Without it, losses are written to standard error. */
  readonly onError?: ((error: LostCallError) => void) | undefined;
  /** Told of each call that was taken. */
  readonly onDelivered?: ((call: SentCall) => void) | undefined;
  /** Says on standard error what happens, or to a function, line by line; also switched on by DEBUG=analytics. */
  readonly debug?: boolean | ((line: string) => void) | undefined;
};

export type QueueOptions = {
  /** How many calls may wait, beside those that are being sent (10,000). */
  readonly limit?: number | undefined;
  /** What becomes of a call beyond that ("dropOldest"). */
  readonly whenFull?: WhenFull | undefined;
};

export type Settings = {
  readonly target: Target;
  readonly flushAt: number;
  readonly flushAfterMs: number;
  readonly maxBatchSize: number;
  readonly maxCallSize: number;
  readonly queueLimit: number;
  readonly whenFull: WhenFull;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly fetch: Fetch | undefined;
  readonly onError: Options["onError"];
  readonly onDelivered: Options["onDelivered"];
  readonly debug: NonNullable<Options["debug"]>;
};

/** What a timer can hold: some 24 days. */
const LONGEST_MS = 2 ** 31 - 1;
/** Beyond, the server rejects what a batch has. */
const MOST_IN_BATCH = 2_500;
/** SPEC.md 8. */
export const LIMITS: CallLimits = { maxBatchSize: 500 * 1_024, maxCallSize: 32 * 1_024 };
const MOST = Number.MAX_SAFE_INTEGER;

/** Checks the options and fills in what was left out. Throws an InvalidOptionError. */
export function readOptions(writeKey: string, options: Options): Settings {
  checkShape(options);
  const flushAt = either("flushAt", "size", options);
  const flushAfter = either("flushAfter", "interval", options);
  const { queue = {} } = options;
  return {
    target: readTarget(writeKey, options),
    flushAt: whole(flushAt, options[flushAt] ?? 20, { least: 1, most: MOST_IN_BATCH }),
    flushAfterMs: whole(flushAfter, options[flushAfter] ?? 5_000, { least: 1, most: LONGEST_MS }),
    maxBatchSize: whole("maxBatchSize", options.maxBatchSize ?? LIMITS.maxBatchSize, { least: 1_024, most: MOST }),
    maxCallSize: whole("maxCallSize", options.maxCallSize ?? LIMITS.maxCallSize, { least: 256, most: MOST }),
    queueLimit: whole("queue.limit", queue.limit ?? 10_000, { least: 1, most: MOST }),
    whenFull: only("queue.whenFull", queue.whenFull ?? "dropOldest", ["block", "reject", "dropOldest"]),
    retries: whole("retries", options.retries ?? 10, { least: 0, most: MOST }),
    timeoutMs: whole("timeout", options.timeout ?? 10_000, { least: 1, most: LONGEST_MS }),
    fetch: options.fetch,
    onError: options.onError,
    onDelivered: options.onDelivered,
    debug: options.debug ?? false,
  };
}

/** Two names for one thing, as the Go client has them. */
function either<A extends keyof Options, B extends keyof Options>(name: A, other: B, options: Options): A | B {
  if (options[other] === undefined) return name;
  if (options[name] === undefined) return other;
  throw new InvalidOptionError(`${name} and ${other} are the same: give one of them`);
}
