/** What `new Analytics({ … })` of @segment/analytics-node takes, in terms of this library's own options. */
import { InvalidOptionError } from "../errors.ts";
import { LONGEST_MS, type Options, readOptions, type Settings } from "../options.ts";
import { type Fetch, type FetchInit, type FetchResponse, platform } from "../platform.ts";
import { show } from "../show.ts";

export type AnalyticsSettings = {
  readonly writeKey: string;
  /** Where Fairlead listens (`http://127.0.0.1:8080`). */
  readonly host?: string | undefined;
  /** The path on the host (`/v1/batch`). */
  readonly path?: string | undefined;
  /** How often a batch is retried (10). */
  readonly maxRetries?: number | undefined;
  /** So many calls are sent at once (15). */
  readonly flushAt?: number | undefined;
  /** The former name of `flushAt`, which wins. */
  readonly maxEventsInBatch?: number | undefined;
  /** The queue is sent after so many milliseconds (10,000). */
  readonly flushInterval?: number | undefined;
  /** How long one request may take, in milliseconds (10,000). */
  readonly httpRequestTimeout?: number | undefined;
  /** Sends nothing: each call counts as delivered. */
  readonly disable?: boolean | undefined;
  /** Sends the requests: a function like `fetch`, or an object with `makeRequest`. */
  readonly httpClient?: HTTPFetchFn | HTTPClient | undefined;
  /** Not there: Fairlead identifies its callers by the write key. */
  readonly oauthSettings?: undefined;
  /** Not there: `maxRetries` bounds the retries. */
  readonly maxTotalBackoffDuration?: undefined;
  /** Not there: closeAndFlush({ timeout }) bounds the waiting. */
  readonly maxRateLimitDuration?: undefined;
  /** Options of this library that the other one does not have, as `queue` and `debug`. */
  readonly fairlead?: Omit<Options, Translated> | undefined;
};

type Translated = "endpoint" | "flushAt" | "size" | "flushAfter" | "interval" | "retries" | "timeout" | Wired;
/** The facade's own. */
type Wired = "fetch" | "onError" | "onDelivered";

export type HTTPFetchFn = (url: string, request: HTTPFetchRequest) => Promise<HTTPResponse>;

export type HTTPFetchRequest = FetchInit;

export type HTTPResponse = {
  readonly status: number;
  readonly statusText: string;
  // biome-ignore lint/suspicious/noExplicitAny: the headers of any HTTP library
  readonly headers?: Record<string, any> | { get(name: string): string | null; entries(): Iterable<[string, any]> };
  readonly text?: () => Promise<string>;
};

export type HTTPClientRequest = {
  url: string;
  method: "POST";
  headers: Record<string, string>;
  body: string;
  /** In milliseconds. */
  httpRequestTimeout: number;
};

export type HTTPClient = { makeRequest(request: HTTPClientRequest): Promise<HTTPResponse> };

/** An HTTPClient that uses a function like `fetch`, or the platform's own. */
export class FetchHTTPClient implements HTTPClient {
  readonly #fetch: HTTPFetchFn;

  constructor(fetch: HTTPFetchFn = platform.fetch) {
    this.#fetch = fetch;
  }

  makeRequest({ url, method, headers, body, httpRequestTimeout }: HTTPClientRequest): Promise<HTTPResponse> {
    const signal = AbortSignal.timeout(httpRequestTimeout);
    return this.#fetch(url, { method, headers, body, signal, redirect: "manual" });
  }
}

type Listeners = Pick<Options, "onError" | "onDelivered"> & { readonly told: Told };

type Told = {
  request(request: Omit<HTTPClientRequest, "httpRequestTimeout">): void;
  response(response: HTTPResponse, headers: Record<string, string>, sent: { url: string; body: string }): void;
};

/** This library's settings that say the same. Throws an InvalidOptionError with the other library's names. */
export function readSettings(settings: AnalyticsSettings, { told, ...listeners }: Listeners): Settings {
  checkUnsupported(settings);
  const { writeKey, flushAt, maxEventsInBatch, flushInterval, httpRequestTimeout, maxRetries, fairlead } = settings;
  const options = {
    ...fairlead,
    endpoint: new URL(urlOf(settings)).origin,
    flushAt: within(flushAt ?? maxEventsInBatch ?? 15, MOST_IN_BATCH),
    flushAfter: within(flushInterval ?? 10_000, LONGEST_MS),
    timeout: httpRequestTimeout,
    retries: maxRetries,
  };
  const fetch = createFetch(settings, told);
  try {
    return readOptions(writeKey, { ...options, ...listeners, fetch });
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    throw new InvalidOptionError(error.message.replace(/^\w+/, (name) => THEIR_NAMES[name] ?? name));
  }
}

const THEIR_NAMES: Readonly<Record<string, string>> = {
  flushAfter: "flushInterval",
  timeout: "httpRequestTimeout",
  retries: "maxRetries",
};

/** More than that, a server rejects. */
const MOST_IN_BATCH = 2_500;

/** There, 0 counts as 1. */
function within(value: number, most: number): number {
  return typeof value === "number" ? Math.min(most, Math.max(1, value)) : value;
}

const INSTEAD: Readonly<Record<string, string>> = {
  oauthSettings: "Fairlead identifies its callers by the write key",
  maxTotalBackoffDuration: "use maxRetries, or closeAndFlush({ timeout })",
  maxRateLimitDuration: "use closeAndFlush({ timeout })",
};

function checkUnsupported(settings: AnalyticsSettings): void {
  if (typeof settings !== "object" || settings === null) {
    throw new InvalidOptionError(`new Analytics needs an object with the writeKey (got ${show(settings)})`);
  }
  if (!settings.writeKey) throw new InvalidOptionError("writeKey is missing.");
  const given = Object.entries(INSTEAD).find(([name]) => Object(settings)[name] !== undefined);
  if (given) throw new InvalidOptionError(`${given[0]} is not supported: ${given[1]}`);
}

/** Where requests go: the path on the host, to the letter. A path in `host` itself does not count, there as here. */
function urlOf({ host = "http://127.0.0.1:8080", path = "/v1/batch" }: AnalyticsSettings): string {
  const url = parse(path, host);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const given = `(got ${show(host)} and ${show(path)})`;
    throw new InvalidOptionError(`host must be an http or https URL, and path a path ${given}`);
  }
  if (url.username === "" && url.password === "") return url.href.replace(/\/$/, "");
  throw new InvalidOptionError("host must not contain a user or a password: fetch does not accept them");
}

function parse(path: string, host: string): URL | null {
  try {
    return new URL(path, host);
  } catch {
    return null;
  }
}

/** Sends the requests as the settings say, and tells of each and of its answer. */
function createFetch(settings: AnalyticsSettings, told: Told): Fetch {
  if (settings.disable) return async () => adapt(TAKEN, {});
  const url = urlOf(settings);
  const { httpClient = platform.fetch, httpRequestTimeout = 10_000 } = settings;
  // The address that the library has made of its endpoint always ends in /v1/batch.
  return async (_, init) => {
    const { method, headers, body } = init;
    const request = { url, method, headers, body };
    told.request(request);
    const response =
      typeof httpClient === "function"
        ? await httpClient(url, init)
        : await httpClient.makeRequest({ ...request, httpRequestTimeout });
    const received = readHeaders(response.headers);
    told.response(response, received, request);
    return adapt(response, received);
  };
}

const TAKEN: HTTPResponse = { status: 200, statusText: "OK" };

/** The names in lower case. */
function readHeaders(headers: HTTPResponse["headers"] = {}): Record<string, string> {
  const pairs = typeof headers.entries === "function" ? [...headers.entries()] : Object.entries(headers);
  return Object.fromEntries(pairs.map(([name, value]) => [String(name).toLowerCase(), String(value)]));
}

/** The answer of a program's own HTTP client may have no body; its 2xx is then believed. */
function adapt(response: HTTPResponse, headers: Record<string, string>): FetchResponse {
  const { status, statusText } = response;
  const body = bodyOf(response);
  return {
    status,
    statusText,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    text: async () => (response.text ? response.text() : '{"success":true}'),
    ...(body && { body }),
  };
}

/** Streams of other kinds, as those of node-fetch, are read by `text`. */
function bodyOf(response: object): FetchResponse["body"] {
  const { body } = response as { readonly body?: FetchResponse["body"] };
  return typeof body?.getReader === "function" ? body : undefined;
}
