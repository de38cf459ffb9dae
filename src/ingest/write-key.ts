import { hash } from "node:crypto";
import { type Fault, fault } from "../model/fault.ts";
import type { Source } from "../model/source.ts";

/** Finds the source of a request by its write key. */
export type FindSource = (request: Request) => Source | Fault;

/**
 * Keys are looked up by their hash: how long that takes says nothing about how much of a guess was right. Where the key
 * is in a request is settled here alone.
 */
export function createFindSource(sources: readonly Source[]): FindSource {
  const byHash = new Map(sources.map((source) => [digest(source.writeKey.reveal()), source]));

  return function findSource(request) {
    const key = writeKeyOf(request);
    if (key === null) {
      return fault("missing_write_key", "no write key: send it as the user name of Basic authorization");
    }
    const source = byHash.get(digest(key));
    if (!source)
      return fault("unknown_write_key", "no source has this write key; look it up under sources in the config");
    if (!source.enabled) return fault("source_disabled", `the source ${source.name} is disabled in the config`);
    return source;
  };
}

function digest(key: string): string {
  return hash("sha256", key, "base64");
}

/** `Authorization: Basic base64(key + ":")`. The password is nobody's, and ignored. */
function writeKeyOf(request: Request): string | null {
  const [scheme, credentials] = (request.headers.get("authorization") ?? "").split(" ", 2);
  if (scheme?.toLowerCase() !== "basic" || !credentials) return null;
  const key = Buffer.from(credentials, "base64").toString().split(":", 1)[0];
  return key || null;
}
