import type { Listen } from "../model/config.ts";
import { formatSize, MB, parseSize } from "../model/units.ts";
import { isLocal, isSameAddress, parseListen } from "./addresses.ts";
import { errorAt, type Finding, keyPlace } from "./problems.ts";
import { ADMIN_LISTEN, INGEST_LISTEN, MAX_BATCH, MAX_CALL } from "./schema.ts";
import type { Steps } from "./steps.ts";
import { suggest } from "./suggest.ts";
import { BROKEN, child, listOf, mapOf, type Tree, textOf, withGot } from "./tree.ts";

/**
 * Finds conflicts between values that are each valid. Works on everything that could be read, so that these errors are
 * reported together with all others.
 */
export function* crossCheck(root: Tree): Steps<readonly Finding[]> {
  const sources = child(root, "sources");
  const found = [
    openAdmin(child(root, "admin")),
    readToken(child(root, "admin")),
    sameListen(root),
    sharedPort(child(root, "ingest")),
    largestCall(child(root, "ingest")),
    sameWriteKeys([...mapOf(sources).values()]),
    ...[...mapOf(sources).values()].map(burst),
  ];
  for (const destination of mapOf(child(root, "destinations")).values()) {
    yield;
    found.push(
      unknownSources(destination, sources),
      sameUrls(destination),
      standardWebhooks(destination),
      burst(destination),
    );
    found.push(listOf(child(destination, "webhooks")).flatMap(sameHeaders));
  }
  for (const notifier of mapOf(child(root, "notify")).values()) {
    yield;
    found.push(standardWebhooks(notifier), sameHeaders(notifier));
  }
  return found.flat();
}

function openAdmin(admin: Tree | undefined): readonly Finding[] {
  const listen = listenOf(child(admin, "listen"), ADMIN_LISTEN);
  if (!admin || !listen || isLocal(listen) || child(admin, "token") !== undefined) return [];
  const message = "is missing here: it is required unless admin.listen is a loopback address or a Unix socket";
  return [errorAt({ path: `${admin.path}.token`, at: admin.keyAt }, message)];
}

function readToken(admin: Tree | undefined): readonly Finding[] {
  const [all, read] = [child(admin, "token"), child(admin, "readToken")];
  if (!read) return [];
  if (!all) return [errorAt(read, "needs an admin.token beside it: without one, every request may do everything")];
  const isSame = textOf(read) !== null && textOf(read) === textOf(all);
  return isSame ? [errorAt(read, "is the same as admin.token: who has it could do more than look")] : [];
}

function sameListen(root: Tree): readonly Finding[] {
  const [ingest, admin] = [child(root, "ingest", "listen"), child(root, "admin", "listen")];
  const [one, other] = [listenOf(ingest, INGEST_LISTEN), listenOf(admin, ADMIN_LISTEN)];
  // The defaults are different, so one of the two is in the file.
  const blamed = admin ?? ingest;
  if (!blamed || !one || !other || !isSameAddress(one, other)) return [];
  const first = blamed === admin ? "ingest.listen" : "admin.listen";
  return [errorAt(blamed, withGot(`is the address of ${first} too: each needs one of its own`, blamed))];
}

/** Each daemon leads connections to the socket with its newest certificate, and would lead those of the others there. */
function sharedPort(ingest: Tree | undefined): readonly Finding[] {
  const shared = child(ingest, "reusePort");
  if (shared?.value !== true) return [];
  if (listenOf(child(ingest, "listen"), INGEST_LISTEN)?.kind === "unix") return [errorAt(shared, NEEDS_PORT)];
  return child(ingest, "tls") === undefined ? [] : [errorAt(shared, NEEDS_PROXY)];
}

const NEEDS_PORT = "is for a TCP port, and ingest.listen is a Unix socket: give each daemon its own, or a port to all";
const NEEDS_PROXY = "does not go with ingest.tls: let a proxy in front speak TLS, or remove one of them";

function listenOf(tree: Tree | undefined, byDefault: string): Listen | null {
  const listen = parseListen(tree === undefined ? byDefault : (textOf(tree) ?? ""));
  return typeof listen === "string" ? null : listen;
}

/** A call that is larger than a request may be could never be accepted. */
function largestCall(ingest: Tree | undefined): readonly Finding[] {
  const call = child(ingest, "maxCall");
  const [most, all] = [sizeOf(call, MAX_CALL), sizeOf(child(ingest, "maxBatch"), MAX_BATCH)];
  // A size out of its range has an error already.
  if (!call || most === null || all === null || most > MB || all < MAX_BATCH || most <= all) return [];
  return [errorAt(call, withGot(`is more than ingest.maxBatch, which is ${formatSize(all)}: raise that too`, call))];
}

function sizeOf(tree: Tree | undefined, byDefault: number): number | null {
  if (tree === undefined) return byDefault;
  return typeof tree.value === "string" || typeof tree.value === "number" ? parseSize(String(tree.value)) : null;
}

function sameWriteKeys(sources: readonly Tree[]): readonly Finding[] {
  const keys = sources.flatMap((source) => child(source, "writeKey") ?? []);
  return repeated(keys, textOf).map(([key, first]) =>
    errorAt(key, `is the same as ${first.path}: each source needs a key of its own`),
  );
}

function unknownSources(destination: Tree, sources: Tree | undefined): readonly Finding[] {
  if (sources?.value === BROKEN) return [];
  const known = mapOf(sources);
  return listOf(child(destination, "sources")).flatMap((tree) => {
    const name = textOf(tree);
    if (name === null || name === "" || known.has(name)) return [];
    const meant = suggest(name, [...known.keys()]);
    return errorAt(tree, withGot(`is not one of the sources${meant ? `: did you mean ${meant}?` : ""}`, tree));
  });
}

function sameUrls(destination: Tree): readonly Finding[] {
  const urls = listOf(child(destination, "webhooks")).flatMap((webhook) => child(webhook, "url") ?? []);
  const same = repeated(urls, (tree) => URL.parse(textOf(tree) ?? "")?.href ?? null);
  return same.map(([url, first]) => errorAt(url, withGot(`is the same as ${first.path}: remove one of them`, url)));
}

/** Standard Webhooks needs a secret to sign with, in its own format. */
function standardWebhooks(destination: Tree): readonly Finding[] {
  const asked = child(destination, "standardWebhooks");
  if (asked?.value !== true) return [];
  const secret = child(destination, "sharedSecret");
  if (!secret) return [errorAt(asked, "needs a sharedSecret to sign with: add one, or remove this key")];
  const secrets = Array.isArray(secret.value) ? listOf(secret) : [secret];
  const message = "begins with whsec_, and standardWebhooks needs base64 after that: copy the secret again";
  return secrets.filter((one) => !isStandardSecret(textOf(one) ?? "")).map((one) => errorAt(one, message));
}

/** After the prefix, receivers' libraries only accept base64; any other text is used as it is. */
function isStandardSecret(secret: string): boolean {
  const base64 = /^whsec_(?=.)(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;
  return !secret.startsWith("whsec_") || base64.test(secret);
}

/** Of a source, or of a destination with webhooks. */
function burst(entry: Tree): readonly Finding[] {
  const most = child(entry, "burst");
  if (!most) return [];
  if (!child(entry, "rate")) return [errorAt(most, "needs a rate beside it: add one, or remove this key")];
  const webhooks = listOf(child(entry, "webhooks")).length;
  if (typeof most.value !== "number" || most.value < 1 || most.value >= webhooks) return [];
  return [
    errorAt(most, withGot(`must be at least ${webhooks}: each event goes to all ${webhooks} webhooks at once`, most)),
  ];
}

function sameHeaders(webhook: Tree): readonly Finding[] {
  const headers = [...mapOf(child(webhook, "headers"))];
  return repeated(headers, ([name]) => name.toLowerCase()).map(([[, tree], [first]]) =>
    errorAt(keyPlace(tree), `is the same header as ${first}: upper and lower case do not count`),
  );
}

/** The items whose key is that of an earlier one, each with the first that had it. A null or empty key is never the same. */
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
