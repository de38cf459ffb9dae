import { createHmac } from "node:crypto";
import { createWaiting } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, SECRET, type World } from "./world.ts";

/** A webhook as it came in. */
export type Hook = {
  /** Counted from 1. */
  readonly nth: number;
  /** Wall time, in milliseconds since 1970. */
  readonly at: number;
  readonly headers: Headers;
  readonly body: string;
  readonly messageId: string;
  /** How often this event was sent, this time included. */
  readonly sent: number;
};

export type Receiver = AsyncDisposable & {
  readonly url: string;
  readonly hooks: readonly Hook[];
  /** The messageIds that were answered with a success. */
  readonly delivered: ReadonlySet<string>;
  /** Requests whose X-Signature is not that of their body. */
  readonly forged: number;
  /** Resolves when so many requests have come. */
  count(count: number): Promise<readonly Hook[]>;
  /** Resolves when each of these was answered with a success. Rejects with those that are missing. */
  all(messageIds: Iterable<string>): Promise<void>;
};

/** A status, or a whole answer. */
export type Reply = number | Response | Promise<Response>;

/** A real receiver on a port from the system. `answer` decides what each request gets. */
export function startReceiver(answer: (hook: Hook) => Reply = () => 200): Receiver {
  const hooks: Hook[] = [];
  const times = new Map<string, number>();
  const delivered = new Set<string>();
  const waiting = createWaiting();
  let forged = 0;
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: receive });
  return {
    ...{ url: `http://127.0.0.1:${server.port}/hooks`, hooks, delivered },
    get forged() {
      return forged;
    },
    async count(count) {
      const describe = (): string => `${hooks.length} of ${count} webhooks have come`;
      await waiting.until(() => hooks.length >= count, describe);
      return hooks.slice(0, count);
    },
    all(messageIds) {
      const missing = new Set(messageIds);
      const describe = (): string => `${missing.size} events have not come: ${[...missing].slice(0, 10)} …`;
      return waiting.until(() => isEmptied(missing, delivered), describe);
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };

  async function receive(request: Request): Promise<Response> {
    const { headers } = request;
    const body = await request.text();
    if (headers.get("x-signature") !== hmac(body)) forged += 1;
    const messageId = String(JSON.parse(body).messageId);
    const sent = (times.get(messageId) ?? 0) + 1;
    times.set(messageId, sent);
    const hook = { nth: hooks.length + 1, at: Date.now(), headers, body, messageId, sent };
    hooks.push(hook);
    const answered = answer(hook);
    if (answered === 200) delivered.add(messageId);
    waiting.look();
    return typeof answered === "number" ? new Response("", { status: answered }) : answered;
  }
}

/** Refuses one event in seven when it comes for the first time. */
export function refuseSome({ nth, sent }: Hook): number {
  return sent === 1 && nth % 7 === 0 ? 503 : 200;
}

/** Looks only at those that were missing the last time, from the first one on. */
function isEmptied(missing: Set<string>, delivered: ReadonlySet<string>): boolean {
  for (const id of missing) {
    if (!delivered.has(id)) return false;
    missing.delete(id);
  }
  return true;
}

function hmac(body: string): string {
  return createHmac("sha1", SECRET).update(body).digest("hex");
}

/** A receiver, and a daemon in a folder of its own that delivers to it. Disposing of it ends both and removes the folder. */
export type Place = AsyncDisposable & { readonly receiver: Receiver; readonly w: World; readonly daemon: Daemon };

export async function startPlace(answer?: (hook: Hook) => Reply): Promise<Place> {
  await using all = new AsyncDisposableStack();
  const receiver = all.use(startReceiver(answer));
  const w = all.use(await makeWorld());
  await w.write("config.yaml", makeConfig({ url: receiver.url }));
  const daemon = await w.serve();
  const kept = all.move();
  return { receiver, w, daemon, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
