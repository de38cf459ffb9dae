import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { respond, respondFault } from "../http/respond.ts";
import type { CallType, JsonObject } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock, Random } from "../model/ports.ts";
import type { Source } from "../model/source.ts";
import { type At, KB } from "../model/units.ts";
import type { Arrival } from "../validate/call.ts";
import type { Caller } from "../validate/context.ts";
import { mayHoldInfinity } from "../validate/limits.ts";
import { isObject, kindOf } from "../validate/shape.ts";
import { type Admitted, type AdmitWorld, admit, type Rejected, refuse, textOf } from "./admit.ts";

import { type Arriving, callerOf } from "./door.ts";
import { answerPixel, readPixel } from "./pixel.ts";

/** What a path means: one kind of call, or a batch of any. */
export type PathKind = CallType | "batch";

export type TakeWorld = AdmitWorld & {
  readonly clock: Clock;
  readonly random: Random;
  readonly bodies: Bodies;
};

/**
 * Takes the calls of one request: who sends them, what they are, whether each is valid; then they are accepted, which
 * makes them durable, and only then answered.
 */
export async function take(arriving: Arriving, kind: PathKind, world: TakeWorld): Promise<Response> {
  const { request, door } = arriving;
  const early = door.findSource.outside(request);
  if (early && isFault(early)) return respondFault(refuse(early, { arriving, source: null, what: "" }, world));
  const text = await world.bodies.read(request, door.limits.maxBatch);
  if (typeof text !== "string") return respondFault(refuse(text, { arriving, source: early, what: "" }, world));
  const parsed = parseJson(text);
  if (isFault(parsed)) return respondFault(refuse(parsed, { arriving, source: early, what: text }, world));
  const source = early ?? door.findSource.anywhere(request, parsed.value);
  if (isFault(source)) return respondFault(refuse(source, { arriving, source: null, what: text }, world));
  const numbers = mayHoldInfinity(text) ? "unchecked" : "checked";
  const received = receive({ arriving, source, isPage: false, numbers }, world);
  const envelope = kind === "batch" ? readBatch(parsed.value, received) : readCall(parsed.value, kind, received);
  if (isFault(envelope)) return respondFault(refuse(envelope, { arriving, source, what: text }, world));
  return answer(await admit({ arriving, source, kind, envelope }, world), { kind, size: text.length });
}

/** The same for a call that comes as an image: whatever becomes of it, the answer is one. */
export async function takePixel(arriving: Arriving, type: CallType, world: TakeWorld): Promise<Response> {
  const { request, door } = arriving;
  const start = request.url.indexOf("?");
  const query = start < 0 ? "" : request.url.slice(start);
  const pixel = readPixel(new URLSearchParams(query));
  const call = pixel.kind === "call" ? pixel.call : null;
  const what = pixel.kind === "call" ? pixel.call : pixel.text;
  const source = door.findSource.anywhere(request, call);
  if (isFault(source)) {
    refuse(source, { arriving, source: null, what }, world);
  } else if (pixel.kind === "refused") {
    refuse(pixel.fault, { arriving, source, what }, world);
  } else {
    const received = receive({ arriving, source, isPage: true, numbers: "unchecked" }, world);
    await admit({ arriving, source, kind: type, envelope: readCall(call, type, received) }, world);
  }
  return answerPixel();
}

type Came = {
  readonly arriving: Arriving;
  readonly source: Source;
  /** Whether it can only have come from a page or a mail. */
  readonly isPage: boolean;
  readonly numbers: Received["numbers"];
};

function receive({ arriving, source, isPage, numbers }: Came, { clock, random }: TakeWorld): Received {
  const receivedAt = clock.wall();
  // Ids of this server begin with the time, so that they sort as they came.
  const time = receivedAt.toString(16).padStart(12, "0");
  const newId = (): string => `fl-${time}-${random.hex(10)}`;
  const { maxCall } = arriving.door.limits;
  return { numbers, maxCall, receivedAt, newId, caller: callerOf(arriving, source, isPage) };
}

type Asked = {
  readonly kind: PathKind;
  /** Of its body, in characters. */
  readonly size: number;
};

function answer(admitted: Admitted | Fault, { kind, size }: Asked): Response {
  if (isFault(admitted)) return respondFault(admitted);
  const { rejected, unlisted, ...counts } = admitted;
  const [first] = rejected;
  if (!first) return respond(200, { success: true, ...counts });
  if (kind !== "batch") return respondFault(first.fault);
  const list = listOf(rejected, LEAST_LISTED + MOST_PER_CHARACTER * size);
  const left = unlisted + rejected.length - list.length;
  const listed = { success: true, ...counts, rejected: list };
  return respond(200, left === 0 ? listed : { ...listed, unlisted: left });
}

/**
 * Characters of the answer that may name bad calls, beside those for each character of the request. Calls of a client
 * library need half of that; a bare number would be answered with 65 times its size.
 */
const LEAST_LISTED = 4 * KB;
const MOST_PER_CHARACTER = 4;
/** The names of an entry's members, its index, and what is between them. */
const FRAME = 60;

type Entry = {
  readonly index: number;
  readonly messageId: string | null;
  readonly code: string;
  readonly message: string;
};

function listOf(rejected: readonly Rejected[], most: number): readonly Entry[] {
  const list: Entry[] = [];
  let left = most;
  for (const { index, call, fault } of rejected) {
    const { code, message } = fault;
    const messageId = textOf(call, "messageId");
    left -= FRAME + code.length + message.length + (messageId?.length ?? 0);
    if (left < 0) break;
    list.push({ index, messageId, code, message });
  }
  return list;
}

/** The calls of one request, and what they have in common. */
export type Envelope = { readonly calls: readonly unknown[]; readonly arrival: Arrival };

/** What the ingest API knows of a request before it has looked into the body. */
type Received = {
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
