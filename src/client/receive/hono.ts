import type { Context, Env } from "hono";
import type { ReceivedCall } from "./calls.ts";
import { incomingOf, type ReceiveOptions, readSecrets, readWebhook, type Secrets, toAnswer } from "./receiver.ts";

/**
 * A receiver for a route of Hono: `app.post("/hooks", webhook(secret, (call, c) => …))`. It passes on calls
 * that are signed with the secret, and answers all else itself (401, 413, 400). A Response that the handler returns is the
 * answer, else it is 204. What the handler throws goes to the app's `onError`, which answers 500 by default. Throws a
 * TypeError without a secret.
 */
export function webhook<E extends Env>(
  secret: Secrets,
  handler: (call: ReceivedCall, c: Context<E>) => unknown,
  options: Pick<ReceiveOptions, "maxBytes"> = {},
): (c: Context<E>) => Promise<Response> {
  const secrets = readSecrets(secret);
  return async function receive(c) {
    const received = await readWebhook(incomingOf(await unread(c)), { ...options, secrets });
    return received.kind === "refused" ? received.answer : toAnswer(await handler(received.call, c));
  };
}

/** Hono keeps the body if a middleware has read it before. */
async function unread<E extends Env>({ req }: Context<E>): Promise<Request> {
  const { raw } = req;
  if (!raw.bodyUsed) return raw;
  return new Request(raw.url, { method: raw.method, headers: raw.headers, body: await req.arrayBuffer() });
}
