import { hostOf, type Way } from "./way.ts";

/** An error's code, and the status with which a proxy has refused to connect, if that is what happened. */
export type Failure = { readonly code: string; readonly proxyStatus: string | null };

/** Whether an error's code says that the request never left this machine. */
export function isOffline(code: string): boolean {
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
