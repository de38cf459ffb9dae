import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { respond, respondFault } from "../http/respond.ts";
import type { Source } from "../model/config.ts";
import type { JsonObject } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock, Random } from "../model/ports.ts";
import { type At, KB } from "../model/units.ts";
import type { Arrival } from "../validate/call.ts";
import { isObject, kindOf } from "../validate/shape.ts";
import {
  type Admitted,
  type AdmitWorld,
  admit,
  type Envelope,
  type PathKind,
  type Rejected,
  refuse,
  textOf,
} from "./admit.ts";
import { callerOf, type IncomingRequest } from "./door.ts";

export type ReceiveWorld = AdmitWorld & {
  readonly clock: Clock;
  readonly random: Random;
  readonly bodies: Bodies;
};

/**
 * Receives the calls of one request: finds the source, reads and parses the body, and has the calls admitted. The answer is made
 * once they are durable. Most write keys are in the URL or a header, so that a stranger is refused before the body is read, and
 * so is a source beyond its limits.
 */
export async function receiveCalls(incoming: IncomingRequest, kind: PathKind, world: ReceiveWorld): Promise<Response> {
  const { request, door } = incoming;
  const early = door.findSource.outside(request);
  if (early && isFault(early)) return respondFault(refuse(early, { incoming }, world));
  // A flood costs less if its bodies are not read.
  const limited = early && world.limits.refusal(early);
  if (limited) return respondFault(refuse(limited, { incoming, source: early }, world));
  const text = await world.bodies.read(request, door.limits.maxBatch);
  if (typeof text !== "string") return respondFault(refuse(text, { incoming, source: early }, world));
  const parsed = parseJson(text);
  if (isFault(parsed)) return respondFault(refuse(parsed, { incoming, source: early, what: text }, world));
  const source = early ?? door.findSource.anywhere(request, parsed.value);
  if (isFault(source)) return respondFault(refuse(source, { incoming, what: text }, world));
  const type = kind === "batch" ? null : kind;
  const arrival = arrivalOf({ incoming, source, type, isPage: false }, world);
  const envelope = type === null ? readBatch(parsed.value, arrival) : { calls: [parsed.value], arrival };
  if (isFault(envelope)) return respondFault(refuse(envelope, { incoming, source, what: text }, world));
  return answer(await admit({ incoming, source, kind, envelope }, world), { kind, size: text.length });
}

type ArrivalInput = Pick<Arrival, "type"> & {
  readonly incoming: IncomingRequest;
  readonly source: Source;
  /** Whether the request can only have come from a page or a mail. */
  readonly isPage: boolean;
};

/** What a call takes from a request that has no other. A batch adds its own fields (`readBatch`). */
export function arrivalOf({ incoming, source, type, isPage }: ArrivalInput, { clock, random }: ReceiveWorld): Arrival {
  const receivedAt = clock.wall();
  return {
    type,
    context: null,
    integrations: null,
    sentAt: null,
    calls: 1,
    receivedAt,
    caller: callerOf(incoming, source, isPage),
    maxCall: incoming.door.limits.maxCall,
    newId: () => `fl-${hexOf(receivedAt)}-${random.hex(10)}`,
  };
}

let lastAt = 0;
let lastHex = "000000000000";

/** The ids of this server begin with the time, so that they sort by arrival. Remembers the last one, as many calls share it. */
function hexOf(at: At): string {
  if (at !== lastAt) {
    lastHex = at.toString(16).padStart(12, "0");
    lastAt = at;
  }
  return lastHex;
}

/** The calls of a batch, with the fields of its envelope. Clients send `"batch": null` when they have nothing to send. */
function readBatch(body: unknown, arrival: Arrival): Envelope | Fault {
  if (!isObject(body)) return fault("invalid_request", `a batch must be a JSON object (got ${kindOf(body)})`);
  const { batch, context, integrations, sentAt } = body;
  if (batch !== null && !Array.isArray(batch)) {
    return fault("invalid_request", `batch must be an array of calls (got ${kindOf(batch)})`);
  }
  const calls = batch ?? [];
  return {
    calls,
    arrival: {
      ...arrival,
      calls: calls.length,
      context: objectOf(context),
      integrations: objectOf(integrations),
      sentAt: typeof sentAt === "string" ? sentAt : null,
    },
  };
}

/** Null for an empty object, which is not merged into each call. */
function objectOf(value: unknown): JsonObject | null {
  return isObject(value) && Object.keys(value).length > 0 ? value : null;
}

type Answered = {
  readonly kind: PathKind;
  /** The size of the request's body, in characters. */
  readonly size: number;
};

function answer(admitted: Admitted | Fault, { kind, size }: Answered): Response {
  if (isFault(admitted)) return respondFault(admitted);
  const { accepted, duplicate, rejected, unlisted } = admitted;
  const counts = { success: true, accepted, duplicate };
  const [first] = rejected;
  if (!first) return respond(200, counts);
  if (kind !== "batch") return respondFault(first.fault);
  const list = listRejected(rejected, LEAST_LISTED + MOST_PER_CHARACTER * size);
  const left = unlisted + rejected.length - list.length;
  const listed = { ...counts, rejected: list };
  return respond(200, left === 0 ? listed : { ...listed, unlisted: left });
}

/**
 * The characters that an answer may use to list rejected calls, and how many more for each character of the request. Calls of
 * a client library need half of that. Without a bound, a batch of bare numbers would get an answer 65 times its size.
 */
const LEAST_LISTED = 4 * KB;
const MOST_PER_CHARACTER = 4;
/** For each entry: the names of its fields, its index, and punctuation. */
const ENTRY_FRAME = 60;

function listRejected(rejected: readonly Rejected[], most: number): readonly object[] {
  const list: object[] = [];
  let left = most;
  for (const { index, call, fault } of rejected) {
    const { code, message } = fault;
    const messageId = textOf(call, "messageId");
    left -= ENTRY_FRAME + code.length + message.length + (messageId?.length ?? 0);
    if (left < 0) break;
    list.push({ index, messageId, code, message });
  }
  return list;
}
