import type { Reply } from "../model/ports.ts";

type Kind = "offline" | "untrusted" | "unreachable";

/**
 * What a failed POST means. The words are made here from the error's code: those of the runtimes carry advice to
 * programmers, and the whole URL with its query.
 */
export function replyToError(error: unknown, signal: AbortSignal): Reply {
  if (signal.aborted || isAbort(error)) return { kind: "aborted" };
  const code = codeOf(error);
  return { kind: kindOf(code), code, message: messageOf(code) };
}

/** A runtime's own time limits count as the caller's. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOfSeveral(error.errors.map(codeOf));
  if (!(error instanceof Error)) return "UNKNOWN";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** One for each address of the name. If any of them was reached, the machine is not offline. */
function codeOfSeveral(codes: readonly string[]): string {
  return codes.find((code) => kindOf(code) !== "offline") ?? codes[0] ?? "UNKNOWN";
}

function kindOf(code: string): Kind {
  if (Object.hasOwn(OFFLINE, code)) return "offline";
  return Object.hasOwn(UNTRUSTED, code) || OTHER_VERDICTS.test(code) ? "untrusted" : "unreachable";
}

function messageOf(code: string): string {
  const message = OFFLINE[code] ?? UNTRUSTED[code] ?? UNREACHABLE[code];
  if (message !== undefined) return message;
  if (/^ERR_SSL_/.test(code)) return `TLS handshake failed (${code})`;
  return /^HPE_|^Malformed|^Invalid/.test(code) ? "the answer is not valid HTTP" : code;
}

/** The attempt never left this machine. */
const OFFLINE: Readonly<Record<string, string>> = {
  ENETUNREACH: "no route to the network",
  EHOSTUNREACH: "no route to the host",
  ENETDOWN: "the network is down",
  EAI_AGAIN: "no name server answered",
  // What an IPv6 address gives on a machine without IPv6, and any address when every local port is taken.
  EADDRNOTAVAIL: "no local address to send from",
};

/** The certificate was refused, before any request was sent. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate chain ends in a self-signed certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate is from an unknown issuer, or comes without its intermediate",
  UNABLE_TO_GET_ISSUER_CERT: "certificate is from an unknown issuer",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate is from an unknown issuer",
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not yet valid",
  CERT_REVOKED: "certificate was revoked",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate is for another host name",
  HOSTNAME_MISMATCH: "certificate is for another host name",
};

/** The rest of what a certificate check can say. Errors of the TLS protocol begin with ERR_SSL_ and are none of these. */
const OTHER_VERDICTS = /^(?!ERR_SSL_|HPE_).*(CERT|CRL)|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/;

const UNREACHABLE: Readonly<Record<string, string>> = {
  ENOTFOUND: "name not found",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed before an answer",
  EPIPE: "connection closed before an answer",
  ETIMEDOUT: "connection timed out",
  EPROTO: "TLS handshake failed",
  EACCES: "not permitted by this machine",
  EPERM: "not permitted by this machine",
  ResponseHeadersTooLarge: "the headers of the answer are too long",
  UnrequestedUpgrade: "the answer changes to another protocol",
  EMFILE: "too many open files on this machine",
  ENFILE: "too many open files on this machine",
};
