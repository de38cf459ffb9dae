import type { X509Certificate } from "node:crypto";
import type { Tls } from "../model/config.ts";
import { Secret } from "../model/secret.ts";
import type { At } from "../model/units.ts";
import { parseListen } from "./listen.ts";
import { type Certificates, isKeyOf, PEM_BEGIN, type PrivateKey, parseCertificates, parsePrivateKey } from "./pem.ts";
import type { Finding } from "./problems.ts";
import type { References } from "./references.ts";
import { child, type Tree, textOf } from "./tree.ts";

type Reading = {
  readonly references: References;
  /** Wall time. */
  readonly now: At;
  readonly findings: Finding[];
};

/**
 * Reads the certificate and the key that `ingest.tls` names, and finds all that is wrong with them. Null without that
 * section, and if the two cannot be used; what the schema finds is left to it.
 */
export function readTls(root: Tree, reading: Reading): Tls | null {
  const ingest = child(root, "ingest");
  const section = child(ingest, "tls");
  if (!(section?.value instanceof Map)) return null;
  if (isSocket(child(ingest, "listen"))) {
    leave(reading.findings, { severity: "error", path: section.path, message: NEEDS_TCP, at: section.keyAt });
  }
  const cert = readCertificates(child(section, "cert"), reading);
  const key = readPrivateKey(child(section, "key"), reading);
  if (cert === null || key === null || !isPair(cert, key)) return null;
  return { certFile: cert.path, keyFile: key.path, cert: cert.pem, key: new Secret(key.pem) };
}

const NEEDS_TCP =
  "needs a TCP address, and ingest.listen is a Unix socket: let the proxy that connects to it speak TLS";

function isSocket(tree: Tree | undefined): boolean {
  const listen = parseListen(textOf(tree) ?? "");
  return typeof listen !== "string" && listen.kind === "unix";
}

type InFile<Held> = Held & PemFile;

function readCertificates(tree: Tree | undefined, reading: Reading): InFile<Certificates> | null {
  const file = openPem(tree, reading);
  if (file === null) return null;
  const cert = parseCertificates(file.text);
  if (typeof cert === "string") return file.say("error", cert);
  const doubt = dateDoubt(cert.chain[0], reading.now);
  if (doubt !== null) file.say("warning", doubt);
  return { ...file, ...cert };
}

/** Clients refuse such a certificate; but who tries something out, or has a wrong clock, should not be kept from it. */
function dateDoubt({ validFromDate, validToDate }: X509Certificate, now: At): string | null {
  if (validToDate.getTime() <= now) return `expired on ${dayOf(validToDate)}: clients refuse it; renew it`;
  if (validFromDate.getTime() > now) {
    return `is not valid before ${dayOf(validFromDate)}: clients refuse it until then, or this machine's clock is wrong`;
  }
  return null;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function readPrivateKey(tree: Tree | undefined, reading: Reading): InFile<PrivateKey> | null {
  const file = openPem(tree, reading);
  if (file === null) return null;
  if (file.worldReadable) file.say("warning", "every user of this machine can read: run chmod o-r on it");
  const key = parsePrivateKey(file.text);
  return typeof key === "string" ? file.say("error", key) : { ...file, ...key };
}

type PemFile = {
  readonly path: string;
  readonly text: string;
  readonly worldReadable: boolean;
  /** Leaves a finding about the file, which goes on after `which`. */
  say(severity: Finding["severity"], what: string): null;
};

function openPem(tree: Tree | undefined, { references, findings }: Reading): PemFile | null {
  const written = textOf(tree);
  // The schema says so.
  if (!tree || !written) return null;
  const place = { path: tree.path, at: tree.at };
  if (isContent(written)) return leave(findings, { ...place, severity: "error", message: CONTENT });
  const { path, content } = references.open(written);
  // A path that a reference brought in may be a secret in the wrong place.
  const name = tree.got === JSON.stringify(written) ? path : `the file that ${tree.got} stands for`;
  function say(severity: Finding["severity"], what: string): null {
    return leave(findings, { ...place, severity, message: `names ${name}, which ${what}` });
  }
  return content.ok ? { ...content, path, say } : say("error", `cannot be read as PEM: ${content.why}`);
}

const CONTENT = "must be the path of a file, and not what is in it";

function isContent(text: string): boolean {
  return text.includes(PEM_BEGIN) || /[\r\n]/.test(text);
}

function leave(findings: Finding[], finding: Finding): null {
  findings.push(finding);
  return null;
}

/** Whether the key belongs to the first certificate; if not, says what to do. */
function isPair(cert: InFile<Certificates>, key: InFile<PrivateKey>): boolean {
  const place = cert.chain.findIndex((one) => isKeyOf(one, key));
  if (place < 0) key.say("error", "does not belong to the certificate in ingest.tls.cert");
  if (place > 0) cert.say("error", `has the certificate that belongs to the key as number ${place + 1}: put it first`);
  return place === 0;
}
