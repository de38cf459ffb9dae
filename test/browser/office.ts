import type { Browser } from "playwright-core";
import { createWaiting } from "../binary/waiting.ts";
import { type Daemon, KEY, makeWorld, SECRET, type World } from "../binary/world.ts";
import { reportViolations } from "./in-page.ts";
import { type Look, makeVisitor, type Visitor } from "./visitor.ts";

/** Runs if a page ever takes it for markup, and says so on the console. */
export const HOSTILE = `</script><script>console.error("ran")</script><img src=x onerror="console.error('ran')">`;

type Answer = () => Response | Promise<Response>;

/** What a webhook gets at each path. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  "/good": () => new Response("thanks"),
  "/lake": () => new Response(null, { status: 204 }),
  "/failing": () => new Response(`down for repairs ${HOSTILE}`, { status: 503 }),
  "/refusing": () => new Response(`no such field ${HOSTILE}`, { status: 422 }),
};

/** Where an operator works: the daemon, its receivers, and the dashboard in a browser. Disposing of it ends and removes all. */
export type Office = AsyncDisposable & {
  readonly world: World;
  readonly daemon: Daemon;
  readonly receivers: Receivers;
  /** An operator opens a path of the dashboard in a browser of their own. */
  open(path: string, look?: Look): Promise<Visitor>;
  /** Asks the operator's API as a program does. */
  ask<T>(path: string, body?: object): Promise<T>;
};

export type OfficeOptions = {
  /** The section of the config. */
  readonly admin?: {
    readonly listen?: string;
    readonly token?: string;
    readonly readToken?: string;
    readonly dashboard?: boolean;
  };
};

export async function openOffice(browser: () => Promise<Browser>, options: OfficeOptions = {}): Promise<Office> {
  await using parts = new AsyncDisposableStack();
  const receivers = parts.use(startReceivers());
  const world = parts.use(await makeWorld());
  await world.write("config.yaml", makeOfficeConfig(receivers, options));
  const daemon = await world.serve();
  const all = parts.move();
  return {
    ...{ world, daemon, receivers },
    open: async (path, look = {}) =>
      all.use(await makeVisitor(await browser(), daemon.admin + path, { script: reportViolations, ...look })),
    ask: (path, body) => ask(daemon.admin + path, { token: options.admin?.token ?? "", body }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** `crm` works, `mailer` fails for now, `billing` refuses for good, `lake` gets what two webhooks share. */
export function makeOfficeConfig({ url }: Pick<Receivers, "url">, { admin = {} }: OfficeOptions = {}): string {
  const to = (...paths: readonly string[]): object[] => paths.map((path) => ({ url: url + path }));
  return JSON.stringify({
    ingest: { listen: "127.0.0.1:0" },
    admin: { listen: "127.0.0.1:0", ...admin },
    log: { level: "info", format: "logfmt" },
    sources: { website: { writeKey: KEY }, shop: { writeKey: SHOP_KEY } },
    destinations: {
      crm: {
        webhooks: [{ url: `${url}/good`, headers: { Authorization: "Bearer crm-secret" } }],
        sharedSecret: SECRET,
      },
      mailer: { types: ["track"], webhooks: to("/failing") },
      billing: { sources: ["shop"], types: ["track"], webhooks: to("/refusing") },
      lake: { types: ["identify", "page"], webhooks: to("/lake/first", "/lake/second") },
    },
  });
}

export const SHOP_KEY = "shop-key";

type Question = { readonly token: string; readonly body: object | undefined };

async function ask<T>(url: string, { token, body }: Question): Promise<T> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const response = await fetch(url, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${JSON.stringify(answer)}`);
  return answer as T;
}

export type Receivers = AsyncDisposable & {
  readonly url: string;
  /** From now on this path answers so. */
  use(path: string, answer: Answer): void;
  /** Resolves when so many requests have come to a path. */
  count(path: string, count: number): Promise<void>;
};

function startReceivers(): Receivers {
  const answers = new Map(Object.entries(ANSWERS));
  const counts = new Map<string, number>();
  const waiting = createWaiting();
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: receive });
  return {
    url: `http://127.0.0.1:${server.port}`,
    use: (path, answer) => void answers.set(path, answer),
    count(path, count) {
      const got = (): number => counts.get(path) ?? 0;
      return waiting.until(
        () => got() >= count,
        () => `${got()} of ${count} webhooks have come to ${path}`,
      );
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };

  async function receive(request: Request): Promise<Response> {
    await request.text();
    const path = `/${new URL(request.url).pathname.split("/")[1]}`;
    counts.set(path, (counts.get(path) ?? 0) + 1);
    waiting.look();
    return answers.get(path)?.() ?? new Response(null, { status: 404 });
  }
}

/** The messageIds of calls that tests look for. */
export const MESSAGE = { delivered: "order-1", hostile: "hostile-1", refused: "order-2", broken: "broken-1" } as const;

/** How many calls of each kind come in, and how many are turned away. */
const SOME = 12;

type Traffic = {
  /** Receivers that get none of it for now. */
  readonly without?: readonly string[];
  /** Sets the messageIds apart from those of another time. */
  readonly again?: string;
};

/** An hour of an ordinary day, in a second: what came in, what was refused, an audience and a deletion. */
export async function makeTraffic(office: Office, { without = [], again = "" }: Traffic = {}): Promise<void> {
  const { daemon, receivers, ask } = office;
  const properties = { plan: "pro", price: 39.95, note: HOSTILE };
  const send = (source: string, path: string, body: object) => sendAs(source, `${daemon.ingest}${path}`, body);
  const track = (source: string, messageId: string, call: object) =>
    send(source, "/v1/track", { messageId: messageId + again, properties, ...call });
  await track(KEY, MESSAGE.delivered, { userId: "ada", event: "Order Completed" });
  await track(KEY, MESSAGE.hostile, { userId: HOSTILE, event: HOSTILE });
  await track(SHOP_KEY, MESSAGE.refused, { userId: "bob", event: "Refund" });
  await track(KEY, MESSAGE.broken, { event: "Nobody's" });
  await track("no-such-key", "stranger-1", { userId: "ada", event: HOSTILE });
  const kinds = [
    { type: "identify", traits: { plan: "pro" } },
    { type: "page", name: "Pricing" },
  ] as const;
  const batch = kinds.flatMap((kind) => Array.from({ length: SOME }, (_, nth) => ({ ...kind, userId: `user-${nth}` })));
  await send(KEY, "/v1/batch", { batch });
  const expected = { "/good": 2 * SOME + 3, "/lake": 2 * SOME, "/failing": 3, "/refusing": 1 };
  for (const [path, count] of Object.entries(expected)) if (!without.includes(path)) await receivers.count(path, count);
  await fetch(`${daemon.admin}/api/sources/website/audiences/Big%20Spenders`, {
    ...{ method: "PUT", headers: { "Content-Type": "text/csv" }, body: "userId\nuser-1\nuser-2\nuser-3\n" },
  });
  await ask("/api/deletions", { userIds: ["leaver"], erase: true });
}

export function sendAs(writeKey: string, url: string, body: object): Promise<Response> {
  const headers = { Authorization: `Basic ${btoa(`${writeKey}:`)}` };
  return fetch(url, { method: "POST", body: JSON.stringify(body), headers });
}
