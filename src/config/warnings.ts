import { join } from "node:path";
import type { Config } from "../model/config.ts";
import { type Disk, describeAlias, type SpaceFor } from "../model/space.ts";
import { formatSize } from "../model/units.ts";
import type { Finding } from "./problems.ts";
import type { Origin } from "./references.ts";
import { fullPath } from "./references.ts";
import { child, listOf, mapOf, type Tree, textOf, withGot } from "./tree.ts";

/** Warns of what a file without errors may hold but does nothing: no sources, no destinations, an unused source. */
export function warnOfIdle(root: Tree): readonly Finding[] {
  const [sources, destinations] = [child(root, "sources"), child(root, "destinations")];
  return [
    ...(isEmpty(sources) ? [warning("sources", "has no entries: no calls can come in", sources?.keyAt)] : []),
    ...(isEmpty(destinations)
      ? [warning("destinations", "has no entries: events are kept but go nowhere", destinations?.keyAt)]
      : unused(mapOf(sources), [...mapOf(destinations).values()])),
  ];
}

function isEmpty(section: Tree | undefined): boolean {
  return mapOf(section).size === 0;
}

function unused(sources: ReadonlyMap<string, Tree>, destinations: readonly Tree[]): readonly Finding[] {
  const lists = destinations.map((destination) => child(destination, "sources"));
  if (lists.includes(undefined)) return [];
  const used = new Set(lists.flatMap((list) => listOf(list).map(textOf)));
  return [...sources]
    .filter(([name]) => !used.has(name))
    .map(([, tree]) => warning(tree.path, "is used by no destination: its events go nowhere", tree.keyAt));
}

function warning(path: string, message: string, at = 0): Finding {
  return { severity: "warning", path, message, at };
}

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as messages show them.

/** What of a text is left when its references are taken out; `$${` stands for text. */
const REFERENCE = /\$?\$\{[^}]{0,1024}\}?/g;
/** As a shell has it: all of the text, or a part of its own in capitals. A `$` within a word is often part of a password. */
const SHELL = /^\$([A-Za-z_]\w*)$|(?:^|[\s/:=@&?])\$([A-Z_][A-Z0-9_]+)(?![\w$])|\s\$([A-Za-z_]\w*)$/;
/** As Jinja, Helm and Ansible have it. */
const TEMPLATE = /\{\{[^{}]{1,100}\}\}/;

/** What a person may have meant who wrote a text in the way of another program; null if nothing looks like it. */
export function doubtText(written: string, { secret }: { readonly secret: boolean }): string | null {
  const text = written.replace(REFERENCE, "x");
  const [shell, ...names] = SHELL.exec(text) ?? [];
  const name = names.find((one) => one !== undefined) ?? "NAME";
  // A secret may have this by chance: nothing of it is shown.
  if (shell !== undefined && !secret) {
    return `has $${name}, which is taken as it stands: write \${${name}} for the environment variable`;
  }
  const form = shell !== undefined ? "$NAME" : TEMPLATE.test(text) ? "{{ NAME }}" : null;
  return form && `looks like ${form}, which is taken as it stands: write \${NAME} for the environment variable NAME`;
}

/** In place of a text. */
export const BARE_TEMPLATE = "has {{ }}, which nothing fills in here: write ${NAME} for the environment variable NAME";

/** Words that calls have in their integrations, for others than one destination. */
const OTHERS = /^(all|webhooks)$/i;
const OTHERS_NAMED =
  "has a name that means others in the integrations of calls: All is every destination, Webhooks every webhook; choose another name";

/** Warns of names that a call cannot say without meaning others. */
export function warnOfNames(root: Tree): readonly Finding[] {
  const destinations = [...mapOf(child(root, "destinations"))];
  return destinations
    .filter(([name]) => OTHERS.test(name))
    .map(([, { path, keyAt }]) => ({ severity: "warning", path, message: OTHERS_NAMED, at: keyAt }));
}

type OpenFile = { readonly file: string; readonly origins: ReadonlyMap<string, readonly Origin[]> };

/** Warns of a file that everybody can read, at the first secret in it. */
export function warnOfOpenSecrets(root: Tree, { file, origins }: OpenFile): readonly Finding[] {
  const [first] = ownSecrets(root, origins).toSorted((one, other) => one.at - other.at);
  if (!first) return [];
  const remedy = `run chmod o-r ${file}, or refer to the secret with \${file:/path}`;
  const message = `is a secret in a file that every user of this machine can read: ${remedy}`;
  return [{ severity: "warning", path: first.path, message, at: first.at }];
}

/** The secrets that stand in the config itself, and not elsewhere. */
export function ownSecrets(tree: Tree, origins: OpenFile["origins"]): readonly Tree[] {
  const below = [...mapOf(tree).values(), ...listOf(tree)];
  if (below.length > 0) return below.flatMap((one) => ownSecrets(one, origins));
  const { value, got, path } = tree;
  const isOwn = got === null && typeof value === "string" && value !== "" && (origins.get(path) ?? []).length === 0;
  return isOwn ? [tree] : [];
}

type Folders = { readonly file: string; readonly isFolder: (path: string) => boolean };

/** Refuses a folder in place of the outbox's file. */
export function refuseFolder(root: Tree, { file, isFolder }: Folders): readonly Finding[] {
  const written = child(child(root, "outbox"), "path");
  const text = textOf(written);
  if (!written || text === null || text === "") return [];
  const path = fullPath(text, file);
  if (!path.endsWith("/") && !isFolder(path)) return [];
  const message = `is a folder: name a file in it, as ${join(path, "fairlead.db")}`;
  return [{ severity: "error", path: written.path, message: withGot(message, written), at: written.at }];
}

/** Warns of a disk that is full before the outbox is: `maxSize` would promise what the disk cannot hold. */
export function warnOfSmallDisk(root: Tree, { outbox }: Config, spaceFor: SpaceFor): readonly Finding[] {
  const { path, maxSize, freeDisk } = outbox;
  const space = spaceFor(path);
  if (space === null) return [];
  const { free, total, used } = space;
  const wanted = `${formatSize(maxSize)}${freeDisk > 0 ? ` and outbox.freeDisk (${formatSize(freeDisk)})` : ""}`;
  const lacks = (room: string) =>
    `is more than the disk has room for: ${wanted} do not fit ${room}; calls are refused before`;
  const wants = maxSize + freeDisk;
  if (total < wants) return diskWarning(root, lacks(`on the ${formatSize(total)} of the disk of ${path}`));
  if (free + used < wants) {
    const taken = used > 0 ? `, with the ${formatSize(used)} that the outbox has` : "";
    return diskWarning(root, lacks(`into the ${formatSize(free)} that are free on the disk of ${path}${taken}`));
  }
  return [];
}

function diskWarning(root: Tree, message: string): readonly Finding[] {
  const outbox = child(root, "outbox");
  const at = child(outbox, "maxSize")?.at ?? outbox?.keyAt ?? 0;
  return [{ severity: "warning", path: "outbox.maxSize", message, at }];
}

/** The daemon would not start: it is better known before. */
export function refuseAlias(root: Tree, { outbox }: Config, aliasOf: Disk["alias"]): readonly Finding[] {
  const alias = aliasOf(outbox.path);
  if (alias === null) return [];
  const at = child(child(root, "outbox"), "path")?.at ?? child(root, "outbox")?.keyAt ?? 0;
  const { why, remedy } = describeAlias(alias);
  return [{ severity: "error", path: "outbox.path", message: `cannot be ${outbox.path}: ${why}; ${remedy}`, at }];
}
