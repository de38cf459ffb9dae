/** The result of a POST: the start of an answer, or why there is none, in words that help an operator. */
import { BlockList, isIP } from "node:net";
import process from "node:process";
import type { WebhookTls } from "../model/config.ts";
import type { PostSignal, Reply } from "../model/ports.ts";
import { KB, type Ms, SECOND } from "../model/units.ts";

/** Where a POST was sent: messages name the host and a remedy. */
export type Way = {
  readonly url: string;
  readonly tls: WebhookTls | null;
  /** The proxy that it goes through, as `host:port`. */
  readonly proxy: string | null;
};

/**
 * Explains a failed POST. The message is made from the error's code: those of the runtimes contain advice for programmers,
 * and the whole URL with its query.
 */
export function replyToError(error: unknown, signal: PostSignal, way: Way | null = null): Reply {
  if (signal.aborted || isAbort(error)) return { kind: "aborted" };
  const code = codeOf(error);
  if (isUntrusted(code)) return { kind: "untrusted", code, message: describeUntrusted(code, way) };
  const message = describeFailure({ code, proxyStatus: proxyStatusOf(error) }, way);
  return { kind: isOffline(code) ? "offline" : "unreachable", code, message };
}

/** Like `replyToError`, but a POST without an answer in time is offline if it still waited for a name server. */
export async function replyToFailure(error: unknown, signal: PostSignal, way: Way): Promise<Reply> {
  const reply = replyToError(error, signal, way);
  if (reply.kind !== "aborted") return reply;
  const nextHost = way.proxy === null ? hostOf(way) : (URL.parse(`http://${way.proxy}`)?.hostname ?? way.proxy);
  if (!(await isUnresolved(nextHost))) return reply;
  const code = "EAI_AGAIN";
  return { kind: "offline", code, message: describeFailure({ code, proxyStatus: null }, way) };
}

/** A runtime's own time limits count as the caller's. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

/** The code that the system or the runtime gives an error. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    // One error for each address of the name. If any of them was reached, the machine is not offline.
    const codes = error.errors.map(codeOf);
    return codes.find((code) => !isOffline(code)) ?? codes[0] ?? "UNKNOWN";
  }
  if (!(error instanceof Error)) return "UNKNOWN";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** Bun has it as a number, Deno in its message: `… over http://proxy:3128: HTTP/1.1 403 Forbidden`. */
function proxyStatusOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ("status" in error && typeof error.status === "number") return String(error.status);
  return /: HTTP\/1\.\d (\d{3})/.exec(error.message)?.[1] ?? null;
}

/** An error's code, and the status with which a proxy refused to connect, if it did. */
type Failure = { readonly code: string; readonly proxyStatus: string | null };

/** Whether an error's code says that the request never left this machine. */
function isOffline(code: string): boolean {
  return Object.hasOwn(OFFLINE, code);
}

/** Why there is no answer; for a webhook, also whether a proxy is to blame, and what to do. */
function describeFailure({ code, proxyStatus }: Failure, way: Way | null): string {
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
  // For an IPv6 address on a machine without IPv6, and for any address when every local port is taken.
  EADDRNOTAVAIL: "no local address to send from",
  EMFILE: "this process has too many open files; raise its limit (LimitNOFILE= of its unit)",
  ENFILE: "this machine has too many open files",
};

/** The connection to the receiver, or to the proxy before it, failed. */
const UNREACHED: Readonly<Record<string, string>> = {
  ENOTFOUND: "name not found",
  ECONNREFUSED: "connection refused",
  ETIMEDOUT: "connection timed out",
};

const OTHERS: Readonly<Record<string, string>> = {
  EACCES: "not permitted by this machine",
  EPERM: "not permitted by this machine",
  ResponseHeadersTooLarge: "the headers of the answer are too long",
  UnrequestedUpgrade: "the answer switches to another protocol",
  UnsupportedProxyProtocol: "the proxy in the environment must begin with http:// or https://",
};

function refusedByProxy(status: string | null, way: Way | null): string {
  const proxy = way?.proxy ? `the proxy ${way.proxy}` : "the proxy";
  const target = way ? hostOf(way) : "the receiver";
  const refused = `${proxy} refuses to connect to ${target}${status === null ? "" : ` (it answered ${status})`}`;
  if (status !== "407") return refused;
  return `${refused}: it requires a user name and a password, as in HTTPS_PROXY=http://user:password@host:port`;
}

function suspectsOf(way: Way | null): string {
  const byProxy = way?.proxy ? `, by the proxy ${way.proxy} or behind it` : "";
  // With TLS 1.3 a client has sent its request before its certificate is checked.
  return way?.tls?.cert ? `${byProxy}, which happens if a receiver refuses the certificate in cert` : byProxy;
}

function describeHandshake(code: string, way: Way | null): string {
  if (/_CERTIFICATE_REQUIRED$/.test(code)) return "the receiver requires a client certificate: set cert: and key:";
  if (way?.tls?.cert && OURS_REFUSED.test(code)) return `the receiver refuses the certificate in cert (${code})`;
  if (code !== "EPROTO") return `TLS handshake failed (${code})`;
  if (way === null) return "TLS handshake failed";
  const ours = way.tls?.cert ? "refuses the certificate in cert" : "requires a client certificate (cert: and key:)";
  return `TLS handshake failed: ${hostOf(way)} does not speak TLS on that port, or ${ours}`;
}

/** TLS alerts: the other side does not accept our certificate. */
const OURS_REFUSED =
  /_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)/;

function hostOf({ url }: Way): string {
  return new URL(url).hostname;
}

/** Whether an error's code says that a certificate was refused, before any request was sent. */
function isUntrusted(code: string): boolean {
  return Object.hasOwn(VERDICTS, code) || OTHER_VERDICTS.test(code);
}

/** What is wrong with a receiver's certificate; for a webhook, also its name and a remedy. */
export function describeUntrusted(code: string, way: Way | null): string {
  const byCode = VERDICTS[code];
  const verdict = byCode?.(way?.tls?.ca != null) ?? [`cannot be used (${code})`, "have it reissued"];
  return way === null ? `certificate ${verdict[0]}` : `the certificate of ${hostOf(way)} ${verdict.join(": ")}`;
}

type Verdict = readonly [verdict: string, remedy: string];

/** By whether the webhook has authorities of its own. */
const VERDICTS: Readonly<Record<string, (hasAuthorities: boolean) => Verdict>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: unknown,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: typeof Bun === "undefined" ? unclear : unknown,
  UNABLE_TO_GET_ISSUER_CERT: unknown,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknown,
  CERT_HAS_EXPIRED: () => ["has expired", "renew it there"],
  CERT_NOT_YET_VALID: () => ["is not valid yet", "set this machine's clock, or have the certificate reissued"],
  CERT_REVOKED: () => ["was revoked", "replace it there"],
  ERR_TLS_CERT_ALTNAME_INVALID: otherName,
  HOSTNAME_MISMATCH: otherName,
};

/** Other verdicts of a certificate check. Errors of the TLS protocol, which begin with ERR_SSL_, are not among them. */
const OTHER_VERDICTS = /^(?!ERR_SSL_|HPE_).*(CERT|CRL)|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/;

function selfSigned(hasAuthorities: boolean): Verdict {
  const own = hasAuthorities ? " in the file of ca" : "; if the authority is your own, set ca: to its file";
  return ["is self-signed", `the receiver needs one from an authority${own}`];
}

function unknown(hasAuthorities: boolean): Verdict {
  return hasAuthorities
    ? [
        "is from none of the authorities in the file of ca",
        "put the root certificate of its authority there, or remove ca if the authority is public",
      ]
    : [
        "is from an unknown authority",
        "if the authority is your own, set ca: to its file; if not, the receiver does not send its intermediate certificate",
      ];
}

/** Deno reports an expired or not yet valid certificate as one from an unknown authority. */
function unclear(hasAuthorities: boolean): Verdict {
  const [verdict, remedy] = unknown(hasAuthorities);
  return [`${verdict}, or expired, or not valid yet (Deno does not say which)`, remedy];
}

function otherName(): Verdict {
  return ["is for another host name", "put a name of the certificate into url, or have it issued for this one"];
}

/**
 * A name server that works answers within this time, even over a slow line. With a shorter limit a receiver that hangs would
 * count as no network, and deliveries to it would never expire. The system asks a silent name server for five seconds.
 */
const NAME_SERVER_LIMIT: Ms = 2 * SECOND;

/** Looks a name up. Rejects with a code if that cannot be done. */
type Lookup = (name: string) => Promise<unknown>;

/**
 * Tells whether a POST without an answer in time was still waiting for a name server: then it never left this machine. The
 * runtimes do not say, and the system waits longer for silent name servers than a receiver may take.
 */
export function createIsUnresolved(lookup: Lookup, limit: Ms = NAME_SERVER_LIMIT): (host: string) => Promise<boolean> {
  // Many POSTs wait for one name at the same time.
  const asked = new Map<string, Promise<boolean>>();
  return (host) => {
    if (isIP(bareHost(host)) !== 0) return Promise.resolve(false);
    const answer = asked.get(host) ?? ask(host).finally(() => asked.delete(host));
    asked.set(host, answer);
    return answer;
  };

  async function ask(host: string): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => late.resolve(true), limit);
    const found = lookup(host).then(
      () => false,
      (error: unknown) => isOffline(codeOf(error)),
    );
    return Promise.race([found, late.promise]).finally(() => clearTimeout(timer));
  }
}

/** Asks the system's own resolver, as `fetch` does: it notices when its configuration changes. */
const isUnresolved = createIsUnresolved(async (name) => {
  if (typeof Bun !== "undefined") return Bun.dns.lookup(name, { backend: "libc" });
  const { lookup } = await import("node:dns/promises");
  return lookup(name);
});

/** Without the brackets around an IPv6 address. */
function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that a POST to this URL goes through, as `host:port`; null if it goes there directly. Only for messages: Bun's
 * `fetch` reads the environment itself, by these rules (lower case comes first, and an empty variable counts as not set).
 */
export function proxyFor(url: string, env: Environment = process.env): string | null {
  const target = URL.parse(url);
  if (target === null) return null;
  const read = (name: string): string => env[name] || env[name.toUpperCase()] || "";
  const scheme = target.protocol === "https:" ? "https_proxy" : "http_proxy";
  const written = read(scheme) || read("all_proxy");
  const exceptions = read("no_proxy")
    .toLowerCase()
    .split(/[\s,]+/);
  if (written === "" || exceptions.some((entry) => entry !== "" && covers(entry, target))) return null;
  return URL.parse(written.includes("://") ? written : `http://${written}`)?.host || `of ${scheme.toUpperCase()}`;
}

/** An entry is a host with its subdomains, an address or a network, each with or without a port; or a star for all. */
function covers(entry: string, { hostname, port, protocol }: URL): boolean {
  const host = bareHost(hostname);
  if (entry === "*" || entry === host) return true;
  if (entry.includes("/")) return isInNetwork(host, entry);
  const [, name = "", ofPort] = /^(?:\*?\.)?\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? [];
  if (ofPort !== undefined && ofPort !== (port || (protocol === "https:" ? "443" : "80"))) return false;
  return host === name || host.endsWith(`.${name}`);
}

function isInNetwork(host: string, network: string): boolean {
  const [start = "", bits = ""] = network.split("/");
  const [family, ofHost] = [start, host].map((address) => (isIP(address) === 6 ? "ipv6" : "ipv4"));
  if (isIP(host) === 0 || ofHost !== family) return false;
  try {
    const list = new BlockList();
    list.addSubnet(start, Number(bits), family);
    return list.check(host, family);
  } catch {
    // Not a network: Bun ignores it as well.
    return false;
  }
}

const KEPT_BYTES = 1 * KB;

/** A longer answer closes its connection; a shorter one is read to its end, so that the connection can be used again. */
const DRAINED_BYTES = 16 * KB;

/**
 * Reads the first KB of an answer's body as text. A compressed body is not unpacked, so it gives bad text. Ends when the rest
 * is read or cancelled, or when the answer is aborted; what had arrived by then is kept. Never rejects. `length` is the
 * Content-Length, if there is one.
 */
export async function readStart(body: AsyncIterable<Uint8Array>, length: string | null): Promise<string> {
  const most = Number(length) > DRAINED_BYTES ? KEPT_BYTES : DRAINED_BYTES;
  const kept: Uint8Array[] = [];
  let read = 0;
  try {
    for await (const chunk of body) {
      if (read < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - read));
      read += chunk.length;
      if (read >= most) break;
    }
  } catch {
    // Aborted or interrupted. The status line says all that matters.
  }
  // `stream` leaves out a character that was cut in two.
  return new TextDecoder().decode(Buffer.concat(kept), { stream: true });
}
