import { CallTooLargeError } from "./errors.ts";

/** The same as Fairlead's. Not read from package.json: Node 20 warns about every import of JSON. */
export const VERSION = "0.2.0";

export const LIBRARY = { name: "fairlead-client", version: VERSION } as const;

/** What the sender needs of a call. A call without a messageId is found by its index when the server rejects it. */
export type Sendable = { readonly text: string; readonly messageId?: string; readonly ownTime?: boolean };

/** What a request says beside its calls. Both have a fixed length. */
type Seal = {
  readonly messageId: string;
  /** By it the server corrects the timestamps of calls, where the clock of this machine is wrong. */
  readonly sentAt: string;
  /** How the body begins; as a server's when left out. */
  readonly head?: string;
};

const HEAD = `{"context":{"library":${JSON.stringify(LIBRARY)}},"batch":[`;

export type WriteBody = (batch: readonly Sendable[], seal: Seal) => string;

/**
 * The body of a request, around calls that are JSON already. The server must not correct a timestamp that the caller gave:
 * in a batch with such a call, `sentAt` stands in each of the other calls instead.
 */
export function writeEnvelope(batch: readonly Sendable[], { messageId, sentAt, head = HEAD }: Seal): string {
  const at = writeSentAt(sentAt);
  const isForAll = !batch.some(({ ownTime }) => ownTime);
  const calls = batch.map(({ text, ownTime }) => (isForAll || ownTime ? text : `${text.slice(0, -1)}${at}}`));
  return `${head}${calls.join(",")}],"messageId":${JSON.stringify(messageId)}${isForAll ? at : ""}}`;
}

function writeSentAt(sentAt: string): string {
  return `,"sentAt":"${sentAt}"`;
}

/** A body that adds nothing to its calls. */
export function writeBare(batch: readonly Sendable[]): string {
  return `{"batch":[${batch.map(({ text }) => text).join(",")}]}`;
}

const SAMPLE: Seal = { messageId: "00000000-0000-4000-8000-000000000000", sentAt: new Date(0).toISOString() };

/** The bytes of an envelope without calls. */
export const ENVELOPE_BYTES = utf8Length(writeEnvelope([], SAMPLE));

/** The bytes that a `sentAt` of its own adds to a call. */
export const SENT_AT_BYTES = writeSentAt(SAMPLE.sentAt).length;

/** The most bytes that the library's name adds to a call. */
const MOST_ADDED = `,"context":{"library":${JSON.stringify(LIBRARY)}}`.length;

export type CallLimits = {
  /** Of one call with the envelope's context merged into it, as the server counts (SPEC.md 8). */
  readonly maxCallSize: number;
  readonly maxBatchSize: number;
};

/** Answers the bytes of a call. Throws a CallTooLargeError if no batch can hold it. */
export function measureCall({ text, ownTime }: Sendable, { maxCallSize, maxBatchSize }: CallLimits): number {
  const bytes = utf8Length(text);
  const stamp = ownTime ? 0 : SENT_AT_BYTES;
  // Few calls come near the limit; only those are merged to be measured.
  const merged = bytes + stamp + MOST_ADDED > maxCallSize ? utf8Length(merge(text)) + stamp : bytes;
  if (merged > maxCallSize) throw new CallTooLargeError(merged, maxCallSize);
  const most = maxBatchSize - ENVELOPE_BYTES;
  if (bytes > most) throw new CallTooLargeError(bytes, most);
  return bytes;
}

/** The call as the server merges it. Spreading keeps a key named `__proto__` as data. */
function merge(text: string): string {
  const call = JSON.parse(text);
  return JSON.stringify({ ...call, context: { library: LIBRARY, ...call.context } });
}

/** How many bytes a text takes in UTF-8. Surrogates must come in pairs, as they do in what JSON.stringify writes. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // A half of a pair takes two of the four bytes that the pair takes.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}
