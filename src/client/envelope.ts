import { CallTooLargeError } from "./errors.ts";
import type { Sendable } from "./queue.ts";

/** Of the library, the same as Fairlead's. Not read from package.json: Node 20 warns of every import of JSON. */
export const VERSION = "0.1.0";

export const LIBRARY = { name: "fairlead-client", version: VERSION } as const;

/** What a batch is told beside its calls. The times and the id have one length, whatever they are. */
type Seal = {
  readonly messageId: string;
  /** By it the server corrects the timestamps of calls, where the clock of this machine is wrong. */
  readonly sentAt: string;
};

const HEAD = `{"context":{"library":${JSON.stringify(LIBRARY)}},"batch":[`;

export type WriteBody = (batch: readonly Sendable[], seal: Seal) => string;

/**
 * The body of a request. The calls have been written already, and are only put together. A time that the caller gave is not
 * to be corrected: beside such a call, each of the others says by itself when it was sent.
 */
export function writeEnvelope(batch: readonly Sendable[], { messageId, sentAt }: Seal): string {
  const at = writeSentAt(sentAt);
  const isForAll = !batch.some(({ ownTime }) => ownTime);
  const calls = batch.map(({ text, ownTime }) => (isForAll || ownTime ? text : `${text.slice(0, -1)}${at}}`));
  return `${HEAD}${calls.join(",")}],"messageId":${JSON.stringify(messageId)}${isForAll ? at : ""}}`;
}

function writeSentAt(sentAt: string): string {
  return `,"sentAt":"${sentAt}"`;
}

/** A body that adds nothing to its calls. */
export function writeBare(batch: readonly Sendable[]): string {
  return `{"batch":[${batch.map(({ text }) => text).join(",")}]}`;
}

const SAMPLE: Seal = { messageId: "00000000-0000-4000-8000-000000000000", sentAt: new Date(0).toISOString() };

/** What an envelope takes by itself, in bytes. */
export const ENVELOPE_BYTES = utf8Length(writeEnvelope([], SAMPLE));

/** What a call takes more that says by itself when it was sent. */
export const SENT_AT_BYTES = writeSentAt(SAMPLE.sentAt).length;

/** What the library's name adds to a call at most. */
const MOST_ADDED = `,"context":{"library":${JSON.stringify(LIBRARY)}}`.length;

export type CallLimits = {
  /** Of one call with the envelope's context in it, as the server counts it (SPEC.md 8). */
  readonly maxCallSize: number;
  readonly maxBatchSize: number;
};

/** Answers the bytes of a call. Throws a CallTooLargeError if it cannot be sent, whatever it shares its batch with. */
export function measureCall({ text, ownTime }: Sendable, { maxCallSize, maxBatchSize }: CallLimits): number {
  const bytes = utf8Length(text);
  const stamp = ownTime ? 0 : SENT_AT_BYTES;
  // Few come near the limit, and only those need to be put together to be measured.
  const merged = bytes + stamp + MOST_ADDED > maxCallSize ? utf8Length(merge(text)) + stamp : bytes;
  if (merged > maxCallSize) throw new CallTooLargeError(merged, maxCallSize);
  const most = maxBatchSize - ENVELOPE_BYTES;
  if (bytes > most) throw new CallTooLargeError(bytes, most);
  return bytes;
}

/** The call as the server sees it. Spreading keeps a key named `__proto__` as data. */
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
