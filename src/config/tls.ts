import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Tls } from "../model/config.ts";
import type { WebhookTls } from "../model/destination.ts";
import { Secret } from "../model/secret.ts";
import type { At } from "../model/units.ts";
import { parseListen } from "./addresses.ts";
import type { Finding } from "./problems.ts";
import type { References } from "./references.ts";
import { child, listOf, mapOf, type Tree, textOf } from "./tree.ts";

/**
 * Reads the certificate and the key that `ingest.tls` names, and finds all that is wrong with them. Null without that
 * section, and if the two cannot be used; what the schema finds is left to it.
 */
export function readTls(root: Tree, reading: PemReading): Tls | null {
  const ingest = child(root, "ingest");
  const section = child(ingest, "tls");
  if (!(section?.value instanceof Map)) return null;
  if (isSocket(child(ingest, "listen"))) {
    reading.findings.push({ severity: "error", path: section.path, message: NEEDS_TCP, at: section.keyAt });
  }
  const pair = readPair(section, { ...reading, refusers: "clients" });
  if (pair === null) return null;
  const { cert, key } = pair;
  return { certFile: cert.path, keyFile: key.path, cert: cert.pem, key: new Secret(key.pem) };
}

const NEEDS_TCP =
  "needs a TCP address, and ingest.listen is a Unix socket: let the proxy that connects to it speak TLS";

function isSocket(tree: Tree | undefined): boolean {
  const listen = parseListen(textOf(tree) ?? "");
  return typeof listen !== "string" && listen.kind === "unix";
}

/** What the webhooks of each destination say of TLS, in their order. */
export type TlsOfWebhooks = ReadonlyMap<string, readonly (WebhookTls | null)[]>;

/**
 * Reads the files that `ca`, `cert` and `key` of all webhooks name, and finds all that is wrong with them. What the
 * schema finds is left to it.
 */
export function readTlsOfWebhooks(root: Tree, reading: PemReading): TlsOfWebhooks {
  const destinations = [...mapOf(child(root, "destinations"))];
  return new Map(
    destinations.map(([name, destination]) => {
      return [name, listOf(child(destination, "webhooks")).map((webhook) => readWebhookTls(webhook, reading))];
    }),
  );
}

function readWebhookTls(webhook: Tree, reading: PemReading): WebhookTls | null {
  if (KEYS.every((key) => child(webhook, key) === undefined)) return null;
  reading.findings.push(...misplaced(webhook));
  const authorities = readAuthorities(child(webhook, "ca"), reading);
  const pair = readPair(webhook, { ...reading, refusers: "receivers" });
  return {
    ca: authorities?.pem ?? null,
    cert: pair?.cert.pem ?? null,
    key: pair && new Secret(pair.key.pem),
  };
}

const KEYS = ["ca", "cert", "key"];

/** Keys that make no sense beside the others of the webhook. */
function misplaced(webhook: Tree): readonly Finding[] {
  const [cert, key] = [child(webhook, "cert"), child(webhook, "key")];
  const isPlain = /^http:/i.test(textOf(child(webhook, "url")) ?? "");
  return [
    ...(isPlain ? KEYS.flatMap((name) => error(child(webhook, name), NEEDS_HTTPS)) : []),
    ...(key ? [] : error(cert, "needs its private key beside it: add `key` to this webhook")),
    ...(cert ? [] : error(key, "needs its certificate beside it: add `cert` to this webhook")),
  ];
}

const NEEDS_HTTPS = "is for https://, and the url of this webhook begins with http://: change that, or remove this key";

function error(tree: Tree | undefined, message: string): readonly Finding[] {
  return tree ? [{ severity: "error", path: tree.path, message, at: tree.keyAt }] : [];
}

type PemReading = {
  readonly references: References;
  /** Wall time. */
  readonly now: At;
  readonly findings: Finding[];
};

/** `refusers`: those to whom the certificate is shown, in the plural. */
type PairReading = PemReading & { readonly refusers: string };

type InFile<Held> = Held & PemFile;
type Pair = { readonly cert: InFile<Certificates>; readonly key: InFile<PrivateKey> };

/**
 * Reads the certificate and the private key in the files that `cert` and `key` of a section name, and finds all that is
 * wrong with them. Null if the two cannot be used; what the schema finds is left to it.
 */
function readPair(section: Tree, reading: PairReading): Pair | null {
  const cert = readCertificates(child(section, "cert"), reading);
  const key = readPrivateKey(child(section, "key"), reading);
  if (cert === null || key === null || !isPair(cert, key)) return null;
  return { cert, key };
}

/** Reads the certificates of authorities in the file that a key names. Null if they cannot be used. */
function readAuthorities(tree: Tree | undefined, reading: PemReading): Certificates | null {
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

/** What a PEM file holds for TLS. `pem` is that alone, without what else the file says. */
type Certificates = { readonly pem: string; readonly chain: readonly [X509Certificate, ...X509Certificate[]] };
type PrivateKey = { readonly pem: string; readonly key: KeyObject };

/** Stands at the start of each block. */
const PEM_BEGIN = "-----BEGIN ";

/** Reads the certificates of a PEM text, in its order. Answers what is wrong as text. */
export function parseCertificates(text: string): Certificates | string {
  const blocks = blocksOf(text).filter(({ label }) => label === "CERTIFICATE");
  const chain = blocks.map(({ pem }) => attempt(() => new X509Certificate(pem)));
  const broken = chain.indexOf(null);
  if (broken >= 0) return `has a certificate in it that cannot be read: number ${broken + 1}`;
  const [first, ...others] = chain.filter((one) => one !== null);
  if (first !== undefined) return { pem: pemText(blocks), chain: [first, ...others] };
  const hint = blocksOf(text).some(isPrivateKey) ? ", but a private key: are cert and key the wrong way round?" : "";
  return `has no PEM certificate in it (-----BEGIN CERTIFICATE-----)${hint}`;
}

/** Reads the private key of a PEM text. Answers what is wrong as text, which holds nothing of the key. */
export function parsePrivateKey(text: string): PrivateKey | string {
  const blocks = blocksOf(text);
  const block = blocks.find(isPrivateKey);
  if (block === undefined) {
    const isSwapped = blocks.some(({ label }) => label === "CERTIFICATE");
    const hint = isSwapped ? ", but a certificate: are cert and key the wrong way round?" : "";
    return `has no PEM private key in it (-----BEGIN PRIVATE KEY-----)${hint}`;
  }
  if (isEncrypted(block)) return ENCRYPTED;
  const key = attempt(() => createPrivateKey(block.pem));
  return key === null ? UNREADABLE : { pem: pemText([block]), key };
}

/** Whether the key is that of the certificate. */
function isKeyOf(certificate: X509Certificate, { key }: PrivateKey): boolean {
  return attempt(() => certificate.checkPrivateKey(key)) ?? false;
}

const ENCRYPTED =
  "has a passphrase that nobody can type in when a daemon starts: take it off with `openssl pkey -in KEY -out NEW_KEY`";
const UNREADABLE = "has a private key that cannot be read, or of a kind that TLS has no use for: make an RSA or EC key";

type Block = { readonly label: string; readonly pem: string };

/** What stands between the blocks is commentary. */
function blocksOf(text: string): readonly Block[] {
  const blocks = text.matchAll(/-----BEGIN ([A-Z\d ]{1,64})-----(?:(?!-----).)*-----END \1-----/gs);
  return [...blocks].map(([pem, label = ""]) => ({ label, pem }));
}

function isPrivateKey({ label }: Block): boolean {
  return /(^| )PRIVATE KEY$/.test(label);
}

/** In PKCS#8 the label says so, in the older forms a header. */
function isEncrypted({ label, pem }: Block): boolean {
  return label.startsWith("ENCRYPTED ") || /^Proc-Type: *4, *ENCRYPTED/m.test(pem);
}

function pemText(blocks: readonly Block[]): string {
  return blocks.map(({ pem }) => `${pem}\n`).join("");
}

/** The runtimes differ in what they throw, and it says nothing that an operator could use. */
function attempt<Value>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
