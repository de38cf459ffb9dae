import { Analytics } from "@segment/analytics-node";

const USER = "user-42";

/** What the demo says to the client, one of each kind. */
export const CALLS = {
  identify: { userId: USER, traits: { name: "Ada Lovelace", plan: "pro", logins: 3 } },
  track: { userId: USER, event: "Order Completed", properties: { orderId: "o-1815", total: 36.5 } },
  page: {
    userId: USER,
    name: "Pricing",
    properties: {
      path: "/pricing",
      referrer: "https://example.com/",
      title: "Pricing",
      url: "https://example.com/pricing",
    },
  },
  screen: {
    userId: USER,
    name: "Home",
    properties: { tab: "news" },
    context: {
      device: { model: "iPhone16,2", type: "ios" },
      os: { name: "iOS", version: "19.1" },
      app: { build: "7", name: "Notes", version: "2.4.0" },
    },
  },
  group: { userId: USER, groupId: "group-7", traits: { name: "Analytical Engines", "number of employees": 12 } },
  alias: { userId: USER, previousId: "anonymous-7" },
} as const;

export type Kind = keyof typeof CALLS;
export const KINDS = Object.keys(CALLS) as readonly Kind[];

/** The messageId that the client has given to each call. */
export type Sent = ReadonlyMap<Kind, string>;

/** Sends all six with the real client, in two batches. Rejects if one of them was not taken. */
export async function sendCalls(host: string, writeKey: string): Promise<Sent> {
  const client = new Analytics({ host, writeKey, maxRetries: 0 });
  const first = [
    taken("identify", (done) => client.identify(CALLS.identify, done)),
    taken("track", (done) => client.track(CALLS.track, done)),
    taken("page", (done) => client.page(CALLS.page, done)),
  ];
  await client.flush();
  const second = [
    taken("screen", (done) => client.screen(CALLS.screen, done)),
    taken("group", (done) => client.group(CALLS.group, done)),
    taken("alias", (done) => client.alias(CALLS.alias, done)),
  ];
  await client.closeAndFlush();
  return new Map(await Promise.all([...first, ...second]));
}

type Done = NonNullable<Parameters<Analytics["track"]>[1]>;

/** Resolves when the client says that the call was acknowledged. */
function taken(kind: Kind, call: (done: Done) => void): Promise<readonly [Kind, string]> {
  return new Promise((resolve, reject) => {
    call((error, context) => {
      const messageId = context?.event.messageId;
      if (error || !messageId) reject(new Error(`the ${kind} call was not taken`, { cause: error }));
      else resolve([kind, messageId]);
    });
  });
}
