import type { Tls } from "../model/config.ts";
import { Secret } from "../model/secret.ts";
import { parseListen } from "./listen.ts";
import { type PemReading, readPair } from "./pem-file.ts";
import { child, type Tree, textOf } from "./tree.ts";

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
