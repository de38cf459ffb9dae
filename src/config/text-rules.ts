/** Rules for names and origins, and for what goes into a request. */
export type TextRule = {
  /** What is wrong with a text, or null. */
  readonly fault: (text: string) => string | null;
  /** For editors. Accepts at least what the rule does. */
  readonly pattern: RegExp;
  /** The message for text that does not match the pattern, and for a value that is not text. */
  readonly must?: string;
  /** The type in the reference; text if left out. */
  readonly form?: string;
};

const URL_START = "must start with http:// or https://";

/** A webhook's URL (SPEC.md 2.1: the full URL including the protocol). */
export const WEBHOOK_URL: TextRule = {
  pattern: /^[Hh][Tt][Tt][Pp][Ss]?:\/\/\S+$/,
  must: URL_START,
  form: "URL",
  fault(text) {
    if (!/^https?:\/\//i.test(text)) return URL_START;
    if (/[\s\p{Cc}]/u.test(text)) return "must not contain spaces or line breaks: write %20 for a space";
    const url = URL.parse(text);
    if (url === null) return "must be a full URL, as in https://crm.example.com/hooks";
    if (url.username === "" && url.password === "") return null;
    return "must not contain a user name or password: send them in an Authorization header";
  },
};

/** Fairlead sets these itself, or they are about one connection and not the request (RFC 9110, 7.6.1). */
const RESERVED_HEADERS = [
  ...["content-type", "user-agent", "x-signature", "webhook-id", "webhook-timestamp", "webhook-signature"],
  ...["host", "content-length", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"],
  ...["proxy-authenticate", "proxy-authorization", "proxy-connection"],
];
const NOT_A_HEADER = "is not a header name: use letters, digits and hyphens";
/** A token (RFC 9110, 5.6.2). */
const HEADER_TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** The name of a static header. */
export const HEADER_NAME: TextRule = {
  pattern: HEADER_TOKEN,
  must: NOT_A_HEADER,
  fault(name) {
    if (!HEADER_TOKEN.test(name)) return NOT_A_HEADER;
    const isReserved = RESERVED_HEADERS.includes(name.toLowerCase());
    return isReserved ? "may not be set: Fairlead or the connection decides this header" : null;
  },
};

/** The value of a static header: Latin-1 without control characters except the tab. */
export const HEADER_VALUE: TextRule = {
  pattern: /^[\t -~\u00a0-\u00ff]*$/,
  fault(value) {
    if (/[^\t\P{Cc}]/u.test(value)) return "must not contain line breaks or other control characters";
    if (/[^\t -\u00ff]/.test(value)) return "must not contain characters beyond Latin-1, such as typographic quotes";
    return null;
  },
};

/** A word after `Bearer `. */
const BEARER = /^[!-~]+$/;

/** The token of the operator's API: its clients send it in a header. */
export const TOKEN: TextRule = {
  pattern: BEARER,
  fault(token) {
    if (token === "") return "must not be empty";
    return BEARER.test(token)
      ? null
      : "must be letters, digits and punctuation of ASCII, without spaces: clients send it in a header";
  },
};

/** All but `.` and `..`, which are no names in the path of a URL. */
const NAME_PATTERN = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}$/;
const NOT_A_NAME = "is not a valid name: use 1 to 64 letters, digits, hyphens, underscores and dots";

/** The name of a source or a destination. */
export const NAME: TextRule = {
  pattern: NAME_PATTERN,
  must: NOT_A_NAME,
  fault: (name) => (NAME_PATTERN.test(name) ? null : NOT_A_NAME),
};

const NOT_AN_ORIGIN =
  'must be "*" or an origin, as in https://example.com, https://*.example.com or capacitor://localhost';

/** The origin of a page that may send calls, exactly as a browser writes it into its Origin header. Case does not count. */
export const ORIGIN: TextRule = {
  pattern: /^(\*|null|[A-Za-z][A-Za-z\d+.-]*:\/\/[^/?#\s]*)$/,
  must: NOT_AN_ORIGIN,
  fault(text) {
    // A sandboxed frame and a page from a file have the origin null.
    if (text === "*" || text === "null") return null;
    const origin = text.toLowerCase();
    const [, scheme = "", host = "", rest = ""] = /^([a-z][a-z\d+.-]*):\/\/([^/?#]*)(.*)$/s.exec(origin) ?? [];
    if (scheme === "") return NOT_AN_ORIGIN;
    if (rest !== "") return "must not have a path: leave out all that follows the host, a slash too";
    if (host.includes("@")) return "must not contain a user name or password";
    if (scheme === "https" || scheme === "http") return webOriginFault(origin);
    // Some apps whose pages are files send file://.
    if (origin === "file://" || /^[a-z\d._-]+(:\d+)?$/.test(host)) return null;
    return "must have a host after ://, as the app sends it; a * can only stand in https:// and http://";
  },
};

function webOriginFault(origin: string): string | null {
  // A host that the pattern stands for.
  const example = origin.replace(/:\/\/\*\.(?=[^.:])/, "://x.");
  if (example.includes("*")) return "may have a * only for all subdomains of a host, as in https://*.example.com";
  const url = URL.parse(example);
  if (url === null) return NOT_AN_ORIGIN;
  if (url.origin === example) return null;
  return url.port === "" && /:\d*$/.test(example)
    ? "must not have the default port of its scheme: browsers leave it out"
    : "must have its host as browsers send it: in ASCII (xn--...), an IP address in its shortest form";
}

/** A file to include, or a pattern for the names of several in one folder. */
export const INCLUDE: TextRule = {
  pattern: /^[\s\S]*[^/]$/,
  form: "path",
  fault(text) {
    if (text === "") return "must not be empty";
    if (text.length > MOST_PATH) return `may have at most ${MOST_PATH} characters`;
    if (text.includes("\0")) return "must not contain a NUL character";
    if (text.endsWith("/")) return "names a folder: name the files in it, as in conf.d/*.yaml";
    const [, folder = "", name = ""] = /^(.*\/)?([^/]*)$/s.exec(text) ?? [];
    if (/[*?]/.test(folder)) return "may have * and ? in its last part alone: name each folder";
    if (/[*?]/.test(name) && /[[\]{}]/.test(name)) return "may not have [ ] or { }: use * and ?, or several entries";
    return null;
  },
};

const MOST_PATH = 4_096;
