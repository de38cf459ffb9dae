import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { respond, respondFault } from "../http/respond.ts";
import { CALL_TYPES, type CallType, type Event } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Accept, Clock, Random, Report } from "../model/ports.ts";
import { KB } from "../model/units.ts";
import { validateCall } from "../validate/call.ts";
import { isObject } from "../validate/shape.ts";
import { type Envelope, readBatch, readCall } from "./envelope.ts";
import type { FindSource } from "./write-key.ts";

/** SPEC.md 8: maximum size of one batch request, decompressed. */
export const MAX_BODY_BYTES = 500 * KB;
/** No client library sends more in one batch. */
const MAX_BATCH_EVENTS = 2_500;
/** Calls of one batch that the answer speaks of, each by itself: the rest is only counted, or it would be very long. */
const MOST_LISTED = 2 * MAX_BATCH_EVENTS;

export type TakeWorld = {
  readonly clock: Clock;
  readonly random: Random;
  readonly findSource: () => FindSource;
  readonly bodies: Bodies;
  readonly accept: Accept;
  readonly report: Report;
};

/** What a path means: one kind of call, or a batch of any. */
export type PathKind = CallType | "batch";

/**
 * Takes the calls of one request: who sends them, what they are, whether each is valid; then they are accepted, which
 * makes them durable, and only then answered.
 */
export async function take(request: Request, kind: PathKind, world: TakeWorld): Promise<Response> {
  const source = world.findSource()(request);
  if (isFault(source)) return refuse(source, null, world);
  const envelope = await readEnvelope(request, kind, world);
  if (isFault(envelope)) return refuse(envelope, source.name, world);
  const { events, rejected, unlisted } = validateAll(envelope);
  for (const one of rejected) tellRejected(one, { source: source.name, kind }, world);
  if (unlisted > 0) tellUnlisted(unlisted, source.name, world);
  const [first] = rejected;
  if (kind !== "batch" && first) return respondFault(first.fault);
  const receipts = await world.accept(source.name, events);
  if (isFault(receipts)) return refuse(receipts, source.name, world);
  const duplicate = receipts.filter((receipt) => receipt.kind === "duplicate").length;
  return respond(200, answer(receipts.length - duplicate, duplicate, { rejected, unlisted }));
}

async function readEnvelope(request: Request, kind: PathKind, world: TakeWorld): Promise<Envelope | Fault> {
  const { bodies, clock, random } = world;
  const text = await bodies.read(request, MAX_BODY_BYTES);
  if (typeof text !== "string") return text;
  const parsed = parseJson(text);
  if (isFault(parsed)) return parsed;
  const receivedAt = clock.wall();
  // Ids of this server begin with the time, so that they sort as they came.
  const time = receivedAt.toString(16).padStart(12, "0");
  const newId = (): string => `fl-${time}-${random.hex(10)}`;
  const received = { text, receivedAt, newId };
  return kind === "batch" ? readBatch(parsed.value, received) : readCall(parsed.value, kind, received);
}

type Rejected = { readonly index: number; readonly call: unknown; readonly fault: Fault };
type Validated = {
  readonly events: readonly Event[];
  readonly rejected: readonly Rejected[];
  /** How many more are rejected, because there are far too many. */
  readonly unlisted: number;
};

/** One bad call costs the others nothing: client libraries would send the whole batch again, and then drop it. */
function validateAll({ calls, arrival }: Envelope): Validated {
  const events: Event[] = [];
  const rejected: Rejected[] = [];
  calls.slice(0, MOST_LISTED).forEach((call, index) => {
    const event = index < MAX_BATCH_EVENTS ? validateCall(call, arrival) : tooMany(calls.length);
    if (isFault(event)) rejected.push({ index, call, fault: event });
    else events.push(event);
  });
  return { events, rejected, unlisted: Math.max(0, calls.length - MOST_LISTED) };
}

function tooMany(count: number): Fault {
  const message = `the batch holds ${count} calls; the limit is ${MAX_BATCH_EVENTS}, and the calls after that are refused`;
  return fault("too_many_events", message);
}

type Refused = Pick<Validated, "rejected" | "unlisted">;

function answer(accepted: number, duplicate: number, { rejected, unlisted }: Refused): object {
  const counts = { success: true, accepted, duplicate };
  if (rejected.length === 0) return counts;
  const listed = { ...counts, rejected: rejected.map(describe) };
  return unlisted === 0 ? listed : { ...listed, unlisted };
}

function describe({ index, call, fault: { code, message } }: Rejected): object {
  return { index, messageId: textOf(call, "messageId"), code, message };
}

function refuse(refusal: Fault, source: string | null, { report }: TakeWorld): Response {
  report.callRejected({ source, type: null, messageId: null, fault: refusal });
  return respondFault(refusal);
}

type Door = { readonly source: string; readonly kind: PathKind };

function tellRejected({ call, fault: refusal }: Rejected, { source, kind }: Door, { report }: TakeWorld): void {
  const type = kind === "batch" ? textOf(call, "type") : kind;
  const known = CALL_TYPES.some((one) => one === type);
  report.callRejected({ source, type: known ? type : null, messageId: textOf(call, "messageId"), fault: refusal });
}

function tellUnlisted(count: number, source: string, { report }: TakeWorld): void {
  report.callRejected({ source, type: null, messageId: null, fault: tooMany(count + MOST_LISTED), count });
}

/** Of a call that was refused, and so may hold anything. */
function textOf(call: unknown, key: "messageId" | "type"): string | null {
  const value = isObject(call) ? call[key] : null;
  return typeof value === "string" ? value.slice(0, 100) : null;
}
