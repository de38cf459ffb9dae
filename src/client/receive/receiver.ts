import { verify } from "../../webhook/signature.ts";
import { parseCall, type ReceivedCall } from "./calls.ts";

/** The shared secret, or both while one replaces the other. */
export type Secrets = string | readonly string[];

/**
 * Handles one call. If it returns, Fairlead does not send the call again; if it throws, Fairlead does. A Response that it
 * returns is the answer: a 5xx asks for the call again, a 422 refuses it forever.
 */
export type Handler = (call: ReceivedCall, request: Request) => unknown;

export type ReceiveOptions = {
  /**
   * The largest body that is read, in bytes; 4 MB when left out. `ingest.maxCall` allows calls of at most 1 MB, whose
   * webhooks are always smaller than that.
   */
  readonly maxBytes?: number;
  /** Gets what the handler throws; console.error when left out. The request is answered 500 in any case. */
  readonly onError?: (error: unknown, call: ReceivedCall) => unknown;
};

/**
 * Makes a receiver for `Bun.serve`, `Deno.serve` and whatever else answers a Request with a Response. It passes on calls
 * that are signed with the secret, answers all else itself (401, 405, 413, 400), and never rejects. Throws a TypeError
 * without a secret.
 */
export function receiver(
  secret: Secrets,
  handler: Handler,
  options: ReceiveOptions = {},
): (request: Request) => Promise<Response> {
  const secrets = readSecrets(secret);
  return function receive(request) {
    return answerWebhook(incomingOf(request), { ...options, secrets, handle: (call) => handler(call, request) });
  };
}

export function incomingOf(request: Request): Incoming {
  return { method: request.method, header: (name) => request.headers.get(name), body: chunksOf(request) };
}

/** Throws when it is read if the body was read before. */
async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  if (request.bodyUsed) throw new TypeError("the body was already read");
  if (request.body !== null) yield* request.body as unknown as AsyncIterable<Uint8Array>;
}

/** The part of `http.IncomingMessage` that is used, and where parsers and serverless platforms put a body. */
export type NodeRequest = AsyncIterable<Uint8Array> & {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly rawBody?: unknown;
  readonly body?: unknown;
};

/** The part of `http.ServerResponse` that is used. */
export type NodeResponse = {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
};

/**
 * The same as `receiver`, for `http.createServer` of Node and frameworks on it, as Express. A body that was read before must
 * have been kept as it came: `express.raw()` and `express.text()` do so, `express.json()` does not.
 */
export function nodeReceiver<Asked extends NodeRequest>(
  secret: Secrets,
  handler: (call: ReceivedCall, request: Asked) => unknown,
  options: ReceiveOptions = {},
): (request: Asked, response: NodeResponse) => Promise<void> {
  const secrets = readSecrets(secret);
  return async function receive(request, response) {
    const { method = "", headers } = request;
    const incoming: Incoming = { method, header: (name) => headers[name], body: unparsed(request) };
    const handle = (call: ReceivedCall): unknown => handler(call, request);
    await write(await answerWebhook(incoming, { ...options, secrets, handle }), response);
  };
}

/** The body as it came, also if something has read it before and kept it so. */
function unparsed(request: NodeRequest): AsyncIterable<Uint8Array> {
  const kept = [request.rawBody, request.body].find((body) => typeof body === "string" || body instanceof Uint8Array);
  if (kept === undefined) return request;
  return once(typeof kept === "string" ? new TextEncoder().encode(kept) : (kept as Uint8Array));
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

async function write(answer: Response, response: NodeResponse): Promise<void> {
  const { status, headers } = answer;
  const kept = HEADERS.filter((name) => headers.has(name)).map((name) => [name, headers.get(name) ?? ""]);
  // The Response of a `fetch` may break off. Fairlead needs its status alone.
  const body = await answer.text().catch(() => "");
  try {
    response.writeHead(status, Object.fromEntries(kept));
    response.end(body);
  } catch (error) {
    console.error("cannot answer a webhook; did its handler answer already?", error);
  }
}

/** Headers that mean something to Fairlead. Others may be about the connection of a `fetch`. */
const HEADERS = ["allow", "content-type", "location", "retry-after"] as const;

/** A request of any kind of server. */
export type Incoming = {
  readonly method: string;
  readonly header: (name: "content-length" | "x-signature") => unknown;
  readonly body: AsyncIterable<Uint8Array>;
};

type Receiving = ReceiveOptions & {
  readonly secrets: readonly string[];
  readonly handle: (call: ReceivedCall) => unknown;
};

/** Never rejects. */
async function answerWebhook(
  incoming: Incoming,
  { handle, onError = logError, ...rest }: Receiving,
): Promise<Response> {
  const received = await readWebhook(incoming, rest);
  if (received.kind === "refused") return received.answer;
  const { call } = received;
  try {
    return toAnswer(await handle(call));
  } catch (error) {
    // Not awaited, so that Fairlead gets its answer at once. Never rejects.
    void report(onError, { error, call });
    return fault(500, { code: "handler_failed", message: "the receiver could not handle this call" });
  }
}

/** The handler's own answer, or 204. Throws a TypeError if no server can send it. */
export function toAnswer(outcome: unknown): Response {
  if (!(outcome instanceof Response)) return new Response(null, { status: 204 });
  // The status of `Response.error()` is 0.
  if (outcome.status >= 200) return outcome;
  throw new TypeError(`the handler returned a Response with status ${outcome.status}, which cannot be sent`);
}

type Failure = { readonly error: unknown; readonly call: ReceivedCall };

async function report(onError: NonNullable<ReceiveOptions["onError"]>, { error, call }: Failure): Promise<void> {
  try {
    await onError(error, call);
  } catch (another) {
    logError(another, call);
  }
}

function logError(error: unknown, call: ReceivedCall): void {
  console.error(`the handler failed for a ${call.type} webhook:`, error);
}

type Received =
  | { readonly kind: "call"; readonly call: ReceivedCall }
  | { readonly kind: "refused"; readonly answer: Response };

type Wanted = { readonly secrets: readonly string[]; readonly maxBytes?: number };

const MOST_BYTES = 4 * 1024 * 1024;

/** Reads, verifies and parses a webhook. The body of a request without a signature is not read. */
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
  // No webhook is empty. On Node, a body that was read before is.
  return length === 0 ? "body_unreadable" : Buffer.concat(chunks);
}

type Refusal = keyof typeof REFUSALS;

const REFUSALS = {
  method_not_allowed: [405, "a webhook must be a POST request"],
  wrong_signature: [401, "X-Signature does not match this body and the shared secret"],
  body_too_large: [413, "the body is larger than any webhook"],
  // The receiver's own mistake, if anybody sees the answer: Fairlead is to retry.
  body_unreadable: [
    500,
    "the body could not be read; did something before this receiver read it, such as a JSON parser?",
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

/**
 * Whether the value of `X-Signature` was made over this body, byte for byte as it came, with one of these secrets
 * (SPEC.md 5.4). Takes the same time for any wrong one. The header may be anything: absent, a list, no text. An empty
 * secret and a body that was parsed already are mistakes of the program, and throw a TypeError.
 */
export function verifySignature(body: string | Uint8Array, header: unknown, secret: Secrets): boolean {
  const secrets = readSecrets(secret);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw new TypeError(PARSED);
  const signature = readSignature(header);
  if (signature === null) return false;
  // All are tried, so that the time does not tell which one matched.
  return secrets.map((one) => verify(body, signature, one)).includes(true);
}

const PARSED = "a signature covers the body as it came: pass its text or bytes, and parse it afterwards";

/** Throws a TypeError without a secret, and for an empty one, with which anybody could sign. */
export function readSecrets(secret: Secrets): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length === 0 || !secrets.every(isSecret)) throw new TypeError(NO_SECRET);
  return secrets;
}

const NO_SECRET = "no secret to verify webhooks with: pass the destination's sharedSecret, which must not be empty";

function isSecret(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Null if it cannot be a signature. Servers pass a header as text, or as a list of its values. */
export function readSignature(header: unknown): string | null {
  const value: unknown = Array.isArray(header) && header.length === 1 ? header[0] : header;
  return typeof value === "string" && /^[\da-f]{40}$/.test(value) ? value : null;
}
