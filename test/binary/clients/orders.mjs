// What a client's program is told to do, as its one argument, and how it says what became of it.
import process from "node:process";

const { package: name, host, writeKey, calls } = JSON.parse(process.argv[2]);

/** `calls` are those to make: each has its kind, the message for the client, and the `id` that the test knows it by. */
export const orders = {
  ...{ package: name, host, writeKey },
  calls: calls.map(({ kind, id, message }) => ({ kind, id, message: withTime(message) })),
};

/** Clients take times as dates; JSON has none. */
function withTime(message) {
  return message.timestamp ? { ...message, timestamp: new Date(message.timestamp) } : message;
}

/** To be called from the client's own callback: that is when it believes a call to be safe, or lost. */
export function tell(id, error, messageId) {
  console.log(error ? `lost ${id}: ${error.reason?.message ?? error.message}` : `taken ${id} ${messageId}`);
}
