import type { CallType, JsonObject } from "../model/event.ts";
import { type Fault, fault } from "../model/fault.ts";
import type { At } from "../model/units.ts";
import type { Arrival } from "../validate/call.ts";
import type { Caller } from "../validate/context.ts";
import { isObject, kindOf } from "../validate/shape.ts";

/** The calls of one request, and what they have in common. */
export type Envelope = { readonly calls: readonly unknown[]; readonly arrival: Arrival };

/** What the ingest API knows of a request before it has looked into the body. */
export type Received = {
  /** Whether its text may hold a number that JSON cannot carry on. */
  readonly numbers: Arrival["numbers"];
  readonly maxCall: number;
  readonly receivedAt: At;
  readonly caller: Caller;
  readonly newId: () => string;
};

/** A body that is one call of the type that its path says. */
export function readCall(call: unknown, type: CallType, received: Received): Envelope {
  return { calls: [call], arrival: { ...common(received), type, calls: 1 } };
}

/** A body that is a batch. Clients send `"batch": null` when they have nothing to say. */
export function readBatch(body: unknown, received: Received): Envelope | Fault {
  if (!isObject(body)) return fault("invalid_request", `a batch must be a JSON object (got ${kindOf(body)})`);
  const { batch, context, integrations, sentAt } = body;
  if (batch !== null && !Array.isArray(batch)) {
    return fault("invalid_request", `batch must be an array of calls (got ${kindOf(batch)})`);
  }
  const calls = batch ?? [];
  return {
    calls,
    arrival: {
      ...common(received),
      calls: calls.length,
      context: objectOf(context),
      integrations: objectOf(integrations),
      sentAt: typeof sentAt === "string" ? sentAt : null,
    },
  };
}

function common(received: Received): Arrival {
  return { type: null, context: null, integrations: null, sentAt: null, calls: 0, ...received };
}

/** An empty one adds nothing, and need not be merged into each call. */
function objectOf(value: unknown): JsonObject | null {
  return isObject(value) && Object.keys(value).length > 0 ? value : null;
}
