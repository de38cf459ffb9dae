/** What the library shows of values, of errors and of answers: always a text, printable, and without the write key. */
import type { Answer } from "./post.ts";

/**
 * Any value as text. Programs throw anything, and `String` throws at a value without a usable `toString`; a promise that
 * waits would then never be settled. Never throws.
 */
export function show(value: unknown): string {
  return guarded(() => (typeof value === "string" ? JSON.stringify(value.slice(0, MOST_SHOWN)) : String(value)));
}

const MOST_SHOWN = 100;

/** What was thrown, with its stack. Never throws. */
export function showThrown(error: unknown): string {
  return guarded(() => (error instanceof Error ? `${error.stack ?? error.message}` : String(error)));
}

/** What was thrown, as a clause, with its cause: the message of Node's fetch says only that it failed. Never throws. */
export function showCauses(error: unknown): string {
  return guarded(() => {
    if (!(error instanceof Error)) return String(error);
    const { cause } = error;
    return cause instanceof Error && cause.message !== "" ? `${error.message}: ${cause.message}` : `${error.message}`;
  });
}

/** Names the kind of a value. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function guarded(make: () => string): string {
  try {
    return make();
  } catch {
    return "a value that cannot be shown as text";
  }
}

/** Control characters, those that turn the direction of writing, and invisible ones. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Makes foreign text safe for a terminal. JSON stays the same JSON. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => character.split("").map(escaped).join(""));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Removes the write key from a text that people will see. */
export type Mask = (text: string) => string;

const HIDDEN = "***";
/** A shorter key is a word rather than a secret, and would be removed from sentences. */
const SHORTEST = 6;

/** Hides a write key as it is, as a URL and JSON have it, and as Basic authorization has it: servers echo requests. */
export function createMask(writeKey: string): Mask {
  const inUrl = new URLSearchParams({ k: writeKey }).toString().slice("k=".length);
  const plain = [writeKey, inUrl, JSON.stringify(writeKey).slice(1, -1)];
  const encoded = [`${writeKey}:`, writeKey].flatMap((text) => spellings(base64(text)));
  // The longest first: replacing a shorter one would leave the rest of a longer one.
  const forms = [...new Set([...encoded, ...plain])].filter((one) => one.length >= SHORTEST);
  forms.sort((one, other) => other.length - one.length);
  return (text) => forms.reduce((masked, one) => masked.replaceAll(one, HIDDEN), text);
}

/** An answer without the write key in any of its texts. Numbers and names of fields stay as they are. */
export function maskAnswer(answer: Answer, mask: Mask): Answer {
  if (answer.kind !== "answered") return answer;
  const { statusText, retryAfter, location, body } = answer;
  return {
    ...answer,
    statusText: mask(statusText),
    retryAfter: retryAfter === null ? null : mask(retryAfter),
    ...(location !== undefined && { location: mask(location) }),
    body: maskBody(body, mask),
  };
}

function maskBody(body: string, mask: Mask): string {
  let found = false;
  const masked = (_key: string, value: unknown): unknown => {
    if (typeof value !== "string") return value;
    const shown = mask(value);
    found ||= shown !== value;
    return shown;
  };
  try {
    const json = JSON.stringify(JSON.parse(body), masked);
    return found ? json : body;
  } catch {
    return mask(body);
  }
}

export function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** Base64 with its padding and without, in both of its alphabets. */
function spellings(encoded: string): readonly string[] {
  const forUrls = encoded.replaceAll("+", "-").replaceAll("/", "_");
  return [encoded, forUrls].flatMap((one) => [one, one.replace(/=+$/, "")]);
}
