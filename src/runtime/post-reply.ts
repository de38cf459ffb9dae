import { BlockList, isIP } from "node:net";
import process from "node:process";
import type { WebhookTls } from "../model/destination.ts";
import type { Reply } from "../model/ports.ts";
import { KB, type Ms, SECOND } from "../model/units.ts";

/**
 * What a failed POST means. The words are made here from the error's code: those of the runtimes carry advice to
 * programmers, and the whole URL with its query.
 */
export function replyToError(error: unknown, signal: AbortSignal, way: Way | null = null): Reply {
  if (signal.aborted || isAbort(error)) return { kind: "aborted" };
  const code = codeOf(error);
  if (isUntrusted(code)) return { kind: "untrusted", code, message: describeUntrusted(code, way) };
  const message = describeFailure({ code, proxyStatus: proxyStatusOf(error) }, way);
  return { kind: isOffline(code) ? "offline" : "unreachable", code, message };
}

/** As `replyToError`, of what went the whole way: without an answer in time, perhaps no further than to a name server. */
export async function replyToFailure(error: unknown, signal: AbortSignal, way: Way): Promise<Reply> {
  const reply = replyToError(error, signal, way);
  if (reply.kind !== "aborted" || !(await isUnresolved(nextHostOf(way)))) return reply;
  return {
    kind: "offline",
    code: "EAI_AGAIN",
    message: describeFailure({ code: "EAI_AGAIN", proxyStatus: null }, way),
  };
}

/** A runtime's own time limits count as the caller's. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

/** The code by which the system or a runtime calls an error. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOfSeveral(error.errors.map(codeOf));
  if (!(error instanceof Error)) return "UNKNOWN";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** One for each address of the name. If any of them was reached, the machine is not offline. */
function codeOfSeveral(codes: readonly string[]): string {
  return codes.find((code) => !isOffline(code)) ?? codes[0] ?? "UNKNOWN";
}

/** Bun has it as a number, Deno in its message: `… over http://proxy:3128: HTTP/1.1 403 Forbidden`. */
function proxyStatusOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ("status" in error && typeof error.status === "number") return String(error.status);
  return /: HTTP\/1\.\d (\d{3})/.exec(error.message)?.[1] ?? null;
}

/** An error's code, and the status with which a proxy has refused to connect, if that is what happened. */
type Failure = { readonly code: string; readonly proxyStatus: string | null };

/** Whether an error's code says that the request never left this machine. */
function isOffline(code: string): boolean {
  return Object.hasOwn(OFFLINE, code);
}

/** Why there is no answer; for a webhook, also whether a proxy is to blame, and what to do. */
export function describeFailure({ code, proxyStatus }: Failure, way: Way | null): string {
  if (code === "ERR_PROXY_TUNNEL") return refusedByProxy(proxyStatus, way);
  const unreached = OFFLINE[code] ?? UNREACHED[code];
  if (unreached !== undefined) return way?.proxy ? `cannot reach the proxy ${way.proxy}: ${unreached}` : unreached;
  if (code === "ECONNRESET" || code === "EPIPE") return `connection closed before an answer${suspectsOf(way)}`;
  if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return describeHandshake(code, way);
  if (/^HPE_|^Malformed|^Invalid/.test(code)) return "the answer is not valid HTTP";
  return OTHERS[code] ?? code;
}

const OFFLINE: Readonly<Record<string, string>> = {
  ENETUNREACH: "no route to the network",
  EHOSTUNREACH: "no route to the host",
  ENETDOWN: "the network is down",
  EAI_AGAIN: "no name server answered",
  // What an IPv6 address gives on a machine without IPv6, and any address when every local port is taken.
  EADDRNOTAVAIL: "no local address to send from",
  EMFILE: "this process has too many open files; raise its limit (LimitNOFILE= of its unit)",
  ENFILE: "this machine has too many open files",
};

/** There was no connection, to the receiver or to the proxy before it. */
const UNREACHED: Readonly<Record<string, string>> = {
  ENOTFOUND: "name not found",
  ECONNREFUSED: "connection refused",
  ETIMEDOUT: "connection timed out",
};

const OTHERS: Readonly<Record<string, string>> = {
  EACCES: "not permitted by this machine",
  EPERM: "not permitted by this machine",
  ResponseHeadersTooLarge: "the headers of the answer are too long",
  UnrequestedUpgrade: "the answer changes to another protocol",
  UnsupportedProxyProtocol: "the proxy in the environment must begin with http:// or https://",
};

function refusedByProxy(status: string | null, way: Way | null): string {
  const proxy = way?.proxy ? `the proxy ${way.proxy}` : "the proxy";
  const target = way ? hostOf(way) : "the receiver";
  const refused = `${proxy} refuses to connect to ${target}${status === null ? "" : ` (it answered ${status})`}`;
  return status === "407" ? `${refused}: ${NEEDS_PASSWORD}` : refused;
}

const NEEDS_PASSWORD = "it wants a user name and a password, as in HTTPS_PROXY=http://user:password@host:port";

function suspectsOf(way: Way | null): string {
  const byProxy = way?.proxy ? `, by the proxy ${way.proxy} or behind it` : "";
  // With TLS 1.3 a client has sent its request by the time that its certificate is looked at.
  return way?.tls?.cert ? `${byProxy}, as by a receiver that refuses the certificate in cert` : byProxy;
}

function describeHandshake(code: string, way: Way | null): string {
  if (/_CERTIFICATE_REQUIRED$/.test(code)) return "the receiver asks for a certificate of ours: set cert: and key:";
  if (way?.tls?.cert && OURS_REFUSED.test(code)) return `the receiver refuses the certificate in cert (${code})`;
  if (code !== "EPROTO") return `TLS handshake failed (${code})`;
  if (way === null) return "TLS handshake failed";
  const ours = way.tls?.cert ? "refuses the certificate in cert" : "asks for a certificate of ours (cert: and key:)";
  return `TLS handshake failed: ${hostOf(way)} speaks no TLS at that port, or ${ours}`;
}

/** What TLS calls a certificate that the other side does not take. */
const OURS_REFUSED =
  /_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)/;

/** Whether an error's code says that a certificate was refused, before any request was sent. */
export function isUntrusted(code: string): boolean {
  return Object.hasOwn(VERDICTS, code) || OTHER_VERDICTS.test(code);
}

/** What is wrong with a receiver's certificate; for a webhook, also whose it is, and what to do. */
export function describeUntrusted(code: string, way: Way | null): string {
  const { verdict, remedy } = VERDICTS[code]?.(way?.tls?.ca != null) ?? {
    verdict: `cannot be used (${code})`,
    remedy: NEW,
  };
  return way === null ? `certificate ${verdict}` : `the certificate of ${hostOf(way)} ${verdict}: ${remedy}`;
}

type Words = { readonly verdict: string; readonly remedy: string };

const NEW = "have it issued anew";

/** By whether the webhook has authorities of its own. */
const VERDICTS: Readonly<Record<string, (hasAuthorities: boolean) => Words>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: unknown,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: typeof Bun === "undefined" ? unclear : unknown,
  UNABLE_TO_GET_ISSUER_CERT: unknown,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknown,
  CERT_HAS_EXPIRED: () => ({ verdict: "has expired", remedy: "it has to be renewed there" }),
  CERT_NOT_YET_VALID: () => ({ verdict: "is not valid yet", remedy: `set this machine's clock, or ${NEW}` }),
  CERT_REVOKED: () => ({ verdict: "was revoked", remedy: "it has to be replaced there" }),
  ERR_TLS_CERT_ALTNAME_INVALID: otherName,
  HOSTNAME_MISMATCH: otherName,
};

/** The rest of what a certificate check can say. Errors of the TLS protocol begin with ERR_SSL_ and are none of these. */
const OTHER_VERDICTS = /^(?!ERR_SSL_|HPE_).*(CERT|CRL)|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/;

function selfSigned(hasAuthorities: boolean): Words {
  const own = hasAuthorities ? " in the file of ca" : "; if that is your own, set ca: to its file";
  return { verdict: "is self-signed", remedy: `the receiver needs one from an authority${own}` };
}

function unknown(hasAuthorities: boolean): Words {
  if (hasAuthorities) {
    const remedy = "put the root of its authority there, or remove ca if that is a public one";
    return { verdict: "is from none of the authorities in the file of ca", remedy };
  }
  const remedy =
    "if that is your own, set ca: to its file; if not, the receiver leaves out the intermediate certificate";
  return { verdict: "is from an unknown authority", remedy };
}

/** Deno's TLS gives a certificate out of its time the name of one from an unknown authority. */
function unclear(hasAuthorities: boolean): Words {
  const { verdict, remedy } = unknown(hasAuthorities);
  return { verdict: `${verdict}, or out of its time (Deno does not say which)`, remedy };
}

function otherName(): Words {
  return {
    verdict: "is for another host name",
    remedy: "write a name that it has into url, or have it issued for this one",
  };
}

/**
 * A name server that answers at all does so within this time, also over a slow line and if nobody remembers its answers. With
 * less patience a receiver that hangs would count as no network, and what waits for it would never be given up. The system
 * asks one that is silent for five seconds.
 */
const PATIENCE: Ms = 2 * SECOND;

/** Looks a name up. Rejects, with a code, if that cannot be done. */
type FindName = (name: string) => Promise<unknown>;

/**
 * Tells whether a POST that had no answer in its time was still waiting for a name server then: it never left this machine.
 * The runtimes do not say what they waited for, and the system asks silent name servers for longer than a receiver may take.
 */
export function createIsUnresolved(find: FindName, patience: Ms = PATIENCE): (host: string) => Promise<boolean> {
  // What waits for one name mostly does so in crowds.
  const asked = new Map<string, Promise<boolean>>();
  return function isUnresolved(host) {
    if (isIP(host.replace(/^\[|\]$/g, "")) !== 0) return Promise.resolve(false);
    const known = asked.get(host);
    if (known) return known;
    const answer = ask(host).finally(() => asked.delete(host));
    asked.set(host, answer);
    return answer;
  };

  function ask(host: string): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(true), patience);
      const found = (unresolved: boolean): void => {
        clearTimeout(timer);
        resolve(unresolved);
      };
      find(host).then(
        () => found(false),
        (error: unknown) => found(error instanceof Error && "code" in error && isOffline(String(error.code))),
      );
    });
  }
}

/** By the system's own resolver, as `fetch` does: it takes notice when its configuration changes. */
const isUnresolved = createIsUnresolved(async (name) => {
  if (typeof Bun !== "undefined") return Bun.dns.lookup(name, { backend: "libc" });
  const { lookup } = await import("node:dns/promises");
  return lookup(name);
});

/** Where a POST was meant to go: with it, words name the host, and say what the operator can do. */
export type Way = {
  readonly url: string;
  readonly tls: WebhookTls | null;
  /** What it goes through, as `host:port`. */
  readonly proxy: string | null;
};

function hostOf({ url }: Way): string {
  return new URL(url).hostname;
}

/** Whose address has to be known: the receiver's, or that of the proxy before it. */
function nextHostOf({ url, proxy }: Way): string {
  return proxy === null ? new URL(url).hostname : (URL.parse(`http://${proxy}`)?.hostname ?? proxy);
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that a POST to this URL goes through, as `host:port`; null if it goes there directly. Only for words: Bun's
 * `fetch` reads the environment itself, by these rules (lower case counts first, and empty is as good as not set).
 */
export function proxyFor(url: string, env: Environment = process.env): string | null {
  const target = URL.parse(url);
  if (target === null) return null;
  const scheme = target.protocol === "https:" ? "https_proxy" : "http_proxy";
  const written = read(scheme, env) || read("all_proxy", env);
  if (written === "" || isExcepted(target, read("no_proxy", env))) return null;
  return URL.parse(written.includes("://") ? written : `http://${written}`)?.host || `of ${scheme.toUpperCase()}`;
}

function read(name: string, env: Environment): string {
  return env[name] || env[name.toUpperCase()] || "";
}

function isExcepted(target: URL, list: string): boolean {
  return list.split(/[\s,]+/).some((entry) => entry !== "" && covers(entry.toLowerCase(), target));
}

/** An entry is a host with all below it, an address or a network, each with or without a port; or a star for all. */
function covers(entry: string, { hostname, port, protocol }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (entry === "*" || entry === host) return true;
  if (entry.includes("/")) return isInNetwork(host, entry);
  const [, name = "", ofPort] = /^(?:\*?\.)?\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? [];
  if (ofPort !== undefined && ofPort !== (port || (protocol === "https:" ? "443" : "80"))) return false;
  return host === name || host.endsWith(`.${name}`);
}

function isInNetwork(host: string, network: string): boolean {
  const [start = "", bits = ""] = network.split("/");
  const family = familyOf(start);
  if (isIP(host) === 0 || familyOf(host) !== family) return false;
  try {
    const list = new BlockList();
    list.addSubnet(start, Number(bits), family);
    return list.check(host, family);
  } catch {
    // No network: Bun takes no notice of it either.
    return false;
  }
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** As much of an answer as a log line can use. */
const KEPT = 1 * KB;

/** A rest up to here is read and dropped, so that the connection can be used again; a longer one closes it. */
const DRAINED = 16 * KB;

/**
 * Reads the first KB of an answer's body as text. It is bad text if the body was compressed: nothing is unpacked.
 * Ends when the rest is drained or cancelled, or when the answer is aborted; what had arrived by then stays. Never
 * rejects. `length` is the Content-Length, if there is one.
 */
export async function readStart(body: AsyncIterable<Uint8Array>, length: string | null): Promise<string> {
  const most = Number(length) > DRAINED ? KEPT : DRAINED;
  const kept: Uint8Array[] = [];
  let read = 0;
  try {
    for await (const chunk of body) {
      if (read < KEPT) kept.push(chunk.subarray(0, KEPT - read));
      read += chunk.length;
      if (read >= most) break;
    }
  } catch {
    // Aborted or broken off: the status line has said all that counts.
  }
  // A character that was cut in two is left out.
  return new TextDecoder().decode(Buffer.concat(kept), { stream: true });
}
