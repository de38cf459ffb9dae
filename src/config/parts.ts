/**
 * Single values of a config file, for commands that may not read the secrets of other sections. A value is found whatever is
 * wrong elsewhere in the file.
 */
import * as v from "valibot";
import { isMap } from "yaml";
import type { Config, Listen, Postgres, Problem } from "../model/config.ts";
import { Secret } from "../model/secret.ts";
import { parseListen } from "./addresses.ts";
import { check } from "./check.ts";
import { keyText } from "./hide.ts";
import { gather, only, readWhole, type Whole, wholeAlone } from "./include.ts";
import { buildOutbox, type LoadInput, problemsIn } from "./load.ts";
import { outbox as outboxSchema } from "./outbox-schema.ts";
import { readPostgres } from "./postgres.ts";
import { type Finding, formatProblem } from "./problems.ts";
import { createReferences } from "./references.ts";
import { ADMIN_LISTEN, type configSchema, INGEST_LISTEN, MERGEABLE } from "./schema.ts";
import { atOnce } from "./steps.ts";
import { suggest } from "./suggest.ts";
import { parse } from "./syntax.ts";
import { child, mapOf, plain, type Tree, textOf } from "./tree.ts";

/** Why a value is unavailable: the file is at fault, or the requested name. */
export type PartFault = { readonly faulty: "file" | "name"; readonly message: string };

export type PartsInput = Pick<LoadInput, "file" | "text" | "resolve">;

/** Where calls are accepted, and whether over TLS. */
export function readIngestPart(input: PartsInput): { readonly listen: Listen; readonly tls: boolean } | PartFault {
  const ingest = readSection("ingest", input);
  const listen = listenIn(ingest, INGEST_LISTEN, input.file);
  return "faulty" in listen ? listen : { listen, tls: child(ingest.tree, "tls") !== undefined };
}

/** The write key of a source; without a name, of the first source that is enabled. */
export function readWriteKey(name: string | undefined, input: PartsInput): Secret | PartFault {
  const { tree, errors } = readSection("sources", input);
  const source = findSource(tree, name, input.file);
  const isMissing = "faulty" in source;
  // A source may be missing because its section is misspelt, or because the file cannot be read.
  const found = isMissing ? errors.filter(({ path }) => !/[.[]/.test(path)) : errorsAbout(source.path, errors);
  if (found.length > 0) return unusable(input.file, found);
  return isMissing ? source : new Secret(textOf(child(source, "writeKey")) ?? "");
}

/** How to reach the operator's API. One part may be known although the other is not. */
export type AdminPart = {
  /** `written` is false if the file has no address, and the default is in force. */
  readonly listen: { readonly listen: Listen; readonly written: boolean } | PartFault;
  /** Null if the file has none. */
  readonly token: Secret | null | PartFault;
  /** False only if the file says so. */
  readonly dashboard: boolean;
};

export function readAdminPart(input: PartsInput): AdminPart {
  const admin = readSection("admin", input);
  const listen = listenIn(admin, ADMIN_LISTEN, input.file);
  const found = errorsOf(admin, "token");
  const token = textOf(child(admin.tree, "token"));
  return {
    listen: "faulty" in listen ? listen : { listen, written: child(admin.tree, "listen") !== undefined },
    token: found.length > 0 ? unusable(input.file, found) : token === null ? null : new Secret(token),
    dashboard: child(admin.tree, "dashboard")?.value !== false,
  };
}

/** The outbox's path and bounds, for commands that copy or examine it. */
export function readOutboxPart(input: PartsInput): Config["outbox"] | PartFault {
  const { tree, errors, postgres } = readSection("outbox", input);
  if (errors.length > 0) return unusable(input.file, errors);
  const { file } = input;
  return buildOutbox(v.parse(outboxSchema, tree ? plain(tree) : {}), { file, postgres });
}

/** The names in a section of the config, whatever else is wrong with it. */
export function namesUnder(key: "destinations" | "sources", { file, text, resolve }: PartsInput): readonly string[] {
  const { files } = atOnce(gather(parse(text), { file, resolve }));
  return files.flatMap(({ document: { contents } }) => {
    const section = isMap(contents) ? contents.items.find((item) => keyText(item.key) === key)?.value : null;
    return isMap(section) ? section.items.flatMap((item) => keyText(item.key) ?? []) : [];
  });
}

type SectionName = keyof typeof configSchema.entries;

type Section = {
  readonly name: SectionName;
  /** Undefined if the file has no such section, or cannot be read. */
  readonly tree: Tree | undefined;
  readonly errors: readonly Problem[];
  /** Of the section `outbox`. */
  readonly postgres: Postgres | null;
};

/** Only certificates need to know the time, and only for warnings. */
const ANY_TIME = 0;

/** Reads one section as if the config had no other. No reference of another section is resolved. */
function readSection(name: SectionName, { file, text, resolve }: PartsInput): Section {
  const isMergeable = (MERGEABLE as readonly string[]).includes(name);
  const document = parse(text);
  const whole = isMergeable ? atOnce(gather(document, { file, resolve })) : wholeAlone(document, file);
  if (document.contents === null || whole.findings.length > 0) {
    return { name, tree: undefined, errors: atOnce(problemsIn(whole, whole.findings)), postgres: null };
  }
  const findings: Finding[] = [];
  const references = createReferences({ file, resolve });
  const tree = atOnce(readWhole(onlyIn(whole, name), { references, findings }));
  const postgres = readPostgres(tree, { references, now: ANY_TIME, findings });
  const errors = [...findings, ...atOnce(check(tree)).findings].filter(({ severity }) => severity === "error");
  return { name, tree: child(tree, name), errors: atOnce(problemsIn(whole, errors)), postgres };
}

function onlyIn(whole: Whole, name: SectionName): Whole {
  const files = whole.files.map((one) => {
    const { contents } = one.document;
    return { ...one, document: { ...one.document, contents: contents && only(name, contents) } };
  });
  return { ...whole, files };
}

function listenIn(section: Section, byDefault: string, file: string): Listen | PartFault {
  const found = errorsOf(section, "listen");
  if (found.length > 0) return unusable(file, found);
  const listen = parseListen(textOf(child(section.tree, "listen")) ?? byDefault);
  return typeof listen === "string" ? fileFault(`${section.name}.listen in ${file} ${listen}`) : listen;
}

/** The errors that concern one key of a section; a misspelt key has a path of its own. */
function errorsOf({ name, tree, errors }: Section, key: string): readonly Problem[] {
  return errorsAbout(child(tree, key)?.path ?? `${tree?.path ?? name}.${key}`, errors);
}

function findSource(sources: Tree | undefined, name: string | undefined, file: string): Tree | PartFault {
  const all = [...mapOf(sources)];
  const isMeant = (each: string, source: Tree): boolean =>
    name === undefined ? child(source, "enabled")?.value !== false : each === name;
  const found = all.find(([each, source]) => isMeant(each, source));
  if (found) return found[1];
  if (name === undefined) return fileFault(`${file} has no enabled source`);
  const names = all.map(([each]) => each);
  const meant = suggest(name, names);
  const hint = meant === null ? `it has ${names.join(", ") || "none"}` : `did you mean ${meant}?`;
  return { faulty: "name", message: `${file} has no source ${JSON.stringify(name)}: ${hint}` };
}

/** The errors of a value, of what is in it, of what it is in, and of the file as a whole. */
function errorsAbout(part: string, errors: readonly Problem[]): readonly Problem[] {
  return errors.filter(({ path }) => path === "" || isIn(path, part) || isIn(part, path));
}

function isIn(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}

function unusable(file: string, problems: readonly Problem[]): PartFault {
  return fileFault([`cannot use ${file}:`, ...problems.map(formatProblem)].join("\n"));
}

function fileFault(message: string): PartFault {
  return { faulty: "file", message };
}
