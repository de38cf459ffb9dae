// A program that uses version 1, 2 or 3 of @segment/analytics-node.
import { orders, tell } from "./orders.mjs";

const { package: name, host, writeKey, calls } = orders;
const { Analytics } = await import(name);
const analytics = new Analytics({ writeKey, host });
for (const { kind, id, message } of calls) {
  // Version 1 does not let its user choose the messageId.
  analytics[kind](message, (error, context) => tell(id, error, context?.event.messageId));
}
await analytics.closeAndFlush();
