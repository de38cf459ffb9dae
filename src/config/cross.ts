import type { Listen } from "../model/config.ts";
import { formatSize, MB, parseSize } from "../model/units.ts";
import { isLocal, isSameAddress, parseListen } from "./addresses.ts";
import type { Finding } from "./problems.ts";
import { ADMIN_LISTEN, INGEST_LISTEN, MAX_BATCH, MAX_CALL } from "./schema.ts";
import { suggest } from "./suggest.ts";
import { BROKEN, child, listOf, mapOf, type Tree, textOf, withGot } from "./tree.ts";

/**
 * Finds what is wrong between values that are each right by themselves. Works on whatever could be read, so that these
 * Problems come together with all others.
 */
export function crossCheck(root: Tree): readonly Finding[] {
  const destinations = [...mapOf(child(root, "destinations")).values()];
  return [
    ...addresses(root),
    ...largestCall(child(root, "ingest")),
    ...writeKeys([...mapOf(child(root, "sources")).values()]),
    ...destinations.flatMap((destination) => unknownSources(destination, child(root, "sources"))),
    ...destinations.flatMap(sameUrls),
    ...destinations.flatMap(standardWebhooks),
    ...destinations.flatMap((destination) => listOf(child(destination, "webhooks")).flatMap(sameHeaders)),
  ];
}

function addresses(root: Tree): readonly Finding[] {
  const [ingest, admin] = [child(root, "ingest"), child(root, "admin")];
  const [calls, operators] = [child(ingest, "listen"), child(admin, "listen")];
  const ingestListen = listenOf(calls, INGEST_LISTEN);
  const adminListen = listenOf(operators, ADMIN_LISTEN);
  const findings: Finding[] = [];
  if (admin && adminListen && !isLocal(adminListen) && child(admin, "token") === undefined) {
    const message = "is missing here: it is required unless admin.listen is a loopback address or a Unix socket";
    findings.push({ severity: "error", path: `${admin.path}.token`, message, at: admin.keyAt });
  }
  // With both left out they are different: one of the two is there to be pointed at.
  const blamed = operators ?? calls;
  if (blamed && ingestListen && adminListen && isSameAddress(ingestListen, adminListen)) {
    const other = blamed === operators ? "ingest.listen" : "admin.listen";
    findings.push(error(blamed, withGot(`is the address of ${other} too: each needs one of its own`, blamed)));
  }
  return findings;
}

/** A call that is larger than a request may be could never come in. */
function largestCall(ingest: Tree | undefined): readonly Finding[] {
  const call = child(ingest, "maxCall");
  const [most, all] = [sizeOf(call, MAX_CALL), sizeOf(child(ingest, "maxBatch"), MAX_BATCH)];
  // What is out of its range has been found already.
  if (!call || most === null || all === null || most > MB || all < MAX_BATCH || most <= all) return [];
  return [error(call, withGot(`is more than ingest.maxBatch, which is ${formatSize(all)}: raise that too`, call))];
}

function sizeOf(tree: Tree | undefined, byDefault: number): number | null {
  if (tree === undefined) return byDefault;
  return typeof tree.value === "string" || typeof tree.value === "number" ? parseSize(String(tree.value)) : null;
}

function listenOf(tree: Tree | undefined, byDefault: string): Listen | null {
  const listen = parseListen(tree === undefined ? byDefault : (textOf(tree) ?? ""));
  return typeof listen === "string" ? null : listen;
}

function writeKeys(sources: readonly Tree[]): readonly Finding[] {
  const keys = sources.flatMap((source) => child(source, "writeKey") ?? []);
  return repeated(keys, textOf).map(([key, first]) =>
    error(key, `is the same as ${first.path}: each source needs a key of its own`),
  );
}

function unknownSources(destination: Tree, sources: Tree | undefined): readonly Finding[] {
  if (sources?.value === BROKEN) return [];
  const known = [...mapOf(sources).keys()];
  const named = listOf(child(destination, "sources"));
  return named.flatMap((tree) => {
    const name = textOf(tree);
    if (name === null || name === "" || known.includes(name)) return [];
    const meant = suggest(name, known);
    return error(tree, withGot(`is not one of the sources${meant ? `: did you mean ${meant}?` : ""}`, tree));
  });
}

function sameUrls(destination: Tree): readonly Finding[] {
  const urls = listOf(child(destination, "webhooks")).flatMap((webhook) => child(webhook, "url") ?? []);
  const same = repeated(urls, (tree) => URL.parse(textOf(tree) ?? "")?.href ?? null);
  return same.map(([url, first]) => error(url, withGot(`is the same as ${first.path}: remove one of them`, url)));
}

/** What Standard Webhooks asks of the secrets that sign. */
function standardWebhooks(destination: Tree): readonly Finding[] {
  const asked = child(destination, "standardWebhooks");
  if (asked?.value !== true) return [];
  const secret = child(destination, "sharedSecret");
  if (!secret) return [error(asked, "needs a sharedSecret to sign with: add one, or remove this key")];
  const secrets = Array.isArray(secret.value) ? listOf(secret) : [secret];
  return secrets.filter((one) => !isStandardSecret(textOf(one) ?? "")).map((one) => error(one, NOT_BASE64));
}

const NOT_BASE64 = "begins with whsec_, and standardWebhooks needs base64 after that: copy the secret anew";

/** Receivers' libraries refuse what is no base64 after the prefix; any other text is a secret as it stands. */
function isStandardSecret(secret: string): boolean {
  return (
    !secret.startsWith("whsec_") ||
    /^whsec_(?=.)(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/.test(secret)
  );
}

function sameHeaders(webhook: Tree): readonly Finding[] {
  const headers = [...mapOf(child(webhook, "headers"))];
  const same = repeated(headers, ([name]) => name.toLowerCase());
  return same.map(([[, tree], [first]]) => {
    const message = `is the same header as ${first}: upper and lower case do not count`;
    return { severity: "error", path: tree.path, message, at: tree.keyAt };
  });
}

/** Those whose key was there before, each with the first that had it. A null or empty key is like no other. */
function repeated<Item>(items: readonly Item[], keyOf: (item: Item) => string | null): readonly [Item, Item][] {
  const firsts = new Map<string, Item>();
  return items.flatMap((item) => {
    const key = keyOf(item);
    if (key === null || key === "") return [];
    const first = firsts.get(key);
    if (first !== undefined) return [[item, first] as [Item, Item]];
    firsts.set(key, item);
    return [];
  });
}

function error(tree: Tree, message: string): Finding {
  return { severity: "error", path: tree.path, message, at: tree.at };
}
