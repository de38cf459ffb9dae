// Checked by the compiler alone (`tsc --noEmit`): each line after an `@ts-expect-error` must be an error.
import type { Analytics, LostCallError, Options, SentCall } from "../../src/client/analytics.ts";

type Events = {
  "Signed Up": { readonly plan: "free" | "pro"; readonly seats?: number };
  "Logged Out": undefined;
  Searched: { readonly query?: string };
};

interface Order {
  id: string;
  total: number;
}
interface Shop {
  Ordered: Order;
}

export function typed(analytics: Analytics<Events>): void {
  void analytics.track({ userId: "u", event: "Signed Up", properties: { plan: "pro" } });
  void analytics.track({ anonymousId: "a", event: "Signed Up", properties: { plan: "free", seats: 2 } });
  void analytics.track({ userId: 42, event: "Logged Out" });
  void analytics.track({ userId: "u", event: "Searched" });
  void analytics.track({ userId: "u", event: "Searched", properties: { query: "x" }, timestamp: new Date() });

  // @ts-expect-error: there is no such event
  void analytics.track({ userId: "u", event: "Signed up", properties: { plan: "pro" } });
  // @ts-expect-error: its properties are needed
  void analytics.track({ userId: "u", event: "Signed Up" });
  // @ts-expect-error: no such plan
  void analytics.track({ userId: "u", event: "Signed Up", properties: { plan: "gold" } });
  // @ts-expect-error: a property of another event
  void analytics.track({ userId: "u", event: "Searched", properties: { plan: "pro" } });
  // @ts-expect-error: this event has none
  void analytics.track({ userId: "u", event: "Logged Out", properties: { at: 1 } });
  // @ts-expect-error: nobody is named
  void analytics.track({ event: "Logged Out" });
}

export function typedByInterfaces(analytics: Analytics<Shop>, order: Order): void {
  void analytics.track({ userId: "u", event: "Ordered", properties: order });
  // @ts-expect-error: the total is a number
  void analytics.track({ userId: "u", event: "Ordered", properties: { id: "1", total: "2" } });
}

type Traits = { readonly email: string; readonly plan?: "free" | "pro" };
type GroupTraits = { readonly seats?: number };

export function typedTraits(analytics: Analytics<Events, Traits, GroupTraits>): void {
  void analytics.identify({ userId: "u", traits: { email: "ada@example.com", plan: "pro" } });
  void analytics.group({ userId: "u", groupId: "g" });
  void analytics.group({ userId: "u", groupId: "g", traits: { seats: 2 } });
  const { track, identify } = analytics;
  void track({ userId: "u", event: "Signed Up", properties: { plan: "pro" } });

  // @ts-expect-error: the email is needed
  void analytics.identify({ userId: "u" });
  // @ts-expect-error: no such plan
  void analytics.identify({ userId: "u", traits: { email: "ada@example.com", plan: "gold" } });
  // @ts-expect-error: there is no such trait
  void identify({ userId: "u", traits: { email: "ada@example.com", name: "Ada" } });
  // @ts-expect-error: seats are a number
  void analytics.group({ userId: "u", groupId: "g", traits: { seats: "2" } });
  // @ts-expect-error: there is no such event
  void track({ userId: "u", event: "Signed up" });
}

export function untyped(analytics: Analytics, order: Order): void {
  void analytics.track({ userId: "u", event: "Anything", properties: { a: 1 } });
  void analytics.track({ userId: "u", event: "Anything", properties: order });
  void analytics.track({ userId: "u", event: "Anything" });
  void analytics.identify({ userId: "u", traits: order });
  void analytics.page({ anonymousId: "a", properties: { url: "https://x" } });
  void analytics.alias({ userId: "u", previousId: "p" });

  // @ts-expect-error: an event has a name
  void analytics.track({ userId: "u" });
  // @ts-expect-error: properties are an object
  void analytics.track({ userId: "u", event: "Anything", properties: "none" });
  // @ts-expect-error: traits are an object with keys
  void analytics.identify({ userId: "u", traits: [1] });
  // @ts-expect-error: a Map would arrive empty
  void analytics.track({ userId: "u", event: "Anything", properties: new Map() });
  // @ts-expect-error: a Set would arrive empty
  void analytics.group({ userId: "u", groupId: "g", traits: new Set() });
  // @ts-expect-error: a Promise would arrive empty
  void analytics.page({ userId: "u", context: Promise.resolve({}) });
  // @ts-expect-error: nobody is named
  void analytics.identify({ traits: {} });
  // @ts-expect-error: an alias needs both ids
  void analytics.alias({ userId: "u" });
  // @ts-expect-error: a group has an id
  void analytics.group({ userId: "u" });
  // @ts-expect-error: a slip of the writer
  void analytics.identify({ userID: "u" });
  // @ts-expect-error: times are dates or text
  void analytics.identify({ userId: "u", timestamp: 0 });
}

export const OPTIONS: Options = {
  queue: { limit: 5, whenFull: "block" },
  context: { app: { name: "shop" } },
  // The platform's own fits.
  fetch: (url, init) => fetch(url, init),
  onError: (error: LostCallError) => error.call.event,
  onDelivered: (call: SentCall) => call.messageId,
  // @ts-expect-error: there is no such option
  flushat: 1,
};

// @ts-expect-error: there is no such policy
export const POLICY: Options = { queue: { whenFull: "wait" } };
