import * as v from "valibot";
import { isMap, type ParsedNode } from "yaml";
import type { Config, Listen, Problem } from "../model/config.ts";
import { Secret } from "../model/secret.ts";
import { parseListen } from "./addresses.ts";
import { hideSecrets, hideSecretsOfBroken, keyText } from "./hide.ts";
import { check, type LoadInput, loadConfig } from "./load.ts";
import { type Finding, formatProblem, toProblems } from "./problems.ts";
import { readTree } from "./read.ts";
import { createReferences, fullPath } from "./references.ts";
import { ADMIN_LISTEN, configSchema, INGEST_LISTEN, outbox as outboxSchema } from "./schema.ts";
import { suggest } from "./suggest.ts";
import { parse } from "./syntax.ts";
import { BROKEN, child, mapOf, plain, type Tree, textOf } from "./tree.ts";

/** Single values of a config file. Each answers what is wrong with it, whatever may be wrong elsewhere in the file. */
export type ConfigParts = {
  ingestListen(): IngestPart | PartFault;
  /** Of the source of that name, or with `undefined` of the first that is enabled. */
  writeKey(source: string | undefined): Secret | PartFault;
};

/** Where calls are taken, and whether over TLS. */
type IngestPart = { readonly listen: Listen; readonly tls: boolean };

/** Why a value cannot be had: the file is at fault, or the name that was asked for. */
export type PartFault = { readonly faulty: "file" | "name"; readonly message: string };

type PartsInput = Omit<LoadInput, "now">;

/**
 * Looks up what a client of the daemon has to know. Whoever runs one often may not read the other secrets that the
 * config refers to, so that it is broken to them as a whole.
 */
export function readConfigParts({ file, text: raw, resolve }: PartsInput): ConfigParts {
  const input = { file, text: raw.replace(/^\uFEFF/, ""), resolve };
  const tree = readValues(input);
  // What depends on the time is a warning, and no concern of a client.
  const errors = loadConfig({ ...input, now: 0 }).problems.filter(({ severity }) => severity === "error");
  return {
    ingestListen() {
      const found = errorsAbout("ingest.listen", errors);
      if (found.length > 0) return unusable(file, found);
      const listen = parseListen(textOf(child(child(tree, "ingest"), "listen")) ?? INGEST_LISTEN);
      if (typeof listen === "string") return fileFault(`ingest.listen in ${file} ${listen}`);
      return { listen, tls: child(child(tree, "ingest"), "tls") !== undefined };
    },
    writeKey(name) {
      const source = findSource(tree, name, file);
      const found = "faulty" in source ? errorsAtTop(errors) : errorsAbout(source.path, errors);
      if (found.length > 0) return unusable(file, found);
      return "faulty" in source ? source : new Secret(textOf(child(source, "writeKey")) ?? "");
    },
  };
}

/** How the operator's API is reached. */
export type AdminPart = {
  /** `written` is false if the file has none, and the default counts. */
  listen(): { readonly listen: Listen; readonly written: boolean } | PartFault;
  /** Null if the file has none. */
  token(): Secret | null | PartFault;
};

/** Looks up what an operator's command has to know. Nothing is resolved for any other section of the file. */
export function readAdminPart(input: PartsInput): AdminPart {
  const { file } = input;
  const { tree, errors } = readSection("admin", input);
  function find(key: string): { readonly text: string | null } | PartFault {
    const value = child(tree, key);
    const found = errorsAbout(value?.path ?? `${tree?.path ?? "admin"}.${key}`, errors);
    return found.length > 0 ? unusable(file, found) : { text: textOf(value) };
  }
  return {
    listen() {
      const found = find("listen");
      if ("faulty" in found) return found;
      const listen = parseListen(found.text ?? ADMIN_LISTEN);
      if (typeof listen === "string") return fileFault(`admin.listen in ${file} ${listen}`);
      return { listen, written: found.text !== null };
    },
    token() {
      const found = find("token");
      if ("faulty" in found) return found;
      return found.text === null ? null : new Secret(found.text);
    },
  };
}

/**
 * Looks up where the outbox is, and its bounds, for who copies or looks at it. Nothing is resolved for any other section of
 * the file.
 */
export function readOutboxPart(input: PartsInput): Config["outbox"] | PartFault {
  const { tree, errors } = readSection("outbox", input);
  if (errors.length > 0) return unusable(input.file, errors);
  const outbox = v.parse(outboxSchema, tree ? plain(tree) : {});
  return { ...outbox, path: fullPath(outbox.path, input.file) };
}

/** The names that stand under a key of the file, however wrong the rest of it is. Nothing is resolved for them. */
export function namesUnder(key: "destinations" | "sources", text: string): readonly string[] {
  const { contents } = parse(text.replace(/^\uFEFF/, ""));
  const section = isMap(contents) ? contents.items.find((item) => keyText(item.key) === key)?.value : null;
  return isMap(section) ? section.items.flatMap((item) => keyText(item.key) ?? []) : [];
}

/** The values of the file with their references replaced, as far as they can be read. */
function readValues({ file, text, resolve }: PartsInput): Tree {
  const { contents, lines } = parse(text);
  if (contents === null) return { path: "", at: 0, keyAt: 0, got: null, value: BROKEN };
  const references = createReferences({ file, resolve });
  return readTree(contents, configSchema, { text, lines, references, findings: [] });
}

/** Why a source may be missing: its key is misspelt, or the file cannot be read at all. */
function errorsAtTop(errors: readonly Problem[]): readonly Problem[] {
  return errors.filter(({ path }) => !/[.[]/.test(path));
}

/** Those of the part itself, of what it stands in, and of the file as a whole. */
function errorsAbout(part: string, errors: readonly Problem[]): readonly Problem[] {
  return errors.filter(({ path }) => path === "" || isIn(path, part) || isIn(part, path));
}

function isIn(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}

function findSource(tree: Tree, name: string | undefined, file: string): Tree | PartFault {
  const sources = [...mapOf(child(tree, "sources"))];
  const found = sources.find(([each, source]) =>
    name === undefined ? child(source, "enabled")?.value !== false : each === name,
  );
  if (found) return found[1];
  if (name === undefined) return fileFault(`${file} has no enabled source`);
  const names = sources.map(([each]) => each);
  const meant = suggest(name, names);
  const hint = meant === null ? `it has ${names.join(", ") || "none"}` : `did you mean ${meant}?`;
  return { faulty: "name", message: `${file} has no source ${JSON.stringify(name)}: ${hint}` };
}

function unusable(file: string, problems: readonly Problem[]): PartFault {
  return fileFault([`cannot use ${file}:`, ...problems.map(formatProblem)].join("\n"));
}

function fileFault(message: string): PartFault {
  return { faulty: "file", message };
}

type SectionName = keyof typeof configSchema.entries;

type Section = {
  /** Undefined if the file has no such section, or cannot be read at all. */
  readonly tree: Tree | undefined;
  readonly errors: readonly Problem[];
};

/**
 * Reads one section of a config file as if no other were there: nothing is resolved for them, and nothing is wrong with
 * them. What is wrong only between two sections is not found.
 */
export function readSection(name: SectionName, { file, text: raw, resolve }: Omit<LoadInput, "now">): Section {
  const text = raw.replace(/^\uFEFF/, "");
  const { contents, lines, findings: syntax } = parse(text);
  const shownText = syntax.length > 0 ? hideSecretsOfBroken(text, contents) : hideSecrets(text, contents);
  const placing = { file, shownText, lines };
  if (syntax.length > 0 || contents === null) return { tree: undefined, errors: toProblems(syntax, placing) };
  const found: Finding[] = [];
  const references = createReferences({ file, resolve });
  const tree = readTree(reduce(contents, name), configSchema, { text, lines, references, findings: found });
  const errors = [...found, ...check(tree).findings].filter(({ severity }) => severity === "error");
  return { tree: child(tree, name), errors: toProblems(errors, placing) };
}

/** Leaves the section alone in the document, with all keys that are probably meant as its own. */
function reduce(contents: ParsedNode, name: SectionName): ParsedNode {
  if (isMap(contents)) contents.items = contents.items.filter(({ key }) => meantBy(keyText(key)) === name);
  return contents;
}

function meantBy(key: string | null): string | null {
  if (key === null || Object.hasOwn(configSchema.entries, key)) return key;
  return suggest(key, Object.keys(configSchema.entries));
}
