import { InvalidOptionError } from "./errors.ts";
import type { Options, QueueOptions } from "./options.ts";
import { show } from "./show.ts";

const KNOWN: Readonly<Record<keyof Options, true>> = {
  ...{ endpoint: true, flushAt: true, size: true, flushAfter: true, interval: true },
  ...{ maxBatchSize: true, maxCallSize: true, queue: true, retries: true, timeout: true },
  ...{ headers: true, fetch: true, onError: true, onDelivered: true, debug: true },
};
const KNOWN_IN_QUEUE: Readonly<Record<keyof QueueOptions, true>> = { limit: true, whenFull: true };
const FUNCTIONS = ["fetch", "onError", "onDelivered"] as const;

/** What options of other clients are called here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  writeKey: "it is the first argument",
  host: "it is endpoint here",
  path: "it is part of endpoint here",
  dataPlaneUrl: "it is endpoint here",
  maxEventsInBatch: "it is flushAt here",
  flushInterval: "it is flushAfter here",
  maxRetries: "it is retries here",
  httpRequestTimeout: "it is timeout here",
  httpClient: "it is fetch here",
  disable: "give the fetch of a memoryTransport",
  verbose: "it is debug here",
  errorHandler: "it is onError here",
  maxQueueSize: "it is queue.limit here",
};

/** Programs in JavaScript give anything. What would do nothing, without a word, is refused. */
export function checkShape(options: Options): void {
  checkObject("the options", options);
  checkNames(options);
  const { queue = {}, headers = {}, debug = false } = options;
  checkObject("queue", queue);
  checkNamesInQueue(queue);
  if (hasIterator(headers)) {
    throw new InvalidOptionError("headers must be a plain object: give Object.fromEntries(headers)");
  }
  checkObject("headers", headers);
  const noFunction = FUNCTIONS.find((name) => options[name] !== undefined && typeof options[name] !== "function");
  if (noFunction) throw wrong(noFunction, "a function", options[noFunction]);
  if (typeof debug !== "boolean" && typeof debug !== "function")
    throw wrong("debug", "true, false or a function", debug);
}

/** An option that does not exist is a slip of its writer. */
function checkNames(options: Options): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(KNOWN, name));
  if (unknown === undefined) return;
  const known = `there are ${Object.keys(KNOWN).join(", ")}`;
  const hint = Object.hasOwn(ELSEWHERE, unknown) ? ELSEWHERE[unknown] : known;
  throw new InvalidOptionError(`there is no option ${unknown}: ${hint}`);
}

function checkNamesInQueue(queue: QueueOptions): void {
  const unknown = Object.keys(queue).find((name) => !Object.hasOwn(KNOWN_IN_QUEUE, name));
  if (unknown === undefined) return;
  throw new InvalidOptionError(`there is no option queue.${unknown}: there are queue.limit and queue.whenFull`);
}

function checkObject(name: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(name, "an object", value);
}

/** Headers, a Map and a list of pairs have no keys that could be read. */
function hasIterator(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

function wrong(name: string, wanted: string, value: unknown): InvalidOptionError {
  return new InvalidOptionError(`${name} must be ${wanted} (got ${kindOf(value)})`);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export function whole(name: string, value: unknown, { least, most }: { least: number; most: number }): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new InvalidOptionError(`${name} must be a whole number ${range} (got ${show(value)})`);
}

export function only<T extends string>(name: string, value: T, known: readonly T[]): T {
  if (known.includes(value)) return value;
  throw new InvalidOptionError(`${name} must be ${known.join(", ")} (got ${show(value)})`);
}
