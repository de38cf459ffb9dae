import type { X509Certificate } from "node:crypto";
import type { At } from "../model/units.ts";
import { type Certificates, isKeyOf, PEM_BEGIN, type PrivateKey, parseCertificates, parsePrivateKey } from "./pem.ts";
import type { Finding } from "./problems.ts";
import type { References } from "./references.ts";
import { child, type Tree, textOf } from "./tree.ts";

export type PemReading = {
  readonly references: References;
  /** Wall time. */
  readonly now: At;
  readonly findings: Finding[];
};

/** `refusers`: those to whom the certificate is shown, in the plural. */
export type PairReading = PemReading & { readonly refusers: string };

type InFile<Held> = Held & PemFile;
export type Pair = { readonly cert: InFile<Certificates>; readonly key: InFile<PrivateKey> };

/**
 * Reads the certificate and the private key in the files that `cert` and `key` of a section name, and finds all that is
 * wrong with them. Null if the two cannot be used; what the schema finds is left to it.
 */
export function readPair(section: Tree, reading: PairReading): Pair | null {
  const cert = readCertificates(child(section, "cert"), reading);
  const key = readPrivateKey(child(section, "key"), reading);
  if (cert === null || key === null || !isPair(cert, key)) return null;
  return { cert, key };
}

/** Reads the certificates of authorities in the file that a key names. Null if they cannot be used. */
export function readAuthorities(tree: Tree | undefined, reading: PemReading): Certificates | null {
  const file = openCertificates(tree, reading);
  // One of them is enough: a file may hold hundreds.
  const doubt = file?.chain.map((one, index) => authorityDoubt(one, index + 1, reading)).find((one) => one !== null);
  if (doubt) file?.say("warning", doubt);
  return file;
}

function readCertificates(tree: Tree | undefined, reading: PairReading): InFile<Certificates> | null {
  const file = openCertificates(tree, reading);
  const doubt = file && dateDoubt(file.chain[0], reading);
  if (doubt !== null) file?.say("warning", doubt);
  return file;
}

function openCertificates(tree: Tree | undefined, reading: PemReading): InFile<Certificates> | null {
  const file = openPem(tree, reading);
  if (file === null) return null;
  const found = parseCertificates(file.text);
  return typeof found === "string" ? file.say("error", found) : { ...file, ...found };
}

/** Such a certificate is refused; but who tries something out, or has a wrong clock, should not be kept from it. */
function dateDoubt({ validFromDate, validToDate }: X509Certificate, { refusers, now }: PairReading): string | null {
  if (validToDate.getTime() <= now) return `expired on ${dayOf(validToDate)}: ${refusers} refuse it; renew it`;
  if (validFromDate.getTime() <= now) return null;
  return `is not valid before ${dayOf(validFromDate)}: ${refusers} refuse it until then, or this machine's clock is wrong`;
}

function authorityDoubt(certificate: X509Certificate, number: number, { now }: PemReading): string | null {
  const { ca, subject, issuer, validToDate } = certificate;
  if (validToDate.getTime() <= now) {
    return `has an authority in it (number ${number}) that expired on ${dayOf(validToDate)}: renew it`;
  }
  // One that has signed itself is its own authority, whatever it says.
  if (ca || subject === issuer) return null;
  return `has a certificate in it (number ${number}) that is no authority: put that of its issuer there`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function readPrivateKey(tree: Tree | undefined, reading: PemReading): InFile<PrivateKey> | null {
  const file = openPem(tree, reading);
  if (file === null) return null;
  if (file.worldReadable) file.say("warning", "every user of this machine can read: run chmod o-r on it");
  const key = parsePrivateKey(file.text);
  return typeof key === "string" ? file.say("error", key) : { ...file, ...key };
}

type PemFile = {
  /** Of the key in the config that names the file. */
  readonly at: string;
  readonly path: string;
  readonly text: string;
  readonly worldReadable: boolean;
  /** Leaves a finding about the file, which goes on after `which`. */
  say(severity: Finding["severity"], what: string): null;
};

function openPem(tree: Tree | undefined, { references, findings }: PemReading): PemFile | null {
  const written = textOf(tree);
  // The schema says so.
  if (!tree || !written) return null;
  const place = { path: tree.path, at: tree.at };
  if (isContent(written)) {
    findings.push({ ...place, severity: "error", message: CONTENT });
    return null;
  }
  const { path, content } = references.open(written);
  // A path that a reference brought in may be a secret in the wrong place.
  const name = tree.got === JSON.stringify(written) ? path : `the file that ${tree.got} stands for`;
  function say(severity: Finding["severity"], what: string): null {
    findings.push({ ...place, severity, message: `names ${name}, which ${what}` });
    return null;
  }
  if (!content.ok) return say("error", `cannot be read as PEM: ${content.why}`);
  return { ...content, at: tree.path, path, say };
}

const CONTENT = "must be the path of a file, and not what is in it";

function isContent(text: string): boolean {
  return text.includes(PEM_BEGIN) || /[\r\n]/.test(text);
}

/** Whether the key belongs to the first certificate; if not, says what to do. */
function isPair(cert: InFile<Certificates>, key: InFile<PrivateKey>): boolean {
  const place = cert.chain.findIndex((one) => isKeyOf(one, key));
  if (place < 0) key.say("error", `does not belong to the certificate in ${cert.at}`);
  if (place > 0) cert.say("error", `has the certificate that belongs to the key as number ${place + 1}: put it first`);
  return place === 0;
}
