import type { Context, Env } from "hono";
import type { ReceivedCall } from "./calls.ts";
import { incomingOf, type ReceiveOptions, readSecrets, readWebhook, type Secrets, toAnswer } from "./receiver.ts";

/**
 * A receiver for a route of Hono: `app.post("/hooks", webhook(secret, (call, c) => …))`. It takes only what is signed with
 * the secret, and answers the rest itself (401, 413, 400). What the handler returns as a Response is the answer, else 204;
 * what it throws goes to the app's `onError`, which answers 500 unless it is told otherwise. Throws a TypeError without a
 * secret.
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

/** Where a middleware before has read the body, Hono has kept it. */
async function unread<E extends Env>({ req }: Context<E>): Promise<Request> {
  const { raw } = req;
  if (!raw.bodyUsed) return raw;
  return new Request(raw.url, { method: raw.method, headers: raw.headers, body: await req.arrayBuffer() });
}
