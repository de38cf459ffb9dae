import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Tls } from "../model/config.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Throws an error that names the file and says what is wrong with it when a certificate cannot be served. Asked for before
 * a server sees it: Deno would take anything, and then fail every handshake.
 */
export function checkCertificate({ cert, certFile, key, keyFile }: Tls): void {
  const blocks = cert.match(CERTIFICATE) ?? [];
  const [own] = blocks.map((block, index) => readCertificate(block, `${certFile} (certificate ${index + 1})`));
  if (!own) throw new Error(`${certFile} holds no certificate in PEM form`);
  if (own.checkPrivateKey(readKey(key.reveal(), keyFile))) return;
  const order = blocks.length > 1 ? "; the server's own certificate has to come first" : "";
  throw new Error(`the key in ${keyFile} does not belong to the certificate in ${certFile}${order}`);
}

function readCertificate(block: string, place: string): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch (cause) {
    throw new Error(`${place} is broken; copy the file anew`, { cause });
  }
}

function readKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // Without the cause, which could quote the key.
    throw new Error(`${file} holds no private key in PEM form that can be read without a passphrase`);
  }
}
