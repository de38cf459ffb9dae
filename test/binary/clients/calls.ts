export type Kind = "identify" | "track" | "page" | "screen" | "group" | "alias";

/** One call: what the program hands to its client, and what has to be in the webhook then. */
export type Call = {
  /** By which the program speaks of it; clients that let their user choose a messageId take it for that. */
  readonly id: string;
  readonly kind: Kind;
  readonly message: object;
  readonly body: object;
};

const USER = "user-4711";
const PAGE = {
  path: "/søk",
  referrer: "https://example.com/?q=%F0%9F%A6%8A",
  title: "Søk – “数据”",
  url: "https://example.com/søk",
};
const DEVICE = {
  device: { model: "iPhone16,2", type: "ios" },
  os: { name: "iOS", version: "19.1" },
  app: { build: "7", name: "Notes", version: "2.4.0" },
};
const TRAITS = {
  name: "Zoë 数据 🦊",
  logins: 3,
  rate: -0.25,
  big: 9_007_199_254_740_991,
  vip: true,
  tags: ["ü", 1],
  gone: null,
};
const ORDER = { orderId: "o-1815", total: 36.5, "number of items": 2, products: [{ sku: "ß-1", price: 18.25 }] };
const TIME = "2009-11-10T23:00:00.123Z";

/** One of each kind, with all that a client lets a call have. */
export const SIX: readonly Call[] = [
  call("identify", {
    message: { userId: USER, anonymousId: "anonymous-7", traits: TRAITS, timestamp: TIME },
    body: { userId: USER, anonymousId: "anonymous-7", traits: TRAITS, originalTimestamp: TIME },
  }),
  call("track", {
    message: {
      userId: USER,
      event: "Order Completed",
      properties: ORDER,
      context: { ip: "203.0.113.7" },
      integrations: { All: false, crm: true },
    },
    body: {
      userId: USER,
      event: "Order Completed",
      properties: ORDER,
      context: { ip: "203.0.113.7" },
      integrations: { All: false, crm: true },
    },
  }),
  call("page", {
    message: { anonymousId: "anonymous-7", name: "Søk", category: "Docs", properties: PAGE },
    body: { anonymousId: "anonymous-7", name: "Søk", category: "Docs", properties: PAGE },
  }),
  call("screen", {
    message: { userId: USER, name: "Hjem 🏠", properties: { tab: "news" }, context: DEVICE },
    body: { userId: USER, name: "Hjem 🏠", properties: { tab: "news" }, context: DEVICE },
  }),
  call("group", {
    message: { userId: USER, groupId: "group-7", traits: { name: "Åse & Co", "number of employees": 12 } },
    body: { userId: USER, groupId: "group-7", traits: { name: "Åse & Co", "number of employees": 12 } },
  }),
  call("alias", {
    message: { userId: USER, previousId: "anonymous-7" },
    body: { "Previous ID": "anonymous-7", "User ID": USER },
  }),
];

/** For clients that let ids be numbers: they arrive as text. */
export const NUMERIC: Call = call("group", {
  id: "numeric",
  message: { userId: 42, groupId: 7 },
  body: { userId: "42", groupId: "7" },
});

/** Enough for several batches. */
export const FORTY: readonly Call[] = [
  ...SIX,
  ...Array.from({ length: 34 }, (_, nth) => {
    const fields = { userId: USER, event: "Ticked", properties: { nth } };
    return call("track", { id: `tick-${nth}`, message: fields, body: fields });
  }),
];

type Fields = { readonly id?: string; readonly message: object; readonly body: object };

function call(kind: Kind, { id = kind, message, body }: Fields): Call {
  return { id, kind, message: { ...message, messageId: id }, body: { version: 1, type: kind, ...body } };
}
