import { pathOf } from "../http/path.ts";
import { CALL_TYPES, type CallType } from "../model/event.ts";
import type { HideKeys } from "./hide-keys.ts";

/** What a path means: one kind of call, or a batch of any. */
export type PathKind = CallType | "batch";

/** Browsers save bytes. */
const SHORT: Readonly<Record<CallType, string>> = {
  identify: "i",
  track: "t",
  page: "p",
  screen: "s",
  group: "g",
  alias: "a",
};

/**
 * Where calls are POSTed, each path with or without a slash at its end: the names that the client libraries know, in
 * full and short, and RudderStack's for what a page sends while it closes.
 */
export const CALL_PATHS: ReadonlyMap<string, PathKind> = new Map([
  ...CALL_TYPES.map((type) => [`/v1/${type}`, type] as const),
  ...CALL_TYPES.map((type) => [`/v1/${SHORT[type]}`, type] as const),
  ...["/v1/batch", "/v1/import", "/v1/b", "/beacon/v1/batch"].map((path) => [path, "batch"] as const),
]);

/** Where calls come as images of mails and pages, by GET. */
export const PIXEL_PATHS: ReadonlyMap<string, CallType> = new Map([
  ...CALL_TYPES.map((type) => [`/v1/pixel/${type}`, type] as const),
  ...(["track", "page"] as const).map((type) => [`/pixel/v1/${type}`, type] as const),
]);

/** Numbers about themselves that browser libraries send: nobody wants them here. */
export const METRICS_PATH = "/v1/m";

/** A path for the operator and the log: without write keys, nor what looks like one. */
export function shownPath({ url }: Request, hideKeys: HideKeys): string {
  return hideKeys(pathOf(url).slice(0, LONGEST_LOOKED_AT))
    .replace(/^(\/+v1\/+projects\/+)[^/]+/i, "$1***")
    .replace(/(?<=\/)(?=[^/]*\d)[\w.~-]{10,}(?=\/|$)/g, "***")
    .slice(0, LONGEST_SHOWN);
}

/** In characters. A key that begins within what is shown is looked at whole. */
const LONGEST_SHOWN = 100;
const LONGEST_LOOKED_AT = 1_000;

/** What a browser library asks for before it sends anything. */
export const SETTINGS_PATH = "/v1/projects/:writeKey/settings";
