import { readBody } from "./answer-body.ts";
import type { Cancel, Fetch } from "./world.ts";

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

export type Request = { readonly url: string; readonly headers: Record<string, string>; readonly body: string };

export type PostWorld = {
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
