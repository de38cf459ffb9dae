import { pathOf } from "../http/path.ts";
import { bearerToken, isSameToken } from "../http/tokens.ts";
import type { Config, Listen } from "../model/config.ts";
import { type Fault, fault } from "../model/fault.ts";

/** What a health check may ask without the token: load balancers have none, and the answers say nothing secret. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

/**
 * Whether a request may reach the operator's API, or why not. A page in the operator's browser can send requests to
 * loopback, but not without an Origin header or a foreign Host: both are refused, and a POST has to be JSON, which such
 * a page cannot send unasked.
 */
export function checkAccess(request: Request, { listen, token }: Config["admin"]): Fault | null {
  if (request.headers.has("origin")) {
    return fault("forbidden_origin", "the operator's API does not answer web pages (the request has an Origin header)");
  }
  if (!isOwnHost(request.headers.get("host"), listen)) {
    return fault("forbidden_host", "the Host header is not the address that admin.listen names");
  }
  if (token && !isOpen(pathOf(request.url))) {
    const given = bearerToken(request);
    if (given === null || !isSameToken(given, token)) {
      return fault("unauthorized", "send admin.token as Authorization: Bearer <token>");
    }
  }
  if (request.method !== "POST" || isJson(request.headers.get("content-type"))) return null;
  return fault("unsupported_media_type", "a POST has to be sent as Content-Type: application/json");
}

/** Whether a path needs no token, whatever the config says. */
export function isOpen(path: string): boolean {
  return OPEN_PATHS.has(path);
}

/** Whoever listens on all addresses has many names, and is guarded by the token. */
function isOwnHost(host: string | null, listen: Listen): boolean {
  if (listen.kind === "unix" || ANY_ADDRESS.has(listen.host)) return true;
  const name = (host ?? "").replace(/:\d+$/, "").toLowerCase();
  const own = listen.host.includes(":") && !listen.host.startsWith("[") ? `[${listen.host}]` : listen.host;
  return name === own.toLowerCase() || (LOOPBACK.has(own.toLowerCase()) && LOOPBACK.has(name));
}

function isJson(type: string | null): boolean {
  return /^application\/json\s*(;|$)/i.test(type ?? "");
}
