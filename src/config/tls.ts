import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { type Certificate, notifyName, type Tls, type WebhookTls } from "../model/config.ts";
import { Secret } from "../model/secret.ts";
import type { At } from "../model/units.ts";
import { parseListen } from "./addresses.ts";
import { errorAt, type Finding, keyPlace } from "./problems.ts";
import type { References } from "./references.ts";
import type { Steps } from "./steps.ts";
import { child, listOf, mapOf, type Tree, textOf } from "./tree.ts";

/** What reading needs, and the findings that it adds to. What the schema reports is not reported again. */
export type TlsReading = {
  readonly references: References;
  /** Wall time. */
  readonly now: At;
  readonly findings: Finding[];
  /** What is read is added here, with how long it is valid. */
  readonly certificates?: Certificate[];
};

/** Reads the certificate and the key that `ingest.tls` names. Null without that section, or if they cannot be used. */
export function readTls(root: Tree, reading: TlsReading): Tls | null {
  const section = child(root, "ingest", "tls");
  if (!(section?.value instanceof Map)) return null;
  const listen = parseListen(textOf(child(root, "ingest", "listen")) ?? "");
  if (typeof listen !== "string" && listen.kind === "unix")
    reading.findings.push(errorAt(keyPlace(section), NEEDS_TCP));
  const pair = readPair(section, { ...reading, refusers: "clients" });
  if (pair === null) return null;
  const { cert, key } = pair;
  return { certFile: cert.path, keyFile: key.path, cert: cert.pem, key: new Secret(key.pem) };
}

const NEEDS_TCP =
  "needs a TCP address, and ingest.listen is a Unix socket: let the proxy that connects to it speak TLS";

/** The TLS settings of each destination's webhooks, in their order; also of those that `notify` is. */
export type TlsOfWebhooks = ReadonlyMap<string, readonly (WebhookTls | null)[]>;

/** Reads the files that `ca`, `cert` and `key` of the webhooks name. */
export function* readTlsOfWebhooks(root: Tree, reading: TlsReading): Steps<TlsOfWebhooks> {
  const all = new Map<string, readonly (WebhookTls | null)[]>();
  for (const [name, destination] of mapOf(child(root, "destinations"))) {
    const settings = listOf(child(destination, "webhooks")).map((webhook) => readWebhookTls(webhook, reading));
    all.set(name, settings);
    // Certificates take long to parse.
    if (settings.some((one) => one !== null)) yield;
  }
  for (const [name, webhook] of mapOf(child(root, "notify"))) {
    all.set(notifyName(name), [readWebhookTls(webhook, reading)]);
    yield;
  }
  return all;
}

const KEYS = ["ca", "cert", "key"];

function readWebhookTls(webhook: Tree, reading: TlsReading): WebhookTls | null {
  if (KEYS.every((key) => child(webhook, key) === undefined)) return null;
  const isPlain = /^http:/i.test(textOf(child(webhook, "url")) ?? "");
  const written = KEYS.flatMap((name) => child(webhook, name) ?? []);
  if (isPlain) reading.findings.push(...written.map((tree) => errorAt(keyPlace(tree), NEEDS_HTTPS)));
  return readClientTls(webhook, { ...reading, refusers: "receivers", owner: "this webhook" });
}

/** Reads the files that `ca`, `cert` and `key` of a section name, for connections that we open. `owner` is what has them. */
export function readClientTls(section: Tree, reading: PairReading & { readonly owner: string }): WebhookTls {
  const { findings, owner } = reading;
  const [cert, key] = [child(section, "cert"), child(section, "key")];
  const alone = (what: string, other: string) => `needs its ${what} beside it: add \`${other}\` to ${owner}`;
  if (cert && !key) findings.push(errorAt(keyPlace(cert), alone("private key", "key")));
  if (key && !cert) findings.push(errorAt(keyPlace(key), alone("certificate", "cert")));
  const authorities = readAuthorities(child(section, "ca"), reading);
  const pair = readPair(section, reading);
  return { ca: authorities?.pem ?? null, cert: pair?.cert.pem ?? null, key: pair && new Secret(pair.key.pem) };
}

const NEEDS_HTTPS = "is for https://, and the url of this webhook begins with http://: change that, or remove this key";

/** `refusers`: who checks the certificate, in the plural. */
type PairReading = TlsReading & { readonly refusers: string };
type Pair = { readonly cert: PemFile & Certificates; readonly key: PemFile & PrivateKey };

/** Reads the files that `cert` and `key` of a section name. Null if they cannot be used together. */
function readPair(section: Tree, reading: PairReading): Pair | null {
  const cert = openCertificates(child(section, "cert"), reading);
  const doubt = cert && dateDoubt(cert.chain[0], reading);
  if (doubt) cert.say("warning", doubt);
  const key = openPrivateKey(child(section, "key"), reading);
  if (cert === null || key === null) return null;
  const place = cert.chain.findIndex((certificate) => isKeyOf(certificate, key));
  if (place < 0) key.say("error", `does not belong to the certificate in ${cert.at}`);
  if (place === 0) noteCertificate(cert, reading);
  if (place > 0) cert.say("error", `has the certificate that belongs to the key as number ${place + 1}: put it first`);
  return place === 0 ? { cert, key } : null;
}

function noteCertificate({ at, path, chain: [own] }: PemFile & Certificates, { certificates }: TlsReading): void {
  const { validFromDate, validToDate } = own;
  certificates?.push({ key: at, file: path, validFrom: validFromDate.getTime(), validTo: validToDate.getTime() });
}

/** Only a warning: a test setup or a machine with a wrong clock must still start. */
function dateDoubt({ validFromDate, validToDate }: X509Certificate, { refusers, now }: PairReading): string | null {
  if (validToDate.getTime() <= now) return `expired on ${dayOf(validToDate)}: ${refusers} refuse it; renew it`;
  if (validFromDate.getTime() <= now) return null;
  return `is not valid before ${dayOf(validFromDate)}: ${refusers} refuse it until then, or this machine's clock is wrong`;
}

/** Reads the certificates of authorities in the file that a key names. Null if they cannot be used. */
function readAuthorities(tree: Tree | undefined, reading: TlsReading): Certificates | null {
  const file = openCertificates(tree, reading);
  // One warning is enough: a file may hold hundreds of certificates.
  const doubt = file?.chain.map((one, index) => authorityDoubt(one, index + 1, reading)).find((one) => one !== null);
  if (doubt) file?.say("warning", doubt);
  return file;
}

function authorityDoubt(certificate: X509Certificate, number: number, { now }: TlsReading): string | null {
  const { ca, subject, issuer, validToDate } = certificate;
  if (validToDate.getTime() <= now) {
    return `has an authority in it (number ${number}) that expired on ${dayOf(validToDate)}: renew it`;
  }
  // A self-signed certificate is its own authority, whatever it says.
  if (ca || subject === issuer) return null;
  return `has a certificate in it (number ${number}) that is no authority: put that of its issuer there`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function openCertificates(tree: Tree | undefined, reading: TlsReading): (PemFile & Certificates) | null {
  const file = openPem(tree, reading);
  if (file === null) return null;
  const found = parseCertificates(file.text);
  return typeof found === "string" ? file.say("error", found) : { ...file, ...found };
}

function openPrivateKey(tree: Tree | undefined, reading: TlsReading): (PemFile & PrivateKey) | null {
  const file = openPem(tree, reading);
  if (file === null) return null;
  if (file.worldReadable) file.say("warning", "every user of this machine can read: run chmod o-r on it");
  const key = parsePrivateKey(file.text);
  return typeof key === "string" ? file.say("error", key) : { ...file, ...key };
}

type PemFile = {
  /** The key in the config that names the file. */
  readonly at: string;
  readonly path: string;
  readonly text: string;
  readonly worldReadable: boolean;
  /** Adds a finding: `names FILE, which …`. */
  say(severity: Finding["severity"], what: string): null;
};

/** Null if the file cannot be read. */
function openPem(tree: Tree | undefined, { references, findings }: TlsReading): PemFile | null {
  const written = textOf(tree);
  if (!tree || !written) return null;
  if (written.includes(PEM_BEGIN) || /[\r\n]/.test(written)) {
    findings.push(errorAt(tree, "must be the path of a file, and not what is in it"));
    return null;
  }
  const place = { path: tree.path, at: tree.at };
  const { path, content } = references.open(written);
  // A path from a reference may be a secret in the wrong place.
  const name = tree.got === JSON.stringify(written) ? path : `the file that ${tree.got} stands for`;
  function say(severity: Finding["severity"], what: string): null {
    findings.push({ severity, ...place, message: `names ${name}, which ${what}` });
    return null;
  }
  if (!content.ok) return say("error", `cannot be read as PEM: ${content.why}`);
  return { ...content, at: tree.path, path, say };
}

/** The certificates of a PEM file. `pem` holds them alone, without what else is in the file. */
type Certificates = { readonly pem: string; readonly chain: readonly [X509Certificate, ...X509Certificate[]] };
type PrivateKey = { readonly pem: string; readonly key: KeyObject };

const PEM_BEGIN = "-----BEGIN ";

/** Parses the certificates of a PEM text, in its order; answers what is wrong as text. */
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

/** Parses the private key of a PEM text; answers what is wrong as text, without any of the key. */
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

const ENCRYPTED = "has a passphrase, which a daemon cannot ask for: remove it with `openssl pkey -in KEY -out NEW_KEY`";
const UNREADABLE = "has a private key that cannot be read, or of a kind that TLS does not use: make an RSA or EC key";

function isKeyOf(certificate: X509Certificate, { key }: PrivateKey): boolean {
  return attempt(() => certificate.checkPrivateKey(key)) ?? false;
}

type Block = { readonly label: string; readonly pem: string };

/** The text between the blocks is commentary. */
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

/** The runtimes throw different errors, and none that helps an operator. */
function attempt<Value>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
