import { hash } from "node:crypto";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Source } from "../model/source.ts";

/** Finds the source of a request by its write key. */
export type FindSource = (request: Request) => Source | Fault;

/** Spellings of good credentials that are remembered: a client sends one, again and again. */
const MOST_REMEMBERED = 1_000;

/**
 * Keys are looked up by their hash: how long that takes says nothing about how much of a guess was right. Where the key
 * is in a request is settled here alone.
 */
export function createFindSource(sources: readonly Source[]): FindSource {
  const byHash = new Map(sources.map((source) => [digest(source.writeKey.reveal()), source]));
  const byHeader = new Map<string, Source>();

  return function findSource(request) {
    const header = request.headers.get("authorization") ?? "";
    const known = byHeader.get(header);
    if (known) return known;
    const source = lookUp(header);
    if (!isFault(source) && byHeader.size < MOST_REMEMBERED) byHeader.set(header, source);
    return source;
  };

  function lookUp(header: string): Source | Fault {
    const key = writeKeyOf(header);
    if (key === null) {
      return fault("missing_write_key", "no write key: send it as the user name of Basic authorization");
    }
    const source = byHash.get(digest(key));
    if (!source)
      return fault("unknown_write_key", "no source has this write key; look it up under sources in the config");
    if (!source.enabled) return fault("source_disabled", `the source ${source.name} is disabled in the config`);
    return source;
  }
}

function digest(key: string): string {
  return hash("sha256", key, "base64");
}

/** `Authorization: Basic base64(key + ":")`. The password is nobody's, and ignored. */
function writeKeyOf(header: string): string | null {
  const [scheme, credentials] = header.split(" ", 2);
  if (scheme?.toLowerCase() !== "basic" || !credentials) return null;
  const key = Buffer.from(credentials, "base64").toString().split(":", 1)[0];
  return key || null;
}
