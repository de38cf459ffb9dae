import { join } from "node:path";
import type { Config } from "../model/config.ts";
import { type Disk, describeAlias, type SpaceFor } from "../model/disk.ts";
import { formatDuration, formatSize } from "../model/units.ts";
import { parseNetwork } from "./addresses.ts";
import { hasPassword } from "./postgres.ts";
import { errorAt, type Finding, keyPlace, warningAt } from "./problems.ts";
import { fullPath, type Origin } from "./references.ts";
import { SPECIFIED } from "./schema.ts";
import { child, listOf, mapOf, type Tree, textOf, withGot } from "./tree.ts";

/** Warns of sections without effect: no sources, no destinations, a source that no destination uses. */
export function warnOfIdle(root: Tree): readonly Finding[] {
  const [sources, destinations] = [child(root, "sources"), child(root, "destinations")];
  const idle: Finding[] = [];
  if (mapOf(sources).size === 0) {
    const place = { path: "sources", at: sources?.keyAt ?? 0 };
    idle.push(warningAt(place, "has no entries: no calls can come in"));
  }
  if (mapOf(destinations).size === 0) {
    const place = { path: "destinations", at: destinations?.keyAt ?? 0 };
    return [...idle, warningAt(place, "has no entries: events are kept but go nowhere")];
  }
  const lists = [...mapOf(destinations).values()].map((destination) => child(destination, "sources"));
  if (lists.includes(undefined)) return idle;
  const used = new Set(lists.flatMap((list) => listOf(list).map(textOf)));
  const unused = [...mapOf(sources)].filter(([name]) => !used.has(name));
  const message = "is used by no destination: its events go nowhere";
  return [...idle, ...unused.map(([, source]) => warningAt(keyPlace(source), message))];
}

/** These keys in a call's integrations do not stand for one destination. */
const RESERVED_NAMES = /^(all|webhooks)$/i;
const RESERVED_NAME =
  "has a name with another meaning in the integrations of calls: All is every destination, Webhooks every webhook; choose another name";

/** Warns of destinations that a call cannot name. */
export function warnOfNames(root: Tree): readonly Finding[] {
  const destinations = [...mapOf(child(root, "destinations"))];
  const reserved = destinations.filter(([name]) => RESERVED_NAMES.test(name));
  return reserved.map(([, destination]) => warningAt(keyPlace(destination), RESERVED_NAME));
}

const SPECIFICATION = {
  timeout: "a request that hangs keeps its slot for that long",
  cutoff: "events may come that late, and the outbox holds them until then",
} as const;

/** Warns of destinations that go beyond the specification, by their own choice. */
export function warnOfUnspecified(root: Tree, { destinations }: Config): readonly Finding[] {
  const keys = Object.keys(SPECIFICATION) as (keyof typeof SPECIFICATION)[];
  return destinations.flatMap((destination) =>
    keys.flatMap((key) => {
      const tree = child(root, "destinations", destination.name, key);
      if (!tree || destination[key] <= SPECIFIED[key]) return [];
      const message = `is more than the ${formatDuration(SPECIFIED[key])} of the specification: ${SPECIFICATION[key]}`;
      return [warningAt(tree, withGot(message, tree))];
    }),
  );
}

/** Each daemon only keeps the order of the calls that it has accepted. */
export function warnOfSharedOrder(root: Tree, { outbox, destinations }: Config): readonly Finding[] {
  if (outbox.postgres === null) return [];
  const ordered = destinations.flatMap(({ name }) => child(root, "destinations", name, "order") ?? []);
  const message =
    "holds among the calls that one daemon accepts, and others may share outbox.url: have the balancer send all calls of a user to the same daemon";
  return ordered.filter(({ value }) => value === "user").map((tree) => warningAt(tree, message));
}

/** The share of the outbox from which on settled deliveries are removed early to make room (store/room.ts). */
const CROWDED = 0.9;

/** Warns of a source that may fill the outbox in spite of its limit. */
export function warnOfLargePortions(root: Tree, { sources, outbox }: Config): readonly Finding[] {
  if (sources.length < 2) return [];
  return sources.flatMap(({ name, maxWaiting }) => {
    const tree = child(root, "sources", name, "maxWaiting");
    if (!tree || maxWaiting === null || maxWaiting.bytes < Math.floor(outbox.maxSize * CROWDED)) return [];
    const message = `leaves too little of outbox.maxSize (${formatSize(outbox.maxSize)}) for the other sources: choose less than 90% of it`;
    return [warningAt(tree, withGot(message, tree))];
  });
}

/** Warns of webhooks of notify that are those of a destination: they are notified of everything except its failures. */
export function warnOfSameWay(root: Tree): readonly Finding[] {
  const urls = [...mapOf(child(root, "destinations"))].flatMap(([name, destination]) =>
    listOf(child(destination, "webhooks")).map((webhook) => [textOf(child(webhook, "url")), name] as const),
  );
  const owners = new Map(urls.toReversed());
  return [...mapOf(child(root, "notify")).values()].flatMap((notifier) => {
    const url = child(notifier, "url");
    const owner = url && owners.get(textOf(url));
    return owner === undefined
      ? []
      : [
          warningAt(
            url ?? notifier,
            withGot(`is a webhook of destinations.${owner} too: ${SAME_WAY}`, url ?? notifier),
          ),
        ];
  });
}

const SAME_WAY = "it is not told when that fails, nor of its deliveries given up";

/** Warns of a network that contains every address. */
export function warnOfEverybody(root: Tree): readonly Finding[] {
  const networks = listOf(child(root, "ingest", "trustedProxies"));
  return networks.flatMap((tree) => {
    const network = parseNetwork(textOf(tree) ?? "");
    if (typeof network === "string" || network.bits > 0) return [];
    return [
      warningAt(tree, withGot("trusts everybody: any client can pretend to be another; name your proxies", tree)),
    ];
  });
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: a reference, as a config file has it.
const INSTANCE = "unix:/run/fairlead-${INSTANCE}/admin.sock";
const SAME_ADMIN = `is the same for all daemons that share ingest.listen, and only the first one gets it: give each its own, as in ${INSTANCE}`;

/** Warns of daemons that share a port, and would all have the default address for operators. */
export function warnOfSameAdmin(root: Tree): readonly Finding[] {
  const shared = child(root, "ingest", "reusePort");
  if (shared?.value !== true || child(root, "admin", "listen") !== undefined) return [];
  return [warningAt({ path: "admin.listen", at: child(root, "admin")?.keyAt ?? keyPlace(shared).at }, SAME_ADMIN)];
}

type Origins = ReadonlyMap<string, readonly Origin[]>;

type Files = {
  /** Those that every user can read. */
  readonly open: ReadonlySet<string>;
  readonly placeOf: (at: number) => { readonly file: string };
  readonly origins: Origins;
};

/** Warns at the first secret in each file that every user can read. */
export function warnOfOpenSecrets(root: Tree, { open, placeOf, origins }: Files): readonly Finding[] {
  if (open.size === 0) return [];
  const firsts = new Map<string, Tree>();
  for (const secret of ownSecrets(root, origins).toSorted((one, other) => one.at - other.at)) {
    const { file } = placeOf(secret.at);
    if (open.has(file) && !firsts.has(file)) firsts.set(file, secret);
  }
  return [...firsts].map(([file, secret]) => {
    const remedy = `run chmod o-r ${file}, or refer to the secret with \${file:/path}`;
    return warningAt(secret, `is a secret in a file that every user of this machine can read: ${remedy}`);
  });
}

/** The secrets that are written in the config itself. */
export function ownSecrets(tree: Tree, origins: Origins): readonly Tree[] {
  const below = [...mapOf(tree).values(), ...listOf(tree)];
  if (below.length > 0) return below.flatMap((one) => ownSecrets(one, origins));
  const { value, got, path } = tree;
  if (typeof value !== "string" || value === "" || (origins.get(path) ?? []).length > 0) return [];
  return got === null || hasPassword(value) ? [tree] : [];
}

/** Warns if the disk is full before the outbox has reached its `maxSize`. */
export function warnOfSmallDisk(root: Tree, { outbox }: Config, spaceFor: SpaceFor): readonly Finding[] {
  const { path, postgres, maxSize, freeDisk } = outbox;
  const space = postgres === null ? spaceFor(path) : null;
  if (space === null) return [];
  const { free, total, used } = space;
  const wanted = `${formatSize(maxSize)}${freeDisk > 0 ? ` and outbox.freeDisk (${formatSize(freeDisk)})` : ""}`;
  const own = used > 0 ? `, with the ${formatSize(used)} that the outbox has` : "";
  const room =
    total < maxSize + freeDisk
      ? `on the ${formatSize(total)} of the disk of ${path}`
      : `into the ${formatSize(free)} that are free on the disk of ${path}${own}`;
  if (Math.min(total, free + used) >= maxSize + freeDisk) return [];
  const message = `is more than the disk has room for: ${wanted} do not fit ${room}; calls are refused before`;
  return [warningAt({ path: "outbox.maxSize", at: placeInOutbox(root, "maxSize") }, message)];
}

/** Refuses a folder as the outbox. */
export function refuseFolder(root: Tree, file: string, isFolder: (path: string) => boolean): readonly Finding[] {
  const written = child(root, "outbox", "path");
  const text = textOf(written);
  if (!written || text === null || text === "") return [];
  const path = fullPath(text, file);
  if (!path.endsWith("/") && !isFolder(path)) return [];
  return [errorAt(written, withGot(`is a folder: name a file in it, as ${join(path, "fairlead.db")}`, written))];
}

/** Refuses an outbox that has another path as well: the daemon would not start on it. */
export function refuseAlias(root: Tree, { outbox }: Config, aliasOf: Disk["alias"]): readonly Finding[] {
  const alias = outbox.postgres === null ? aliasOf(outbox.path) : null;
  if (alias === null) return [];
  const { why, remedy } = describeAlias(alias);
  const place = { path: "outbox.path", at: placeInOutbox(root, "path") };
  return [errorAt(place, `cannot be ${outbox.path}: ${why}; ${remedy}`)];
}

/** The place of a key's value, or of the section if the key is left out. */
function placeInOutbox(root: Tree, key: string): number {
  return child(root, "outbox", key)?.at ?? child(root, "outbox")?.keyAt ?? 0;
}
