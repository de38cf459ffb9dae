import type { WebhookTls } from "../model/destination.ts";
import { Secret } from "../model/secret.ts";
import { type PemReading, readAuthorities, readPair } from "./pem-file.ts";
import type { Finding } from "./problems.ts";
import { child, listOf, mapOf, type Tree, textOf } from "./tree.ts";

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
