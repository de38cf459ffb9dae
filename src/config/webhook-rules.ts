/** Rules for what goes into a request. Each answers what is wrong with a text, or null. */

/** Set by Fairlead itself, or about one connection and not the request (RFC 9110, 7.6.1). */
const RESERVED_HEADERS = [
  ...["content-type", "user-agent", "x-signature", "host", "content-length", "connection", "keep-alive"],
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

/** A static header's name: a token (RFC 9110, 5.6.2) that is free to be set. */
export function headerNameFault(name: string): string | null {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return "is not a header name: use letters, digits and hyphens";
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

/** The name of a source or a destination. */
export function nameFault(name: string): string | null {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(name)) return null;
  return "is not a valid name: use 1 to 64 letters, digits, hyphens, underscores and dots";
}
