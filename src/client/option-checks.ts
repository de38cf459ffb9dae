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

/** An option that does not exist is a slip of its writer, and would else do nothing without a word. */
export function checkNames(options: Options): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(KNOWN, name));
  if (unknown !== undefined) {
    const known = `there are ${Object.keys(KNOWN).join(", ")}`;
    throw new InvalidOptionError(`there is no option ${unknown}: ${ELSEWHERE[unknown] ?? known}`);
  }
  const inQueue = Object.keys(options.queue ?? {}).find((name) => !Object.hasOwn(KNOWN_IN_QUEUE, name));
  if (inQueue !== undefined) {
    throw new InvalidOptionError(`there is no option queue.${inQueue}: there are queue.limit and queue.whenFull`);
  }
  const noFunction = FUNCTIONS.find((name) => options[name] !== undefined && typeof options[name] !== "function");
  if (noFunction) throw new InvalidOptionError(`${noFunction} must be a function (got ${typeof options[noFunction]})`);
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
