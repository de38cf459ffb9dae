import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { EventType, Skip } from "../model/event.ts";
import type { SkipRule } from "../model/rules.ts";

/**
 * The state of one event in the column `states`: it waits for its first attempt, was delivered by it, has a row in `tried`, or is
 * not for this destination.
 */
export type Letter = "w" | "d" | "t" | "-";

/** Events in one segment, so that the delivery loop reads and writes little at a time. */
export const MOST_EVENTS = 256;

/** One event in the column `about`. A list, as names would be longer than most of the values. */
export type About = readonly [
  source: string,
  type: EventType,
  messageId: string,
  userId: string | null,
  skipped?: StoredSkips | number,
];

/** By rule, the destinations that it keeps an event from. In place of it, the index of the first event that has the same. */
export type StoredSkips = readonly (readonly [rule: SkipRule, ...destinations: string[]])[];

export function storeSkips(skipped: readonly Skip[]): StoredSkips {
  const byRule = Map.groupBy(skipped, ({ rule }) => rule);
  return [...byRule].map(([rule, all]) => [rule, ...all.map(({ destination }) => destination)]);
}

/** What was skipped of the nth event. */
export function skipsOf(about: readonly About[], nth: number): readonly Skip[] {
  const [, , , , stored = []] = about[nth] ?? [];
  if (typeof stored === "number") return skipsOf(about, stored);
  return stored.flatMap(([rule, ...destinations]) => destinations.map((destination) => ({ destination, rule })));
}

export function parseAbout(segment: number, text: string | undefined): readonly About[] {
  if (text === undefined) throw damaged(segment, "it has no contents");
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damaged(segment, "the description of its events cannot be read", cause);
  }
}

/** The states of a new segment of so many events. `waiting`: the indexes, in order, of those that wait. */
export function statesOf(waiting: readonly number[], events: number): string {
  if (waiting.length === events) return "w".repeat(events);
  const states = Buffer.alloc(events, "-");
  for (const index of waiting) states.write("w", index);
  return states.toString("latin1");
}

/** How often the letter occurs. */
export function countLetter(states: string, letter: Letter): number {
  return states.split(letter).length - 1;
}

/** Characters from which on compressing pays off: shorter bodies fit into a page of the file. */
const SHORT = 4_096;
/** Takes half a microsecond an event, and saves six sevenths. Higher levels take several times as long for little more. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 } };

/**
 * The bodies of a segment as they are stored, one a line. Events resemble each other, so compression saves most of what is
 * written to the disk twice, in the log and in the file. A short text stays as it is.
 */
export function packBodies(bodies: readonly string[]): string | Buffer {
  const lines = bodies.join("\n");
  return lines.length < SHORT ? lines : zstdCompressSync(`${lines}\n`, FAST);
}

export type Packed = {
  /** The number of the segment, for messages. */
  readonly segment: number;
  /** How many bodies there have to be. */
  readonly events: number;
  readonly about: string;
  readonly bodies: string | Buffer;
  /** `checksum` of both when they were written; null if none was stored. */
  readonly sum: number | null;
};

/** The bodies, in their order. Throws if they are damaged, so that no receiver gets another body. */
export function unpackBodies({ segment, events, about, bodies, sum }: Packed): readonly string[] {
  if (sum !== null && sum !== checksum(about, bodies))
    throw damaged(segment, "its contents differ from what was written");
  const lines = typeof bodies === "string" ? bodies.split("\n") : inflate(segment, bodies);
  const found = lines.filter((line) => line !== "").length;
  if (found !== events) throw damaged(segment, `it has ${found} of ${events} bodies`);
  return lines;
}

function inflate(segment: number, packed: Buffer): string[] {
  let text: string;
  try {
    text = zstdDecompressSync(packed).toString();
  } catch (cause) {
    throw damaged(segment, "its bodies cannot be decompressed", cause);
  }
  // The runtimes decompress truncated data without an error: only the end of the last line shows that all is there.
  if (!text.endsWith("\n")) throw damaged(segment, "its bodies are truncated");
  return text.slice(0, -1).split("\n");
}

/** Damage in the outbox, with what the operator of an SQLite file does about it. Other engines say what to do on theirs. */
export class Damage extends Error {
  readonly what: string;
  constructor(what: string, cause?: unknown) {
    super(`${what}; ${REMEDY}`, { cause });
    this.what = what;
  }
}

export function damaged(segment: number, how: string, cause?: unknown): Damage {
  return new Damage(`segment ${segment} of the outbox is damaged: ${how}`, cause);
}

/** The same for a delivery with a row of its own. */
export function damagedRow(event: number): Damage {
  return new Damage(`delivery ${event} in the outbox is damaged: its row differs from what was written`);
}

const REMEDY = "stop Fairlead, look at the file with SQLite's PRAGMA integrity_check, and restore a backup";

/** Detects a disk that returns other bytes than were written: only what came in may be signed and sent. */
export function checksum(about: string, bodies: string | Buffer): number {
  return crc32(bodies, crc32(about));
}
