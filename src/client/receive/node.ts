import { handled, type Incoming, type ReceiveOptions, readWebhook } from "./answer.ts";
import type { ReceivedCall } from "./calls.ts";
import { readSecrets, type Secrets } from "./signature.ts";

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
    const received = await readWebhook(incomingOf(request), { ...options, secrets });
    if (received.kind === "refused") return write(received.answer, response);
    const { call } = received;
    await write(await handled(call, { ...options, handle: () => handler(call, request) }), response);
  };
}

function incomingOf(request: NodeRequest): Incoming {
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
