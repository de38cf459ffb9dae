import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";

/** The certificates among the fixtures, as PEM; all but `ca` belong to KEY. */
export const CERTS = {
  good: fixture("good.crt"),
  expired: fixture("expired.crt"),
  notYetValid: fixture("not-yet-valid.crt"),
  ca: fixture("ca.crt"),
};
export const KEY = fixture("server.key");

/** What the files that the example config names hold. */
export const EXAMPLE_PEMS: ReadonlyMap<string, string> = new Map([
  ["/etc/fairlead/tls/fullchain.pem", CERTS.good],
  ["/etc/fairlead/tls/privkey.pem", KEY],
  ["/etc/fairlead/tls/authority.pem", CERTS.ca],
  ["/etc/fairlead/tls/client.pem", CERTS.good],
  ["/etc/fairlead/tls/client-key.pem", KEY],
]);

/** Keys that belong to none of the certificates. */
const OTHER = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
export const OTHER_KEY = pem(OTHER);
export const ENCRYPTED_KEY = pem(OTHER, { cipher: "aes-256-cbc", passphrase: "p" });
export const RSA_KEY = pem(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey);

function pem(key: KeyObject, locked?: { readonly cipher: string; readonly passphrase: string }): string {
  return key.export({ type: "pkcs8", format: "pem", ...locked }).toString();
}

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");
}
