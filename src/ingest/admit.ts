import type { Source } from "../model/config.ts";
import { CALL_TYPES, type CallType, type Event } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import { isLongInteger } from "../model/json.ts";
import type { Accept, Receipt } from "../model/ports.ts";
import { type Arrival, validateCall } from "../validate/call.ts";
import { isObject } from "../validate/shape.ts";
import { type IncomingRequest, senderOf } from "./door.ts";
import type { Limits } from "./limits.ts";
import type { Refused, RejectionLog, Visit } from "./rejections.ts";
import { claimedKeys, shownPath } from "./write-key.ts";

/** No client library sends more calls in one batch. */
const MAX_BATCH_EVENTS = 2_500;
/** Calls of a batch beyond these are only counted: listing them all would make a very long answer. */
const MOST_LISTED = 2 * MAX_BATCH_EVENTS;

/** What is POSTed to a path: calls of one type, or a batch of any. */
export type PathKind = CallType | "batch";

export type AdmitWorld = {
  readonly accept: Accept;
  readonly limits: Pick<Limits, "refusal" | "take" | "giveBack">;
  readonly rejections: RejectionLog;
};

/** The calls of one request, and what they take from it. */
export type Envelope = { readonly calls: readonly unknown[]; readonly arrival: Arrival };

/** The calls of a request whose source is known. */
type Admission = {
  readonly incoming: IncomingRequest;
  readonly source: Source;
  readonly kind: PathKind;
  readonly envelope: Envelope;
};

/** What became of the calls of one request. Accepted calls are durable. */
export type Admitted = {
  readonly accepted: number;
  readonly duplicate: number;
  readonly rejected: readonly Rejected[];
  /** How many more were rejected, without an entry in `rejected`. */
  readonly unlisted: number;
};

export type Rejected = { readonly index: number; readonly call: unknown; readonly fault: Fault };

/** Validates the calls of a request, accepts the valid ones, and reports the others. Resolves once what it accepts is durable. */
export async function admit(admission: Admission, world: AdmitWorld): Promise<Admitted | Fault> {
  const { incoming, source, envelope } = admission;
  const { events, rejected, unlisted } = validateAll(envelope);
  const [call] = envelope.calls;
  const limited = world.limits.take(source, events.length);
  // The client sends all of it again, so that bad calls are reported then.
  if (limited) return refuse(limited, { incoming, source, what: call, count: events.length }, world);
  if (rejected.length > 0) reportRejected(admission, { rejected, unlisted }, world);
  const receipts = events.length === 0 ? [] : await world.accept(source.name, events);
  if (isFault(receipts)) {
    world.limits.giveBack(source, events.length);
    return refuse(receipts, { incoming, source, what: call, count: events.length }, world);
  }
  let duplicate = 0;
  let suppressed = 0;
  for (const { kind } of receipts) {
    if (kind === "duplicate") duplicate += 1;
    if (kind === "suppressed") suppressed += 1;
  }
  const admitted = { accepted: receipts.length - duplicate - suppressed, duplicate, rejected, unlisted };
  if (suppressed === 0) return admitted;
  const refused = suppressedCalls(envelope, rejected, receipts);
  reportRejected(admission, { rejected: refused, unlisted: 0 }, world);
  return { ...admitted, rejected: [...rejected, ...refused].sort((one, other) => one.index - other.index) };
}

/** The calls that the store refused. There is one receipt for each call that was valid, in order. */
function suppressedCalls(
  { calls }: Envelope,
  rejected: readonly Rejected[],
  receipts: readonly Receipt[],
): readonly Rejected[] {
  const invalid = new Set(rejected.map(({ index }) => index));
  const valid = calls
    .map((call, index) => ({ index, call, fault: SUPPRESSED }))
    .filter(({ index }) => !invalid.has(index));
  return valid.filter((_, nth) => receipts[nth]?.kind === "suppressed");
}

const SUPPRESSED = fault(
  "user_suppressed",
  "this user was deleted, and calls of this user are refused until the operator allows them again",
);

type Refusing = {
  readonly incoming: IncomingRequest;
  readonly source?: Source | null;
  /** What to show the operator of the request. */
  readonly what?: unknown;
  /** How many calls it holds, if known. */
  readonly count?: number;
};

/** Reports that a whole request is refused, and returns the fault. */
export function refuse(refusal: Fault, refusing: Refusing, { rejections }: Pick<AdmitWorld, "rejections">): Fault {
  const { incoming, source = null, what = "", count } = refusing;
  const about = { source: source?.name ?? null, type: null, messageId: null, fault: refusal, what };
  rejections.reject([count === undefined ? about : { ...about, count }], visitOf(incoming, source));
  return refusal;
}

type RejectedCalls = Pick<Admitted, "rejected" | "unlisted">;
type Validated = RejectedCalls & { readonly events: readonly Event[] };

/** A bad call does not cost the others: otherwise client libraries would send the whole batch again, and then drop it. */
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
  const message = `the batch has ${count} calls; the limit is ${MAX_BATCH_EVENTS}, and the calls after that are refused`;
  return fault("too_many_events", message);
}

function reportRejected(admission: Admission, { rejected, unlisted }: RejectedCalls, { rejections }: AdmitWorld): void {
  const { incoming, source, kind, envelope } = admission;
  const refused = rejected.map(({ call, fault }): Refused => {
    const type = kind === "batch" ? textOf(call, "type") : kind;
    const known = CALL_TYPES.some((one) => one === type);
    // No sample is kept of a user who was deleted.
    const what = fault === SUPPRESSED ? "" : call;
    return { source: source.name, type: known ? type : null, messageId: textOf(call, "messageId"), fault, what };
  });
  if (unlisted > 0) {
    const rest = { source: source.name, type: null, messageId: null, what: "" };
    refused.push({ ...rest, fault: tooMany(envelope.calls.length), count: unlisted });
  }
  rejections.reject(refused, visitOf(incoming, source));
}

function visitOf(incoming: IncomingRequest, source: Source | null): Visit {
  const { request, door } = incoming;
  return {
    request: `${request.method} ${shownPath(request, door.hideKeys)}`,
    policy: door.ipPolicyOf(source),
    hide: (text) => door.hideKeys(text, claimedKeys(request)),
    sender: () => senderOf(incoming, source),
  };
}

/** A text field of a refused call, which may hold anything: cut off after 100 characters. */
export function textOf(call: unknown, key: "messageId" | "type"): string | null {
  const value = isObject(call) ? call[key] : null;
  if (isLongInteger(value)) return value.rawJSON.slice(0, 100);
  return typeof value === "string" || typeof value === "number" ? String(value).slice(0, 100) : null;
}
