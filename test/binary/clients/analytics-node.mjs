// A program that uses analytics-node, the client that came before @segment/analytics-node.
import Analytics from "analytics-node";
import { orders, tell } from "./orders.mjs";

const { host, writeKey, calls } = orders;
const analytics = new Analytics(writeKey, { host });
for (const { kind, id, message } of calls) {
  analytics[kind](message, (error) => tell(id, error, message.messageId));
}
await analytics.flush();
