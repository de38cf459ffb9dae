import type { SentCall } from "./calls.ts";
import type { Fetch, FetchInit, FetchResponse } from "./platform.ts";
import { is2xx } from "./post.ts";

/** A request as it would have gone out. */
export type MemoryRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly calls: readonly SentCall[];
};

/** What the server answers: a status, or more of the answer. `success` is added to the body unless it is given. */
export type MemoryAnswer =
  | number
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: object };

export type MemoryTransport = {
  /** For the client: `new Analytics("test", { fetch: transport.fetch })`. */
  readonly fetch: Fetch;
  /** The calls of all requests that were answered with a 2xx, in order. */
  readonly calls: readonly SentCall[];
  /** All requests, including those that were refused. */
  readonly requests: readonly MemoryRequest[];
  /** Empties both lists. */
  clear(): void;
};

/**
 * A transport for tests: requests are recorded instead of sent. `answer` stands for the server; if it throws, the network
 * has failed.
 */
export function memoryTransport(
  answer: (request: MemoryRequest) => MemoryAnswer | Promise<MemoryAnswer> = () => 200,
): MemoryTransport {
  const calls: SentCall[] = [];
  const requests: MemoryRequest[] = [];

  return {
    calls,
    requests,
    async fetch(url, { headers, body }: FetchInit) {
      const request = { url, headers, calls: JSON.parse(body).batch };
      requests.push(request);
      const answered = await answer(request);
      const response = typeof answered === "number" ? { status: answered } : answered;
      if (is2xx(response.status)) calls.push(...request.calls);
      return respond(response);
    },
    clear() {
      calls.length = 0;
      requests.length = 0;
    },
  };
}

function respond({ status, headers = {}, body }: Exclude<MemoryAnswer, number>): FetchResponse {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    status,
    statusText: "",
    headers: { get: (name) => lower.get(name.toLowerCase()) ?? null },
    text: async () => JSON.stringify({ success: is2xx(status), ...body }),
  };
}
