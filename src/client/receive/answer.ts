import type { ReceivedCall } from "./calls.ts";
import { parseCall } from "./parse.ts";
import { readSignature, verifySignature } from "./signature.ts";

/** A request as it came, whatever server took it. */
export type Incoming = {
  readonly method: string;
  readonly header: (name: "content-length" | "x-signature") => unknown;
  readonly body: AsyncIterable<Uint8Array>;
};

export type ReceiveOptions = {
  /**
   * The largest body that is read, in bytes; 4 MB when left out. What Fairlead sends for a call of at most 1 MB, which is
   * the most that `ingest.maxCall` allows, is always smaller than that.
   */
  readonly maxBytes?: number;
  /** Hears of what the handler has thrown; console.error when left out. The request is answered 500, whatever this does. */
  readonly onError?: (error: unknown, call: ReceivedCall) => unknown;
};

/** A call that Fairlead has sent; or what to answer to a request that cannot be one. */
export type Received =
  | { readonly kind: "call"; readonly call: ReceivedCall }
  | { readonly kind: "refused"; readonly answer: Response };

export type Wanted = Pick<ReceiveOptions, "maxBytes"> & { readonly secrets: readonly string[] };

const MOST_BYTES = 4 * 1024 * 1024;

/** Reads, verifies and parses a webhook. A request that cannot be signed rightly is refused before its body is read. */
export async function readWebhook(incoming: Incoming, { secrets, maxBytes = MOST_BYTES }: Wanted): Promise<Received> {
  if (incoming.method !== "POST") return refuse("method_not_allowed");
  const signature = readSignature(incoming.header("x-signature"));
  if (signature === null) return refuse("wrong_signature");
  if (Number(incoming.header("content-length") ?? 0) > maxBytes) return refuse("body_too_large");
  const body = await readBody(incoming.body, maxBytes);
  if (typeof body === "string") return refuse(body);
  if (!verifySignature(body, signature, secrets)) return refuse("wrong_signature");
  const parsed = parseCall(body);
  return parsed.kind === "call" ? parsed : refuse("malformed", parsed.message);
}

type Refusal = keyof typeof REFUSALS;

async function readBody(body: Incoming["body"], maxBytes: number): Promise<Uint8Array | Refusal> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > maxBytes) return "body_too_large";
      chunks.push(chunk);
    }
  } catch {
    return "body_unreadable";
  }
  // No webhook is empty: on Node, this is what is left of a body that was read before.
  return length === 0 ? "body_unreadable" : join(chunks, length);
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

const REFUSALS = {
  method_not_allowed: [405, "webhooks come by POST"],
  wrong_signature: [401, "X-Signature is not that of this body with the shared secret"],
  body_too_large: [413, "the body is larger than a webhook is"],
  // The receiver's own mistake, if anybody hears of it: Fairlead is to try again.
  body_unreadable: [
    500,
    "the body could not be read; does something before this receiver read it, as a parser of JSON?",
  ],
  malformed: [400, ""],
} as const;

function refuse(code: Refusal, why?: string): Received {
  const [status, message] = REFUSALS[code];
  return { kind: "refused", answer: fault(status, { code, message: why ?? message }) };
}

function fault(status: number, said: { readonly code: string; readonly message: string }): Response {
  const headers = { "Content-Type": "application/json", ...(status === 405 && { Allow: "POST" }) };
  return new Response(JSON.stringify(said), { status, headers });
}

/** What is answered for a call: what the handler says, 204 if it says nothing, and 500 if it throws. */
export async function handled(
  call: ReceivedCall,
  { handle, onError = logError }: Pick<ReceiveOptions, "onError"> & { readonly handle: () => unknown },
): Promise<Response> {
  try {
    return toAnswer(await handle());
  } catch (error) {
    // Never rejects, and is not waited for: Fairlead is to hear at once.
    void tell(onError, { error, call });
    return fault(500, { code: "handler_failed", message: "the receiver could not handle this call" });
  }
}

/** Whatever `onError` does, at once or later, it is written down. */
async function tell(
  onError: NonNullable<ReceiveOptions["onError"]>,
  { error, call }: { readonly error: unknown; readonly call: ReceivedCall },
): Promise<void> {
  try {
    await onError(error, call);
  } catch (another) {
    logError(another, call);
  }
}

/** The handler's own answer, or 204: this call is done. Throws a TypeError at one that no server can send. */
export function toAnswer(outcome: unknown): Response {
  if (!(outcome instanceof Response)) return new Response(null, { status: 204 });
  // `Response.error()` has none, and is what a `fetch` that failed may have been made into.
  if (outcome.status >= 200) return outcome;
  throw new TypeError(`the handler has returned a Response of the status ${outcome.status}, which cannot be sent`);
}

function logError(error: unknown, call: ReceivedCall): void {
  console.error(`cannot handle a webhook of the type ${call.type}:`, error);
}
