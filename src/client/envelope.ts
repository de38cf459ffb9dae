import type { Sendable } from "./entry.ts";
import { CallTooLargeError } from "./errors.ts";
import { utf8Length } from "./utf8.ts";
import { LIBRARY } from "./version.ts";

/** What a batch is told beside its calls. The times and the id have one length, whatever they are. */
export type Seal = {
  readonly messageId: string;
  /** By it the server corrects the timestamps of the calls. Null leaves them as they are: so history is imported. */
  readonly sentAt: string | null;
};

const HEAD = `{"context":{"library":${JSON.stringify(LIBRARY)}},"batch":[`;

export type WriteBody = (batch: readonly Sendable[], seal: Seal) => string;

/** The body of a request. The calls have been written already, and are only put together. */
export function writeEnvelope(batch: readonly Sendable[], { messageId, sentAt }: Seal): string {
  const calls = batch.map(({ text }) => text).join(",");
  const at = sentAt === null ? "" : `,"sentAt":"${sentAt}"`;
  return `${HEAD}${calls}],"messageId":${JSON.stringify(messageId)}${at}}`;
}

/** A body that adds nothing to its calls. */
export function writeBare(batch: readonly Sendable[]): string {
  return `{"batch":[${batch.map(({ text }) => text).join(",")}]}`;
}

const SAMPLE: Seal = { messageId: "00000000-0000-4000-8000-000000000000", sentAt: new Date(0).toISOString() };

/** What an envelope takes by itself, in bytes. */
export const ENVELOPE_BYTES = utf8Length(writeEnvelope([], SAMPLE));

/** What the library's name adds to a call at most. */
const MOST_ADDED = `,"context":{"library":${JSON.stringify(LIBRARY)}}`.length;

export type CallLimits = {
  /** Of one call with the envelope's context in it, as the server counts it (SPEC.md 8). */
  readonly maxCallSize: number;
  readonly maxBatchSize: number;
};

/** Answers the bytes of a call. Throws a CallTooLargeError if it cannot be sent. */
export function measureCall(text: string, { maxCallSize, maxBatchSize }: CallLimits): number {
  const bytes = utf8Length(text);
  // Few come near the limit, and only those need to be put together to be measured.
  const merged = bytes + MOST_ADDED > maxCallSize ? utf8Length(merge(text)) : bytes;
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
