import { hostOf, type Way } from "./way.ts";

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
