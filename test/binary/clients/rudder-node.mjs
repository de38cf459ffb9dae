// A program that uses @rudderstack/rudder-sdk-node.
import Analytics from "@rudderstack/rudder-sdk-node";
import { orders, tell } from "./orders.mjs";

const { host, writeKey, calls } = orders;
const analytics = new Analytics(writeKey, { dataPlaneUrl: host });
for (const { kind, id, message } of calls) {
  analytics[kind](message, (error) => tell(id, error, message.messageId));
}
await analytics.flush();
