import assert from "node:assert/strict";
import type { Event } from "../../src/model/event.ts";
import { type Fault, isFault } from "../../src/model/fault.ts";
import { type Arrival, validateCall } from "../../src/validate/call.ts";
import type { Caller } from "../../src/validate/context.ts";

export const RECEIVED_AT = Date.UTC(2026, 10, 20, 12, 0, 0);

/** A request that brought nothing of its own. */
export function makeArrival(arrival: Partial<Arrival> = {}): Arrival {
  return {
    ...{ type: null, context: null, integrations: null, sentAt: null, calls: 1 },
    receivedAt: RECEIVED_AT,
    maxCall: 32_768,
    caller: makeCaller(),
    newId: () => "fl-new",
    ...arrival,
  };
}

/** A server program, whose own address and user agent are known. */
export function makeCaller(caller: Partial<Caller> = {}): Caller {
  const own = { address: () => "203.0.113.77", userAgent: () => "agent/1.0" };
  return { ...own, isPage: false, type: "auto", ip: "keep", ...caller };
}

/** The event that comes of a call; fails when it is refused. */
export function eventOf(call: unknown, arrival: Partial<Arrival> = {}): Event {
  const result = validateCall(call, makeArrival(arrival));
  if (isFault(result)) return assert.fail(`${result.code}: ${result.message}`);
  return result;
}

/** Why a call is refused; fails when it is not. */
export function faultOf(call: unknown, arrival: Partial<Arrival> = {}): Fault {
  const result = validateCall(call, makeArrival(arrival));
  if (isFault(result)) return result;
  return assert.fail("the call was not refused");
}
