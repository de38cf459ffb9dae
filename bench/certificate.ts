/** A certificate for receivers behind HTTPS, signed by itself: there need be no openssl. */
import { createSign, generateKeyPairSync } from "node:crypto";

export type Certificate = { readonly cert: string; readonly key: string };

/** For these IPv4 addresses, and valid today. */
export function createCertificate(addresses: readonly string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from("Fairlead bench")))));
  const names = addresses.map((address) => der(0x87, Buffer.from(address.split(".").map(Number))));
  const unsigned = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    ECDSA_WITH_SHA256,
    name,
    sequence(timeOf(Date.now() - DAY), timeOf(Date.now() + DAY)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(SUBJECT_ALTERNATIVE_NAME, der(0x04, sequence(...names))))),
  );
  const signature = createSign("sha256").update(unsigned).sign(privateKey);
  const signed = sequence(unsigned, ECDSA_WITH_SHA256, der(0x03, Buffer.of(0), signature));
  const lines = signed.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** In ms. */
const DAY = 86_400_000;

const COMMON_NAME = der(0x06, Buffer.of(0x55, 4, 3));
const SUBJECT_ALTERNATIVE_NAME = der(0x06, Buffer.of(0x55, 29, 17));
const ECDSA_WITH_SHA256 = sequence(der(0x06, Buffer.of(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2)));

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag, ...head), content]);
}

function timeOf(at: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, "").slice(2, 14)}Z`));
}
