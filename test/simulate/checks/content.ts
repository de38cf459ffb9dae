import type { Judge } from "./requests.ts";

/** A receiver gets what was sent for it, to the byte, at each attempt; and nothing that was refused, or is for others. */
export const checkContent: Judge = ({ request: { body }, asked: { track }, world }) => {
  const { id, destination } = track;
  if (id.startsWith("delete-")) return checkNotice(body);
  if (id.startsWith("audience-")) return checkMembership(body, id);
  const entry = world.ledger.byBody(body);
  if (!entry) return `nobody has sent this: ${body.slice(0, 300)}`;
  if (entry.messageId !== id) return `webhook-id is ${id}, the message is ${entry.messageId}`;
  if (entry.refused) return "it was refused, and goes out all the same";
  const isFor = [...entry.takers, world.moving?.from === destination ? "" : world.moving?.to];
  if (!isFor.includes(destination)) return `it is for ${[...entry.takers].join(", ") || "nobody"}`;
  return null;
};

function checkNotice(body: string): string | null {
  const shape = /^\{"type":"delete","userId":"\w+","timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"\}$/;
  return shape.test(body) ? null : `a delete notification has three keys: ${body}`;
}

function checkMembership(body: string, id: string): string | null {
  const call = JSON.parse(body);
  if (JSON.stringify(call) !== body) return `its body changes when it is parsed and written again: ${body}`;
  const { type, messageId, traits, context } = call;
  const told = traits[context?.personas?.computation_key];
  if (type === "identify" && messageId === id && typeof told === "boolean") return null;
  return `a membership is an identify call with a trait: ${body}`;
}
