// A program that uses our own client library.
import { orders, tell } from "./orders.mjs";

const { package: name, host, writeKey, calls } = orders;
const { Analytics } = await import(name);
const analytics = new Analytics(writeKey, {
  endpoint: host,
  onDelivered: ({ messageId }) => tell(messageId, undefined, messageId),
  onError: (error) => tell(error.messageId, error),
});
for (const { kind, id, message } of calls) analytics[kind]({ ...message, messageId: id });
await analytics.close({ timeout: 60_000 });
