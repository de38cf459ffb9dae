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
