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
