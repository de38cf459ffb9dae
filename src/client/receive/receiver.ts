import { handled, type Incoming, type ReceiveOptions, readWebhook } from "./answer.ts";
import type { ReceivedCall } from "./calls.ts";
import { readSecrets, type Secrets } from "./signature.ts";

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
