import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

/** What a PEM file holds for TLS. `pem` is that alone, without what else the file says. */
export type Certificates = { readonly pem: string; readonly chain: readonly [X509Certificate, ...X509Certificate[]] };
export type PrivateKey = { readonly pem: string; readonly key: KeyObject };

/** Stands at the start of each block. */
export const PEM_BEGIN = "-----BEGIN ";

/** Reads the certificates of a PEM text, in its order. Answers what is wrong as text. */
export function parseCertificates(text: string): Certificates | string {
  const blocks = blocksOf(text).filter(({ label }) => label === "CERTIFICATE");
  const chain = blocks.map(({ pem }) => attempt(() => new X509Certificate(pem)));
  const broken = chain.indexOf(null);
  if (broken >= 0) return `has a certificate in it that cannot be read: number ${broken + 1}`;
  const [first, ...others] = chain.filter((one) => one !== null);
  if (first !== undefined) return { pem: textOf(blocks), chain: [first, ...others] };
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
  return key === null ? UNREADABLE : { pem: textOf([block]), key };
}

/** Whether the key is that of the certificate. */
export function isKeyOf(certificate: X509Certificate, { key }: PrivateKey): boolean {
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

function textOf(blocks: readonly Block[]): string {
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
