import { type Context, Hono } from "hono";
import { pathOf } from "../http/request.ts";
import { respond, respondFault } from "../http/respond.ts";
import { CALL_TYPES, type CallType } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Handle } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { SECOND } from "../model/units.ts";
import { type PathKind, refuse } from "./admit.ts";
import { addCors, answerPreflight, type Door, type IncomingRequest } from "./door.ts";
import { answerPixel, receivePixel } from "./pixel.ts";
import { type ReceiveWorld, receiveCalls } from "./receive.ts";
import { shownPath } from "./write-key.ts";

type IngestWorld = ReceiveWorld & {
  /** The rules of the config in force, which a reload replaces. */
  readonly door: () => Door;
  /** Whether the daemon is stopping. */
  readonly stopping: () => boolean;
  readonly report: Report;
};

/**
 * The collection API, for programs and pages (SPEC.md 4.2). Most requests are calls, and their paths are few: a table
 * finds them at a fraction of what a router costs. All else goes to Hono.
 */
export function createIngest(world: IngestWorld): Handle {
  const others = createOthers(world);

  return async function handle(request, peer) {
    const begunAt = world.clock.now();
    const origin = request.headers.get("origin");
    // A page that is left closes its connection, and the address could not be read later.
    const known = origin === null ? peer : { address: peer.address, overSocket: peer.overSocket };
    const incoming: IncomingRequest = { request, peer: known, origin, door: world.door() };
    let response: Response;
    try {
      response = await (origin === null ? answer(incoming) : answerPage(incoming, origin));
    } catch (error) {
      world.report.unexpected("answer a call", error);
      response = PIXEL_PATHS.has(pathOf(request.url)) ? answerPixel() : respondFault(UNEXPECTED);
    }
    // Also of errors: a browser hides them from the page otherwise.
    if (origin !== null && incoming.door.allowsOrigin(origin)) addCors(response, origin);
    world.report.requestAnswered(response.status, world.clock.now() - begunAt);
    return response;
  };

  function answer(incoming: IncomingRequest): Response | Promise<Response> {
    const { request } = incoming;
    const path = pathOf(request.url);
    const kind = CALL_PATHS.get(path);
    if (kind && request.method === "POST") {
      return world.stopping() ? refuseStopping(incoming, world) : receiveCalls(incoming, kind, world);
    }
    const image = PIXEL_PATHS.get(path);
    if (image && request.method === "GET") return receivePixel(incoming, image, world);
    return others.fetch(request, { incoming });
  }

  /** A browser asks before it sends, and shows an answer to the page only if its origin is allowed. */
  function answerPage(incoming: IncomingRequest, origin: string): Response | Promise<Response> {
    const { request, door } = incoming;
    const isQuestion = request.method === "OPTIONS";
    if (door.allowsOrigin(origin)) return isQuestion ? answerPreflight() : answer(incoming);
    if (isQuestion) return new Response(null, { status: 204 });
    const refusal = refuse(foreign(origin), { incoming }, world);
    return PIXEL_PATHS.has(pathOf(request.url)) ? answerPixel() : respondFault(refusal);
  }
}

const UNEXPECTED = fault("internal", "something unexpected went wrong; the call was not accepted");

function foreign(origin: string): Fault {
  const shown = JSON.stringify(origin.slice(0, 100));
  return fault("forbidden_origin", `pages of ${shown} may not send calls; list their origin in ingest.corsOrigins`);
}

/** For connections that were open before the daemon began to stop. Each must close, because the daemon waits for that. */
function refuseStopping(incoming: IncomingRequest, world: IngestWorld): Response {
  const refusal = fault("stopping", "the daemon is stopping; try again", SECOND);
  const response = respondFault(refuse(refusal, { incoming }, world));
  response.headers.set("Connection", "close");
  return response;
}

type Bindings = { Bindings: { readonly incoming: IncomingRequest } };

function createOthers(world: IngestWorld): Hono<Bindings> {
  const api = new Hono<Bindings>({ strict: false });
  api.get(SETTINGS_PATH, ({ env: { incoming }, req }) => settings(incoming, req.param("writeKey"), world));
  api.post(METRICS_PATH, () => respond(200, { success: true }));
  for (const path of [...CALL_PATHS.keys(), METRICS_PATH])
    api.all(path, (context) => wrongMethod(context, "POST", world));
  for (const path of PIXEL_PATHS.keys()) {
    api.all(path, (context) => {
      // A HEAD request shows no image, so it is no call that was missed.
      if (context.req.method !== "HEAD") wrongMethod(context, "GET", world);
      return answerPixel();
    });
  }
  api.all(SETTINGS_PATH, (context) => wrongMethod(context, "GET", world));
  // The caller reports it, as it does errors of calls.
  api.onError((error) => {
    throw error;
  });
  api.notFound(({ env: { incoming }, req }) => {
    if (req.method === "OPTIONS") return new Response(null, { status: 204 });
    const refusal = notFound(shownPath(req.raw, incoming.door.hideKeys));
    // A POST to a wrong path is a call that was not taken.
    const isCall = req.method === "POST";
    return respondFault(isCall ? refuse(refusal, { incoming }, world) : refusal);
  });
  return api;
}

function settings(incoming: IncomingRequest, writeKey: string, world: IngestWorld): Response {
  const { request, peer, door } = incoming;
  const source = door.findSource.byKey(writeKey);
  if (isFault(source)) return respondFault(refuse(source, { incoming }, world));
  const proxied = door.proxies.trusts(peer);
  const body = makeSettings({ writeKey, request, secure: door.secure, proxied });
  // The answer depends on the page that asks.
  return respond(200, body, { "Cache-Control": "private, max-age=60", Vary: "Origin" });
}

/** A request with the wrong method is a call that was not taken. */
function wrongMethod(
  { env: { incoming }, req }: Context<Bindings>,
  right: "GET" | "POST",
  world: IngestWorld,
): Response {
  if (req.method === "OPTIONS") return new Response(null, { status: 204, headers: { Allow: right } });
  const refusal = fault("method_not_allowed", `${shownPath(req.raw, incoming.door.hideKeys)} accepts only ${right}`);
  const response = respondFault(refuse(refusal, { incoming }, world));
  response.headers.set("Allow", right);
  return response;
}

function notFound(path: string): Fault {
  const known = "/v1/identify, /v1/track, /v1/page, /v1/screen, /v1/group, /v1/alias and /v1/batch";
  return fault("not_found", `there is nothing at ${path}; send calls to ${known}`);
}

/** Short names, by which browsers save bytes. */
const SHORT: Readonly<Record<CallType, string>> = {
  identify: "i",
  track: "t",
  page: "p",
  screen: "s",
  group: "g",
  alias: "a",
};

/**
 * Where calls are POSTed, with or without a slash at the end: the names that client libraries use, in full and short, and
 * RudderStack's for what a page sends while it closes.
 */
const CALL_PATHS: ReadonlyMap<string, PathKind> = new Map([
  ...CALL_TYPES.map((type) => [`/v1/${type}`, type] as const),
  ...CALL_TYPES.map((type) => [`/v1/${SHORT[type]}`, type] as const),
  ...["/v1/batch", "/v1/import", "/v1/b", "/beacon/v1/batch"].map((path) => [path, "batch"] as const),
]);

/** Where calls come as images of mails and pages, by GET. */
const PIXEL_PATHS: ReadonlyMap<string, CallType> = new Map([
  ...CALL_TYPES.map((type) => [`/v1/pixel/${type}`, type] as const),
  ...(["track", "page"] as const).map((type) => [`/pixel/v1/${type}`, type] as const),
]);

/** Browser libraries send metrics about themselves, which are dropped. */
const METRICS_PATH = "/v1/m";

/** Browser and mobile libraries read their settings before they send anything; without an answer they send nothing. */
const SETTINGS_PATH = "/v1/projects/:writeKey/settings";

type SettingsInput = {
  readonly writeKey: string;
  readonly request: Request;
  /** Whether this daemon speaks TLS itself. */
  readonly secure: boolean;
  /** Whether the headers come from a trusted proxy. */
  readonly proxied: boolean;
};

/** With `apiHost` and `protocol` in the settings, a page has to name this server only once, as its `cdnURL`. */
function makeSettings(input: SettingsInput): object {
  const { writeKey } = input;
  const api = { apiKey: writeKey, apiHost: `${hostOf(input)}/v1`, protocol: protocolOf(input) };
  return {
    integrations: { "Segment.io": api },
    plan: { track: { __default: { enabled: true } } },
    metrics: { sampleRate: 0 },
  };
}

/** The name that the client uses for this server, which this machine may not know. */
function hostOf({ request, proxied }: SettingsInput): string {
  const forwarded = proxied ? request.headers.get("x-forwarded-host") : null;
  const host = first(forwarded) || request.headers.get("host") || "";
  return /^[\w.:[\]-]{1,255}$/.test(host) ? host : "localhost";
}

/**
 * A page of HTTPS must not send by HTTP, so its request came by HTTPS, whatever proxies are in between. Only its own
 * machine may be asked either way.
 */
function protocolOf(input: SettingsInput): "http" | "https" {
  const { request, secure, proxied } = input;
  if (secure) return "https";
  const forwarded = proxied ? first(request.headers.get("x-forwarded-proto")) : "";
  if (forwarded !== "") return forwarded.toLowerCase() === "https" ? "https" : "http";
  const page = request.headers.get("origin") ?? request.headers.get("referer") ?? "";
  return page.startsWith("https://") && !isLoopback(hostOf(input)) ? "https" : "http";
}

function first(list: string | null): string {
  return (list ?? "").split(",", 1)[0]?.trim() ?? "";
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host);
}
