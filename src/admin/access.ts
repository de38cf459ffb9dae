import { bearerToken, isSameToken, pathOf } from "../http/request.ts";
import type { Config, Listen } from "../model/config.ts";
import { type Fault, fault } from "../model/fault.ts";

/** Paths that need no token: load balancers have none, and the answers are not secret. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

const LOOPBACK = /^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])$/;
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

/**
 * Whether a request may reach the operator's API, or why not. A web page in the operator's browser can send requests to
 * loopback, but only with an Origin header or a foreign Host: both are refused. A POST must be JSON, which such a page
 * cannot send without a preflight request.
 */
export function checkAccess(request: Request, { listen, token }: Config["admin"]): Fault | null {
  if (request.headers.has("origin")) {
    return fault("forbidden_origin", "the operator's API does not answer web pages (the request has an Origin header)");
  }
  const host = request.headers.get("host") ?? "";
  if (!isOwnHost(host, listen)) return foreignHost(host, listen);
  if (token && !isOpen(pathOf(request.url))) {
    const given = bearerToken(request);
    if (given === null || !isSameToken(given, token)) {
      return fault("unauthorized", "send admin.token as Authorization: Bearer <token>");
    }
  }
  if (request.method !== "POST" || isJson(request.headers.get("content-type"))) return null;
  return fault("unsupported_media_type", "a POST must be sent as Content-Type: application/json");
}

/** Whether a path needs no token, whatever the config says. */
export function isOpen(path: string): boolean {
  return OPEN_PATHS.has(path);
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
  return fault("forbidden_host", `the Host header (${shown}) is no name of this Unix socket; ${advice}`);
}

function isJson(type: string | null): boolean {
  return /^application\/json\s*(;|$)/i.test(type ?? "");
}
