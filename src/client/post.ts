import type { Cancel, Fetch, FetchResponse } from "./platform.ts";

/** What became of one request. */
export type Answer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly statusText: string;
      /** The header Retry-After. */
      readonly retryAfter: string | null;
      readonly body: string;
    }
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  | { readonly kind: "failed"; readonly cause: unknown }
  | { readonly kind: "aborted" };

/** One that says something of the server, or of the way to it. */
export type FinalAnswer = Exclude<Answer, { kind: "aborted" }>;

type Request = { readonly url: string; readonly headers: Record<string, string>; readonly body: string };

type PostWorld = {
  readonly fetch: Fetch;
  after(ms: number, run: () => void): Cancel;
  readonly timeoutMs: number;
  /** Ends the request when aborted, and the waiting for it even if `fetch` does not listen. */
  readonly signal: AbortSignal;
};

/** Sends one request and reads its answer to the end. Never rejects. */
export function post(request: Request, { fetch, after, timeoutMs, signal }: PostWorld): Promise<Answer> {
  return new Promise((resolve) => {
    const controller = new AbortController();
    const cancel = after(timeoutMs, () => end({ kind: "timeout", timeoutMs }));
    const abort = (): void => end({ kind: "aborted" });
    signal.addEventListener("abort", abort);
    // Both outcomes are taken, also those that come when nobody waits any more: nothing is left unhandled.
    ask(request, fetch, controller.signal).then(end, (cause) => end({ kind: "failed", cause }));

    function end(answer: Answer): void {
      cancel();
      signal.removeEventListener("abort", abort);
      resolve(answer);
      if (answer.kind !== "answered") controller.abort();
    }
  });
}

async function ask({ url, headers, body }: Request, fetch: Fetch, signal: AbortSignal): Promise<Answer> {
  // Redirects are not followed: a POST would become a GET on the way, and lose its calls.
  const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
  const { status, statusText = "" } = response;
  // Somebody's own fetch may answer anything.
  if (typeof status !== "number") throw new TypeError("fetch has answered without a status");
  const retryAfter = response.headers.get("retry-after");
  const named = typeof retryAfter === "string" ? retryAfter : null;
  return { kind: "answered", status, statusText, retryAfter: named, body: await readBody(response) };
}

/** More than any answer of Fairlead's to a batch has. */
const MOST_BYTES = 4 * 1024 * 1024;
const TOO_LARGE = "the answer is larger than 4 MB";

/**
 * The body of an answer as text. What a 2xx says must be read, as it may reject calls: rejects if that cannot be done, or
 * if there is no end of it. Of another the status is enough, and what could be read.
 */
export async function readBody(response: FetchResponse): Promise<string> {
  const taken = response.status >= 200 && response.status < 300;
  try {
    const { text, whole } = await read(response);
    if (taken && !whole) throw new RangeError(TOO_LARGE);
    return text;
  } catch (cause) {
    if (taken) throw cause;
    return "";
  }
}

type Read = { readonly text: string; readonly whole: boolean };
type Stream = NonNullable<FetchResponse["body"]>;

function read(response: FetchResponse): Promise<Read> {
  const { body } = response;
  // A fetch of somebody's own may have no more than the text.
  return body && !isShort(response) ? readStream(body) : readText(response);
}

async function readText(response: FetchResponse): Promise<Read> {
  const text: unknown = await response.text();
  if (typeof text !== "string") throw new TypeError("the answer has no text");
  return { text, whole: true };
}

/** Reading at one go is faster. Of what is compressed, nobody knows how long it gets. */
function isShort({ headers }: FetchResponse): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MOST_BYTES && headers.get("content-encoding") === null;
}

async function readStream(body: Stream): Promise<Read> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let left = MOST_BYTES;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), whole: true };
    if (!value) continue;
    text += decoder.decode(value.subarray(0, left), { stream: true });
    left -= value.length;
    if (left >= 0) continue;
    // Ends the connection as well. What it says to that is of no interest.
    reader.cancel().then(undefined, () => {});
    return { text, whole: false };
  }
}
