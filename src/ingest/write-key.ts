import { hash } from "node:crypto";
import { pathOf } from "../http/request.ts";
import type { Source } from "../model/config.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import { isObject } from "../validate/shape.ts";

/** Finds the source of a request by its write key, wherever a client library puts it. */
export type FindSource = {
  /** By what is outside the body, or null if the body decides. */
  outside(request: Request): Source | Fault | null;
  /** By all of the request. `body` is parsed JSON. */
  anywhere(request: Request, body: unknown): Source | Fault;
  byKey(key: string): Source | Fault;
};

/** Authorization headers that are remembered: each client sends the same one again and again. */
const MOST_REMEMBERED = 1_000;

/**
 * Keys are looked up by hash, so that the time does not tell how much of a guess was right. The first place that holds a
 * key decides, in this order: the user name of Basic authorization; with Bearer authorization the body; `X-Write-Key`; the
 * query; the body; its first call.
 */
export function createFindSource(sources: readonly Source[]): FindSource {
  const byHash = new Map(sources.map((source) => [digest(source.writeKey.reveal()), source]));
  const byHeader = new Map<string, Source>();

  return { outside, anywhere, byKey };

  function outside(request: Request): Source | Fault | null {
    const header = request.headers.get("authorization") ?? "";
    const known = byHeader.get(header);
    if (known) return known;
    const basic = basicUser(header);
    if (basic === null) {
      const key = isBearer(header) ? null : keyBeside(request);
      return key === null ? null : byKey(key);
    }
    const source = byKey(basic);
    if (!isFault(source) && byHeader.size < MOST_REMEMBERED) byHeader.set(header, source);
    return source;
  }

  function anywhere(request: Request, body: unknown): Source | Fault {
    const found = outside(request);
    if (found !== null) return found;
    const key = textKey(body) ?? keyBeside(request) ?? textKey(firstCall(body));
    return key === null ? NO_KEY : byKey(key);
  }

  function byKey(key: string): Source | Fault {
    const source = byHash.get(digest(key));
    if (!source) return UNKNOWN_KEY;
    if (!source.enabled) return fault("source_disabled", `the source ${source.name} is disabled in the config`);
    return source;
  }
}

const NO_KEY = fault(
  "missing_write_key",
  "no write key: send it as the user name of Basic authorization, or as writeKey in the body",
);
const UNKNOWN_KEY = fault("unknown_write_key", "no source has this write key; look it up under sources in the config");

function digest(key: string): string {
  return hash("sha256", key, "base64");
}

/** The user of `Authorization: Basic base64(key + ":")`. The password is ignored. */
function basicUser(header: string): string | null {
  const [, credentials] = /^basic +(\S+)/i.exec(header) ?? [];
  if (!credentials) return null;
  const key = Buffer.from(credentials, "base64").toString().split(":", 1)[0];
  return key || null;
}

/** The keys that a request sends outside its body, known or not. */
export function claimedKeys(request: Request): readonly string[] {
  const header = request.headers.get("authorization") ?? "";
  return [basicUser(header), keyBeside(request)].filter((key) => key !== null);
}

/** Such clients have a token for another service, and send the write key in the body. */
function isBearer(header: string): boolean {
  return /^bearer\s/i.test(header);
}

/** `X-Write-Key`, or `writeKey` in the query. */
function keyBeside(request: Request): string | null {
  const header = request.headers.get("x-write-key");
  if (header) return header;
  const start = request.url.indexOf("?");
  return start < 0 ? null : new URLSearchParams(request.url.slice(start)).get("writeKey") || null;
}

function textKey(value: unknown): string | null {
  return isObject(value) && typeof value.writeKey === "string" && value.writeKey !== "" ? value.writeKey : null;
}

function firstCall(body: unknown): unknown {
  return isObject(body) && Array.isArray(body.batch) ? body.batch[0] : null;
}

/** Removes write keys from a text that the operator will see, and also `claimed`, which the request has sent as its own. */
export type HideKeys = (text: string, claimed?: readonly string[]) => string;

const HIDDEN = "***";
/** A shorter key is a word rather than a secret, and would be removed from sentences. */
const SHORTEST = 6;

/**
 * Hides the write keys of all sources, as they are, in a URL and as Basic authorization. Reads a text once, however many
 * sources there are, because anybody can have requests refused.
 */
export function createHideKeys(sources: readonly Source[]): HideKeys {
  // Made when the first text comes: calls wait for a reload, and most daemons refuse nothing.
  let finder: Finder | null = null;
  return function hideKeys(text, claimed = []) {
    finder ??= createFinder(sources);
    return formsOf(claimed).reduce((shown, form) => shown.replaceAll(form, HIDDEN), hide(text, finder));
  };
}

function createFinder(sources: readonly Source[]): Finder {
  const forms = formsOf(sources.map(({ writeKey }) => writeKey.reveal()));
  const marks = new Uint8Array(MARKS);
  for (const form of forms) marks[markOf(form, 0)] = 1;
  return { marks, byStart: Map.groupBy(forms, (one) => one.slice(0, SHORTEST)) };
}

type Finder = {
  /** Set for the first three characters of each key. Nearly all places of a text are ruled out by it. */
  readonly marks: Uint8Array;
  /** Keys by their first characters. */
  readonly byStart: ReadonlyMap<string, readonly string[]>;
};

const MARKS = 2 ** 16;

function markOf(text: string, at: number): number {
  return (text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) % MARKS;
}

function hide(text: string, { marks, byStart }: Finder): string {
  let shown = "";
  let from = 0;
  for (let at = 0; at + SHORTEST <= text.length; at += 1) {
    if (marks[markOf(text, at)] === 0) continue;
    const found = byStart.get(text.slice(at, at + SHORTEST))?.find((one) => text.startsWith(one, at));
    if (found === undefined) continue;
    shown += text.slice(from, at) + HIDDEN;
    from = at + found.length;
    at = from - 1;
  }
  return shown + text.slice(from);
}

/** The longest first: replacing a shorter one would leave the rest of a longer one. */
function formsOf(keys: readonly string[]): readonly string[] {
  const forms = new Set(keys.flatMap(spellings).filter((one) => one.length >= SHORTEST));
  return [...forms].sort((one, other) => other.length - one.length);
}

function spellings(key: string): readonly string[] {
  // The user of Basic authorization, with the colon behind it, and by mistake without.
  const encoded = [`${key}:`, key].map((text) => Buffer.from(text).toString("base64"));
  const unpadded = encoded.map((text) => text.replace(/=+$/, ""));
  return [key, encodeURIComponent(key.toWellFormed()), JSON.stringify(key).slice(1, -1), ...encoded, ...unpadded];
}

/** A path for the operator and the log, without write keys and what looks like one. */
export function shownPath({ url }: Request, hideKeys: HideKeys): string {
  return hideKeys(pathOf(url).slice(0, LONGEST_LOOKED_AT))
    .replace(/^(\/+v1\/+projects\/+)[^/]+/i, "$1***")
    .replace(/(?<=\/)(?=[^/]*\d)[\w.~-]{10,}(?=\/|$)/g, "***")
    .slice(0, LONGEST_SHOWN);
}

/** In characters. A key may reach beyond what is shown, and must be found whole. */
const LONGEST_SHOWN = 100;
const LONGEST_LOOKED_AT = 1_000;
