import type { Attributes, SentCall } from "./calls.ts";
import { type CallLimits, VERSION } from "./envelope.ts";
import { InvalidOptionError, type LostCallError, type SpoolError } from "./errors.ts";
import type { Fetch } from "./platform.ts";
import type { WhenFull } from "./queue.ts";
import { base64, createMask, kindOf, type Mask, show, showCauses } from "./show.ts";
import { readObject } from "./write.ts";

/** What `new Analytics` takes beside the write key. Times are in milliseconds, sizes in bytes. */
export type Options = {
  /** Where Fairlead listens (`http://127.0.0.1:8080`). `/v1/batch` is added unless it ends so. */
  readonly endpoint?: string | undefined;
  /** So many calls are sent at once (20, at most 2,500); `size` is the same. 1 sends each call immediately. */
  readonly flushAt?: number | undefined;
  readonly size?: number | undefined;
  /** The queue is sent when so much time has passed since the last flush (5,000); `interval` is the same. */
  readonly flushAfter?: number | undefined;
  readonly interval?: number | undefined;
  /** The largest request (512,000). */
  readonly maxBatchSize?: number | undefined;
  /** The largest call (32,768). */
  readonly maxCallSize?: number | undefined;
  readonly queue?: QueueOptions | undefined;
  /** Keeps calls on disk until the server has taken them. Needs Node, Bun or Deno. */
  readonly spool?: SpoolOptions | undefined;
  /** How often a batch is retried before it is lost (10). */
  readonly retries?: number | undefined;
  /** How long one request may take until its answer is read (10,000). */
  readonly timeout?: number | undefined;
  /** The context of every call. What a call has in its own context comes before it, key by key. Read once, at the start. */
  readonly context?: Attributes | undefined;
  /** Sent with each request. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Sends the requests, instead of the platform's own `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Called for each call that is lost. Without it, losses are written to standard error. */
  readonly onError?: ((error: LostCallError) => void) | undefined;
  /** Called for each call that the server has taken. */
  readonly onDelivered?: ((call: SentCall) => void) | undefined;
  /**
   * Sends the queue when the process gets SIGTERM or SIGINT, or has nothing left to do; then lets it end as it would have
   * (false).
   */
  readonly closeOnSignal?: boolean | CloseOnSignal | undefined;
  /** Writes what happens to standard error, or to a function, line by line; DEBUG=analytics switches it on, too. */
  readonly debug?: boolean | ((line: string) => void) | undefined;
};

type QueueOptions = {
  /** The most calls that are queued, beside those that are being sent (10,000). */
  readonly limit?: number | undefined;
  /** What happens to a call beyond that ("dropOldest"). */
  readonly whenFull?: WhenFull | undefined;
};

type CloseOnSignal = {
  /** How long it may take (5,000). */
  readonly timeout?: number | undefined;
  /** Called with the calls that could not be delivered in time, unless they are in a spool. Without it, they are lost. */
  readonly onUndelivered?: ((calls: readonly SentCall[]) => void) | undefined;
};

type SpoolOptions = {
  /** For the files of the spool. Several processes may share it. */
  readonly directory: string;
  /** The most that the calls of this client may take there (100 MB). */
  readonly maxBytes?: number | undefined;
  /**
   * "interval": the disk is synced each second, and a power cut may lose the calls since then. "always": a call's promise resolves when
   * the call is on the disk. Whichever it is, the end of the process loses nothing ("interval").
   */
  readonly fsync?: "always" | "interval" | undefined;
  /** Called when the spool is full, cannot be written, or is damaged. Without it, that is written to standard error. */
  readonly onError?: ((error: SpoolError) => void) | undefined;
};

export type SpoolSettings = {
  readonly directory: string;
  readonly maxBytes: number;
  readonly fsync: "always" | "interval";
  readonly onError: SpoolOptions["onError"];
};

export type Settings = {
  readonly target: Target;
  readonly flushAt: number;
  readonly flushAfterMs: number;
  readonly maxBatchSize: number;
  readonly maxCallSize: number;
  readonly queueLimit: number;
  readonly whenFull: WhenFull;
  readonly spool: SpoolSettings | null;
  readonly retries: number;
  readonly timeoutMs: number;
  /** As JSON will have it. */
  readonly context: Readonly<Record<string, unknown>> | undefined;
  readonly fetch: Fetch | undefined;
  readonly onError: Options["onError"];
  readonly onDelivered: Options["onDelivered"];
  readonly closeOnSignal: { readonly timeoutMs: number; readonly onUndelivered: CloseOnSignal["onUndelivered"] } | null;
  readonly debug: NonNullable<Options["debug"]>;
};

/** The most that a timer can hold: about 24 days. */
export const LONGEST_MS = 2 ** 31 - 1;
/** The server rejects the calls of a batch beyond that. */
const MOST_IN_BATCH = 2_500;
/** SPEC.md 8. */
export const LIMITS: CallLimits = { maxBatchSize: 500 * 1_024, maxCallSize: 32 * 1_024 };

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
    maxBatchSize: whole("maxBatchSize", options.maxBatchSize ?? LIMITS.maxBatchSize, { least: 1_024 }),
    maxCallSize: whole("maxCallSize", options.maxCallSize ?? LIMITS.maxCallSize, { least: 256 }),
    queueLimit: whole("queue.limit", queue.limit ?? 10_000, { least: 1 }),
    whenFull: readWhenFull(queue.whenFull ?? "dropOldest"),
    spool: options.spool === undefined ? null : readSpool(options.spool),
    retries: whole("retries", options.retries ?? 10, { least: 0 }),
    timeoutMs: whole("timeout", options.timeout ?? 10_000, { least: 1, most: LONGEST_MS }),
    context: readContext(options),
    fetch: options.fetch,
    onError: options.onError,
    onDelivered: options.onDelivered,
    closeOnSignal: readCloseOnSignal(options.closeOnSignal ?? false),
    debug: options.debug ?? false,
  };
}

/** Two names for one thing, as the Go client has them. */
function either<A extends keyof Options, B extends keyof Options>(name: A, other: B, options: Options): A | B {
  if (options[other] === undefined) return name;
  if (options[name] === undefined) return other;
  throw new InvalidOptionError(`${name} and ${other} are the same option: set only one of them`);
}

const KNOWN =
  "endpoint, flushAt, size, flushAfter, interval, maxBatchSize, maxCallSize, queue, spool, retries, timeout, context, headers, fetch, onError, onDelivered, closeOnSignal, debug";
const FUNCTIONS = ["fetch", "onError", "onDelivered"] as const;

/** The options of other clients, and what to use here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  writeKey: "pass it as the first argument",
  host: "use endpoint",
  path: "make it part of endpoint",
  dataPlaneUrl: "use endpoint",
  maxEventsInBatch: "use flushAt",
  flushInterval: "use flushAfter",
  maxRetries: "use retries",
  httpRequestTimeout: "use timeout",
  httpClient: "use fetch",
  disable: "set fetch to that of a memoryTransport",
  verbose: "use debug",
  errorHandler: "use onError",
  maxQueueSize: "use queue.limit",
};

/** Programs in JavaScript pass anything. An option that would be ignored is refused. */
function checkShape(options: Options): void {
  checkObject("the options", options);
  const { queue = {}, headers = {}, debug = false } = options;
  checkObject("queue", queue);
  checkNames(options, queue);
  // Headers, a Map and a list of pairs have no keys that could be read.
  if (typeof headers === "object" && headers !== null && Symbol.iterator in headers) {
    throw new InvalidOptionError("headers must be a plain object: pass Object.fromEntries(headers)");
  }
  checkObject("headers", headers);
  const noFunction = FUNCTIONS.find((name) => options[name] !== undefined && typeof options[name] !== "function");
  if (noFunction) throw wrong(noFunction, "a function", options[noFunction]);
  if (typeof debug !== "boolean" && typeof debug !== "function")
    throw wrong("debug", "true, false or a function", debug);
}

function checkNames(options: Options, queue: QueueOptions): void {
  const unknown = Object.keys(options).find((name) => !KNOWN.split(", ").includes(name));
  if (unknown !== undefined) {
    const hint = Object.hasOwn(ELSEWHERE, unknown) ? ELSEWHERE[unknown] : `the options are ${KNOWN}`;
    throw new InvalidOptionError(`there is no option ${unknown}: ${hint}`);
  }
  const inQueue = Object.keys(queue).find((name) => name !== "limit" && name !== "whenFull");
  if (inQueue === undefined) return;
  throw new InvalidOptionError(`there is no option queue.${inQueue}: the options are queue.limit and queue.whenFull`);
}

function checkObject(name: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(name, "an object", value);
}

function wrong(name: string, wanted: string, value: unknown): InvalidOptionError {
  return new InvalidOptionError(`${name} must be ${wanted} (got ${kindOf(value)})`);
}

function whole(name: string, value: unknown, { least, most = Infinity }: { least: number; most?: number }): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new InvalidOptionError(`${name} must be a whole number ${range} (got ${show(value)})`);
}

function readWhenFull(value: WhenFull): WhenFull {
  if (value === "block" || value === "reject" || value === "dropOldest") return value;
  throw new InvalidOptionError(`queue.whenFull must be block, reject or dropOldest (got ${show(value)})`);
}

/** A copy, as JSON has it: what the program changes later does not change the calls. */
function readContext({ context }: Options): Settings["context"] {
  try {
    const given = readObject({ context }, "context");
    return given && JSON.parse(JSON.stringify(given));
  } catch (error) {
    throw new InvalidOptionError(showCauses(error));
  }
}

function readCloseOnSignal(given: boolean | CloseOnSignal): Settings["closeOnSignal"] {
  if (given === false) return null;
  const options = given === true ? {} : given;
  checkObject("closeOnSignal", options);
  const { timeout = 5_000, onUndelivered, ...unknown } = options;
  const [name] = Object.keys(unknown);
  if (name !== undefined) {
    const known = "closeOnSignal.timeout and closeOnSignal.onUndelivered";
    throw new InvalidOptionError(`there is no option closeOnSignal.${name}: the options are ${known}`);
  }
  if (onUndelivered !== undefined && typeof onUndelivered !== "function")
    throw wrong("closeOnSignal.onUndelivered", "a function", onUndelivered);
  return { timeoutMs: whole("closeOnSignal.timeout", timeout, { least: 0, most: LONGEST_MS }), onUndelivered };
}

/** A small spool has segments of a few calls. */
const LEAST_SPOOL_BYTES = 1_048_576;

function readSpool(spool: SpoolOptions): SpoolSettings {
  checkObject("spool", spool);
  const { directory, maxBytes = 100 * 1_048_576, fsync = "interval", onError, ...unknown } = spool;
  const [name] = Object.keys(unknown);
  if (name !== undefined) {
    const known = "spool.directory, spool.maxBytes, spool.fsync and spool.onError";
    throw new InvalidOptionError(`there is no option spool.${name}: the options are ${known}`);
  }
  if (typeof directory !== "string" || directory === "") throw wrong("spool.directory", "a path", directory);
  if (fsync !== "always" && fsync !== "interval") {
    throw new InvalidOptionError(`spool.fsync must be always or interval (got ${show(fsync)})`);
  }
  if (onError !== undefined && typeof onError !== "function") throw wrong("spool.onError", "a function", onError);
  return { directory, maxBytes: whole("spool.maxBytes", maxBytes, { least: LEAST_SPOOL_BYTES }), fsync, onError };
}

/** Where requests go, the headers that they all have, and what hides the write key in their answers. */
type Target = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly mask: Mask;
};

const DEFAULT_ENDPOINT = "http://127.0.0.1:8080";

/** Throws an InvalidOptionError, which never shows the write key. */
export function readTarget(
  writeKey: unknown,
  { endpoint = DEFAULT_ENDPOINT, headers = {} }: Pick<Options, "endpoint" | "headers">,
): Target {
  if (typeof writeKey !== "string" || writeKey === "") {
    throw new InvalidOptionError("the first argument must be the write key of a source, a string that is not empty");
  }
  const own = {
    "Content-Type": "application/json",
    "User-Agent": `fairlead-client (version: ${VERSION})`,
    Authorization: `Basic ${base64(`${writeKey}:`)}`,
  };
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
  return { url: readUrl(endpoint), headers: { ...headers, ...own }, mask: createMask(writeKey) };
}

function readUrl(endpoint: string): string {
  const url = parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidOptionError(`endpoint must be an http or https URL (got ${show(endpoint)})`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidOptionError("endpoint must not contain a user or a password: fetch does not accept them");
  }
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = `${path.replace(/\/v1(?:\/batch)?$/, "")}/v1/batch`;
  url.hash = "";
  return url.href;
}

function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Headers that the client sets itself, and those of the connection. */
const RESERVED =
  /^(authorization|content-type|content-length|content-encoding|user-agent|host|connection|transfer-encoding|x-retry-count)$/i;

/** An invalid header would fail every request. */
function checkHeader(name: string, value: unknown): void {
  const shown = `headers[${JSON.stringify(name)}]`;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new InvalidOptionError(`${shown} is not a valid header name`);
  if (RESERVED.test(name)) throw new InvalidOptionError(`${shown} is set by the client itself`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a header must not have
  if (typeof value === "string" && !/[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]/.test(value)) return;
  throw new InvalidOptionError(`${shown} has a value that is not valid in a header`);
}
