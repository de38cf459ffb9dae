// A program that uses @rudderstack/rudder-sdk-node.
import Analytics from "@rudderstack/rudder-sdk-node";
import { orders, tell } from "./orders.mjs";

const { host, writeKey, calls } = orders;
const analytics = new Analytics(writeKey, { dataPlaneUrl: host });
for (const { kind, id, message } of calls) {
  const { timestamp, ...rest } = message;
  // Beside its user's timestamp this client sends an originalTimestamp of its own, which says when the call was made.
  const dated = timestamp ? { ...rest, originalTimestamp: timestamp } : rest;
  analytics[kind](dated, (error) => tell(id, error, message.messageId));
}
await analytics.flush();
