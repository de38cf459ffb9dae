import type { PostRequest, Reply } from "../model/ports.ts";
import { KB } from "../model/units.ts";
import { readStart } from "./answer-start.ts";
import { replyToError } from "./post-error.ts";

/** Said outright: NODE_TLS_REJECT_UNAUTHORIZED in the environment would switch the check off. */
const CHECKED = { rejectUnauthorized: true };
const NO_BODY = Promise.resolve("");

/** POSTs with Bun's `fetch`, which runs at most 256 requests in the process: whoever calls this keeps below. */
export async function postWithFetch({ url, headers, body, signal }: PostRequest): Promise<Reply> {
  try {
    // A compressed answer stays compressed: unpacked, a few KB can become gigabytes.
    const init = { method: "POST", headers, body, signal, redirect: "manual", decompress: false } as const;
    return toReply(await fetch(url, url.startsWith("https:") ? { ...init, tls: CHECKED } : init));
  } catch (error) {
    return replyToError(error, signal);
  }
}

function toReply(response: Response): Reply {
  const { status, headers } = response;
  const body = bodyStart(response);
  // Every look at a header costs, and on a success neither of these two means anything.
  if (status < 300) return { kind: "answered", status, retryAfter: null, location: null, body };
  return { kind: "answered", status, retryAfter: headers.get("retry-after"), location: headers.get("location"), body };
}

function bodyStart(response: Response): Promise<string> {
  const length = response.headers.get("content-length");
  // A chunked body is as long as the receiver likes, whatever length it declares besides.
  if (length === null || Number(length) > KB || response.headers.has("transfer-encoding")) {
    return response.body === null ? NO_BODY : readStart(response.body, length);
  }
  return length === "0" ? NO_BODY : response.text().catch(() => "");
}
