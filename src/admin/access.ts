import { bearerToken, isSameToken, pathOf } from "../http/request.ts";
import type { Config, Listen } from "../model/config.ts";
import { type Fault, fault } from "../model/fault.ts";
import { isPage, isPageFile } from "./pages.ts";

/** Paths that need no token: load balancers have none, and the answers are not secret. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

const LOOPBACK = /^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])$/;
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

/** What a request may do, by its token or because none is needed. `read`: look, and change nothing. */
export type Access = "full" | "read";

/** A refusal of `admin.readToken`. */
export const READ_ONLY = fault("read_only", "admin.readToken is read-only; this request needs admin.token");

/**
 * Whether a request may reach the operator's API, or why not. A web page in the operator's browser can send requests to
 * loopback, but such a request has the page's Origin, a Sec-Fetch-Site, or a foreign Host. All of these are refused,
 * except those of the dashboard. A POST must be JSON, which such a page cannot send without a preflight request.
 */
export function checkAccess(request: Request, admin: Config["admin"]): Fault | null {
  const path = pathOf(request.url);
  const host = request.headers.get("host") ?? "";
  const refusal = refusePage(request, { path, host, dashboard: admin.dashboard });
  if (refusal) return refusal;
  if (!isOwnHost(host, admin.listen)) return foreignHost(host, admin.listen);
  const access = isOpen(path) ? "full" : accessOf(request, admin);
  if (access === null) return fault("unauthorized", "send admin.token as Authorization: Bearer <token>");
  if (access === "read" && !LOOKING.has(request.method)) return READ_ONLY;
  if (request.method !== "POST" || isJson(request.headers.get("content-type"))) return null;
  return fault("unsupported_media_type", "a POST must be sent as Content-Type: application/json");
}

/** What the token of a request allows; null: it has none, or one that is not of the config. */
export function accessOf(request: Request, { token, readToken }: Config["admin"]): Access | null {
  if (token === null) return "full";
  const given = bearerToken(request);
  if (given === null) return null;
  if (isSameToken(given, token)) return "full";
  return readToken !== null && isSameToken(given, readToken) ? "read" : null;
}

/** Whether a path needs no token, whatever the config says. */
export function isOpen(path: string): boolean {
  return OPEN_PATHS.has(path) || isPage(path) || isPageFile(path);
}

type Asked = { readonly path: string; readonly host: string; readonly dashboard: boolean };

/**
 * Refuses a request of a web page, unless that is the dashboard; null for other requests. Browsers say in both headers where
 * a request comes from, and no page can change them. A link from elsewhere may lead to the dashboard, which is how its
 * addresses are passed on.
 */
function refusePage({ method, headers }: Request, { path, host, dashboard }: Asked): Fault | null {
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  if (origin !== null && !(dashboard && site === "same-origin" && isOriginOf(host, origin))) {
    return fault("forbidden_origin", dashboard && site === null && isOriginOf(host, origin) ? UNSAID : FOREIGN);
  }
  // Without the header it is no browser, or one that does not say more of a request without an Origin.
  if (site === null || site === "same-origin" || site === "none") return null;
  const isFollowed = headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  if (dashboard && isFollowed && LOOKING.has(method) && isPage(path)) return null;
  return fault("forbidden_origin", ELSEWHERE);
}

const LOOKING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

const FOREIGN = "the operator's API does not answer web pages (the request has an Origin header)";
const ELSEWHERE = "the operator's API does not answer pages of other sites (the request has a Sec-Fetch-Site header)";
const UNSAID =
  "the request has an Origin header and no Sec-Fetch-Site: a browser sends that over HTTPS, or to localhost; " +
  "open the dashboard through a proxy with HTTPS, or through ssh -L";

/** A host as a browser writes it: no user, no path, nothing encoded. */
const WEB_HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i;

/** Whether pages with this Origin are at this Host. The scheme is that of a proxy in front, if there is one. */
function isOriginOf(host: string, origin: string): boolean {
  return WEB_HOST.test(host) && [`http://${host}`, `https://${host}`].includes(origin);
}

/**
 * Whether the Host is one of this listener's names. A web page can point its own domain at loopback or at a tunnel to the
 * socket, but it cannot have the name of loopback.
 */
function isOwnHost(host: string, listen: Listen): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  if (listen.kind === "unix") return LOOPBACK.test(name) || isSocketName(host, listen.path);
  // A listener on all addresses has many names, and is guarded by its token.
  if (ANY_ADDRESS.has(listen.host)) return true;
  const own = (
    listen.host.includes(":") && !listen.host.startsWith("[") ? `[${listen.host}]` : listen.host
  ).toLowerCase();
  return name === own || (LOOPBACK.test(own) && LOOPBACK.test(name));
}

/** Clients of Unix sockets send no Host, or the path, as it is or percent-encoded. Browsers always send a host name. */
function isSocketName(host: string, path: string): boolean {
  return host === "" || host === path || host.toLowerCase() === encodeURIComponent(path).toLowerCase();
}

function foreignHost(host: string, { kind }: Listen): Fault {
  if (kind === "tcp") return fault("forbidden_host", "the Host header is not the address that admin.listen names");
  const shown = JSON.stringify(host.slice(0, 100));
  const advice = "send localhost, as in http://localhost/";
  return fault("forbidden_host", `the Host header (${shown}) does not belong to this Unix socket; ${advice}`);
}

function isJson(type: string | null): boolean {
  return /^application\/json\s*(;|$)/i.test(type ?? "");
}
