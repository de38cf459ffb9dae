/**
 * Rules for names, and for what goes into a request. Each answers what is wrong with a text, or null. The patterns are for editors:
 * each accepts at least what its rule does.
 */

export const URL_PATTERN = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/\S+$/;
/** A token (RFC 9110, 5.6.2). */
export const HEADER_NAME_PATTERN = /^[\w!#$%&'*+.^`|~-]+$/;
/** Latin-1 without its control characters but the tab. */
export const HEADER_VALUE_PATTERN = /^[\t -~\u00a0-\u00ff]*$/;
/** What can travel after `Bearer ` as one word. */
export const TOKEN_PATTERN = /^[!-~]+$/;
/** All but `.` and `..`, which are no names in the path of a URL. */
export const NAME_PATTERN = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}$/;

/** Set by Fairlead itself, or about one connection and not the request (RFC 9110, 7.6.1). */
const RESERVED_HEADERS = [
  ...["content-type", "user-agent", "x-signature", "host", "content-length", "connection", "keep-alive"],
  ...["webhook-id", "webhook-timestamp", "webhook-signature"],
  ...[
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
  ],
];

export const NOT_A_HEADER = "is not a header name: use letters, digits and hyphens";
export const NOT_A_NAME = "is not a valid name: use 1 to 64 letters, digits, hyphens, underscores and dots";
const NOT_A_TOKEN = "must be letters, digits and punctuation of ASCII, without spaces: clients send it in a header";
export const URL_START = "must start with http:// or https://";

/** A webhook's URL (SPEC.md 2.1: the full URL including the protocol). */
export function urlFault(text: string): string | null {
  if (!/^https?:\/\//i.test(text)) return URL_START;
  if (/[\s\p{Cc}]/u.test(text)) return "must not contain spaces or line breaks: write %20 for a space";
  const url = URL.parse(text);
  if (url === null) return "must be a full URL, as in https://crm.example.com/hooks";
  if (url.username === "" && url.password === "") return null;
  return "must not contain a user name or password: send them in an Authorization header";
}

/** A static header's name: a token that is free to be set. */
export function headerNameFault(name: string): string | null {
  if (!HEADER_NAME_PATTERN.test(name)) return NOT_A_HEADER;
  if (RESERVED_HEADERS.includes(name.toLowerCase()))
    return "may not be set: Fairlead or the connection decides this header";
  return null;
}

/** A static header's value: what can travel in one header line. */
export function headerValueFault(value: string): string | null {
  if (/[^\t\P{Cc}]/u.test(value)) return "must not contain line breaks or other control characters";
  if (/[^\t -\u00ff]/.test(value)) return "must not contain characters beyond Latin-1, such as typographic quotes";
  return null;
}

/** The token of the operator's API: its clients send it in a header. */
export function tokenFault(token: string): string | null {
  if (token === "") return "must not be empty";
  return TOKEN_PATTERN.test(token) ? null : NOT_A_TOKEN;
}

/** The name of a source or a destination. */
export function nameFault(name: string): string | null {
  return NAME_PATTERN.test(name) ? null : NOT_A_NAME;
}

/*
 * The origins of pages that may send calls, as a browser writes them into its Origin header: that is what they are
 * compared with, so each must be written just so.
 */

const FORMS = '"*" or an origin, as in https://example.com, https://*.example.com or capacitor://localhost';

export const NOT_AN_ORIGIN = `must be ${FORMS}`;
/** Accepts at least what `originFault` does. */
export const ORIGIN_PATTERN = /^(\*|null|[A-Za-z][A-Za-z\d+.-]*:\/\/[^/?#\s]*)$/;

/** The page has no origin: a sandboxed frame, or a file. */
const NO_ORIGIN = "null";
/** What some apps send whose pages are files. */
const FILE_ORIGIN = "file://";

const PATH = "must not have a path: leave out all that follows the host, a slash too";
const HOST_OF_APP = "must have a host after ://, as the app sends it; a * can only stand in https:// and http://";
const STAR = "may have a * only for all subdomains of a host, as in https://*.example.com";
const PORT = "must not have the port that its scheme has by itself: browsers leave it out";
const AS_SENT = "must have its host as browsers send it: in ASCII (xn--...), an IP address in its shortest form";

/** Answers what is wrong with an origin, or null. Upper and lower case do not count. */
export function originFault(text: string): string | null {
  if (text === "*" || text === NO_ORIGIN) return null;
  const origin = text.toLowerCase();
  const [, scheme = "", host = "", rest = ""] = /^([a-z][a-z\d+.-]*):\/\/([^/?#]*)(.*)$/s.exec(origin) ?? [];
  if (scheme === "") return NOT_AN_ORIGIN;
  if (rest !== "") return PATH;
  if (host.includes("@")) return "must not contain a user name or password";
  if (scheme === "https" || scheme === "http") return webFault(origin);
  return origin === FILE_ORIGIN || /^[a-z\d._-]+(:\d+)?$/.test(host) ? null : HOST_OF_APP;
}

function webFault(origin: string): string | null {
  // A host that the pattern stands for.
  const example = origin.replace(/:\/\/\*\.(?=[^.:])/, "://x.");
  if (example.includes("*")) return STAR;
  const url = URL.parse(example);
  if (url === null) return NOT_AN_ORIGIN;
  if (url.origin === example) return null;
  return url.port === "" && /:\d*$/.test(example) ? PORT : AS_SENT;
}
