import { verify } from "../../webhook/signature.ts";
import { parseCall, type ReceivedCall } from "./calls.ts";

/** A shared secret; or several of them, while one takes the place of another. */
export type Secrets = string | readonly string[];

/**
 * Whether the value of `X-Signature` was made over this body, byte for byte as it came, with one of these secrets
 * (SPEC.md 5.4). Takes the same time for any wrong one. Whatever the header is, absent or several or no text, the answer
 * is a boolean; an empty secret and a body that was parsed already are mistakes of the program, and throw a TypeError.
 */
export function verifySignature(body: string | Uint8Array, header: unknown, secret: Secrets): boolean {
  const secrets = readSecrets(secret);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw new TypeError(PARSED);
  const signature = readSignature(header);
  if (signature === null) return false;
  // Each is tried, so that the time does not tell which one it was.
  return secrets.map((one) => verify(body, signature, one)).includes(true);
}

const PARSED = "a signature is made over the body as it came: give its text or bytes, and parse them afterwards";

/** Throws a TypeError for none, and for an empty one: with that, anybody could sign. */
export function readSecrets(secret: Secrets): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length === 0 || !secrets.every(isSecret)) throw new TypeError(NO_SECRET);
  return secrets;
}

const NO_SECRET = "there is no secret to verify webhooks with: give the destination's sharedSecret, which is not empty";

function isSecret(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Null if it cannot be a signature. Servers give a header as text, or as a list of its values. */
export function readSignature(header: unknown): string | null {
  const value: unknown = Array.isArray(header) && header.length === 1 ? header[0] : header;
  return typeof value === "string" && /^[\da-f]{40}$/.test(value) ? value : null;
}

/**
 * Handles one call. When it has returned, the call is done, and Fairlead does not send it again; when it throws, Fairlead
 * does. A Response that it returns is the answer: a 5xx asks for the call again, a 422 says that it will never be taken.
 */
export type Handler = (call: ReceivedCall, request: Request) => unknown;

/**
 * Makes a receiver for `Bun.serve`, `Deno.serve` and whatever else answers a Request with a Response. It takes only what is
 * signed with the secret, answers the rest itself (401, 405, 413, 400), and never rejects. Throws a TypeError without a
 * secret.
 */
export function receiver(
  secret: Secrets,
  handler: Handler,
  options: ReceiveOptions = {},
): (request: Request) => Promise<Response> {
  const secrets = readSecrets(secret);
  return async function receive(request) {
    const received = await readWebhook(incomingOf(request), { ...options, secrets });
    if (received.kind === "refused") return received.answer;
    const { call } = received;
    return handled(call, { ...options, handle: () => handler(call, request) });
  };
}

/** A request of the web's kind, as it is read here. */
export function incomingOf(request: Request): Incoming {
  return { method: request.method, header: (name) => request.headers.get(name), body: chunksOf(request) };
}

/** Begins to read only when it is asked to; throws if somebody else has. */
async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  if (request.bodyUsed) throw new TypeError("the body was read before");
  if (request.body !== null) yield* request.body as unknown as AsyncIterable<Uint8Array>;
}

/** What is used of `http.IncomingMessage`. */
export type NodeRequest = AsyncIterable<Uint8Array> & {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
};

/** What is used of `http.ServerResponse`. */
export type NodeResponse = {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
};

/**
 * The same as `receiver`, for `http.createServer` of Node and for frameworks on it, as Express. There it has to stand
 * before whatever reads bodies.
 */
export function nodeReceiver<Asked extends NodeRequest>(
  secret: Secrets,
  handler: (call: ReceivedCall, request: Asked) => unknown,
  options: ReceiveOptions = {},
): (request: Asked, response: NodeResponse) => Promise<void> {
  const secrets = readSecrets(secret);
  return async function receive(request, response) {
    const received = await readWebhook(fromNode(request), { ...options, secrets });
    if (received.kind === "refused") return write(received.answer, response);
    const { call } = received;
    await write(await handled(call, { ...options, handle: () => handler(call, request) }), response);
  };
}

function fromNode(request: NodeRequest): Incoming {
  const { method = "", headers } = request;
  return { method, header: (name) => headers[name], body: request };
}

async function write(answer: Response, response: NodeResponse): Promise<void> {
  const { status, headers } = answer;
  const kept = HEADERS.filter((name) => headers.has(name)).map((name) => [name, headers.get(name) ?? ""]);
  // Where this is a Response of a `fetch`, its body may end early; Fairlead looks at the status alone.
  const body = await answer.text().catch(() => "");
  try {
    response.writeHead(status, Object.fromEntries(kept));
    response.end(body);
  } catch (error) {
    console.error("cannot answer a webhook; has its handler done so itself?", error);
  }
}

/** Those that say something to Fairlead; others may be about a connection that the answer did not come over. */
const HEADERS = ["allow", "content-type", "location", "retry-after"] as const;

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
