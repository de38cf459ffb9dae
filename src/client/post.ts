import type { Cancel, Fetch, FetchResponse } from "./platform.ts";

/** The result of one request. */
export type Answer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly statusText: string;
      /** The header Retry-After. */
      readonly retryAfter: string | null;
      /** The header Location of a redirect. */
      readonly location?: string;
      readonly body: string;
    }
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  | { readonly kind: "failed"; readonly cause: unknown }
  | { readonly kind: "aborted" };

/** A result that says something about the server, or about the way to it. */
export type FinalAnswer = Exclude<Answer, { kind: "aborted" }>;

type Request = { readonly url: string; readonly headers: Record<string, string>; readonly body: string };

type Bounds = {
  readonly fetch: Fetch;
  after(ms: number, run: () => void): Cancel;
  readonly timeoutMs: number;
  /** Ends the request, and the wait for it even if `fetch` ignores its signal. */
  readonly signal: AbortSignal;
};

/** Sends one request and reads its answer to the end. Never rejects. */
export function post(request: Request, { fetch, after, timeoutMs, signal }: Bounds): Promise<Answer> {
  return new Promise((resolve) => {
    const controller = new AbortController();
    const cancel = after(timeoutMs, () => end({ kind: "timeout", timeoutMs }));
    const abort = (): void => end({ kind: "aborted" });
    signal.addEventListener("abort", abort);
    // Both outcomes are handled, also when they come after the end: no rejection is left unhandled.
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
  // The program's own fetch may answer anything.
  if (typeof status !== "number") throw new TypeError("fetch returned an answer without a status");
  const header = (name: string): string | null => {
    const value: unknown = response.headers.get(name);
    return typeof value === "string" ? value : null;
  };
  const location = status >= 300 && status < 400 ? header("location") : null;
  const answer = { kind: "answered", status, statusText, retryAfter: header("retry-after") } as const;
  return { ...answer, ...(location !== null && { location }), body: await readBody(response) };
}

export function is2xx(status: number): boolean {
  return status >= 200 && status < 300;
}

/** More than Fairlead's answer to any batch. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * The body of an answer as text. A 2xx may reject calls, so all of it must be read: rejects if that fails, or if the body
 * is too large. Of other answers the status is enough, and what could be read.
 */
export async function readBody(response: FetchResponse): Promise<string> {
  const { body, status } = response;
  const mustBeWhole = is2xx(status);
  try {
    return await (body && !isShort(response) ? readStream(body, mustBeWhole) : readText(response));
  } catch (cause) {
    if (mustBeWhole) throw cause;
    return "";
  }
}

async function readText(response: FetchResponse): Promise<string> {
  const text: unknown = await response.text();
  if (typeof text !== "string") throw new TypeError("the answer has no text");
  return text;
}

/** Reading it in one go is faster. The length of a compressed body does not bound its text. */
function isShort({ headers }: FetchResponse): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MOST_BYTES && headers.get("content-encoding") === null;
}

async function readStream(body: NonNullable<FetchResponse["body"]>, mustBeWhole: boolean): Promise<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let left = MOST_BYTES;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    if (!value) continue;
    text += decoder.decode(value.subarray(0, left), { stream: true });
    left -= value.length;
    if (left >= 0) continue;
    // Closes the connection as well. Whether that fails is of no interest.
    reader.cancel().then(undefined, () => {});
    if (mustBeWhole) throw new RangeError("the answer is larger than 4 MB");
    return text;
  }
}
