// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as messages show them.
import { dirname, isAbsolute, join } from "node:path";
import type { FileText, Resolve } from "../model/ports.ts";

/** A text with its references replaced. It is not to be used if one of the faults is an error. */
type Expanded = {
  readonly text: string;
  readonly faults: readonly ReferenceFault[];
  /** What its references stand for, in their order; without those that have an error. */
  readonly origins: readonly Origin[];
  /** False if a credential in it cannot be seen from here: then the text is not to be used either. */
  readonly known: boolean;
};

/** What a reference stands for. Paths are absolute. */
export type Origin =
  | { readonly kind: "variable" | "default"; readonly name: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "credential"; readonly name: string };

/**
 * systemd passes credentials only to the processes of a unit. A command outside the unit (`unit only`) warns of each, and
 * continues without its value.
 */
export type Credentials = "at hand" | "unit only";

type ReferenceFault = {
  readonly severity: "error" | "warning";
  readonly message: string;
  /** The reference as the file has it, to find its place. */
  readonly reference: string;
};

export type References = {
  expand(text: string): Expanded;
  /** Reads a file that is named without `${file:…}`. */
  open(path: string): NamedFile;
  /** The files read so far, those that could not be read included: all are worth watching. */
  files(): readonly string[];
};

/** A file with its absolute path. */
type NamedFile = { readonly path: string; readonly content: FileText };

/** Each form of a reference, and its value. */
export const REFERENCE_FORMS: readonly (readonly [form: string, meaning: string])[] = [
  ["${NAME}", "the environment variable NAME"],
  ["${NAME:-default}", "the same, or `default` if it is not set or empty"],
  ["${file:/path}", "a file's content without its last newline; relative paths start at the config file's folder"],
  ["${credential:name}", "a credential that systemd passes in (LoadCredential= in the unit)"],
  ["$${", "just ${"],
];

/** The bound keeps a file full of `${` from taking quadratic time. */
const REFERENCE = /\$\$\{|\$\{([^}]{0,1024})\}|\$\{/g;
const ENVIRONMENT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const FORMS = "${NAME}, ${NAME:-default}, ${file:/path} and ${credential:name}";

/** `file`: the config file. */
type Context = { readonly file: string; readonly resolve: Resolve; readonly credentials?: Credentials };

/** Replaces `${NAME}`, `${NAME:-default}`, `${file:/path}` and `${credential:name}` in text; `$${` stands for `${`. */
export function createReferences({ file, resolve, credentials = "at hand" }: Context): References {
  const read = new Map<string, FileText>();
  const world = { file, resolve, credentials, read };
  function expand(text: string): Expanded {
    const faults: ReferenceFault[] = [];
    const origins: Origin[] = [];
    let known = true;
    const expanded = text.replace(REFERENCE, (reference: string, inside: string | undefined) => {
      if (reference === "$${") return "${";
      const found = inside === undefined ? error(UNCLOSED) : lookUp(inside, world);
      if (found.fault) faults.push({ ...found.fault, reference });
      if (found.origin) origins.push(found.origin);
      if (found.unknown) known = false;
      return found.text;
    });
    return { text: expanded, faults, origins, known };
  }
  return { expand, open: (path) => open(path, world), files: () => [...read.keys()] };
}

const UNCLOSED = "has a ${ without a closing }; write $${ if it is meant as text";

type World = Required<Context> & { readonly read: Map<string, FileText> };

type Found = {
  readonly text: string;
  readonly fault?: Omit<ReferenceFault, "reference">;
  readonly origin?: Origin;
  readonly unknown?: true;
};

function lookUp(inside: string, world: World): Found {
  if (inside.includes("${")) return error("has a reference inside a reference, which is not supported");
  if (inside.startsWith("file:")) return fromFile(inside.slice("file:".length), world);
  if (inside.startsWith("credential:")) return fromCredential(inside.slice("credential:".length), world);
  const [, name, fallback] = ENVIRONMENT.exec(inside) ?? [];
  // Not quoted: it may be part of a password.
  if (name === undefined) return error(`has a \${ that is none of ${FORMS}; write $\${ if it is meant as text`);
  const value = world.resolve.env(name);
  // As in a shell, the default also replaces an empty variable.
  if (fallback !== undefined && !value) return { text: fallback, origin: { kind: "default", name } };
  if (value === undefined) return error(`needs the environment variable ${name}, which is not set`);
  return { text: value, origin: { kind: "variable", name } };
}

function fromFile(path: string, world: World): Found {
  if (path === "") return error("names no file: write ${file:/path}");
  const { path: full, content, isFirst } = open(path, world);
  if (!content.ok) return error(`cannot be read from the file ${full}: ${content.why}`);
  const found = { text: withoutLastNewline(content.text), origin: { kind: "file", path: full } } as const;
  if (!content.worldReadable || !isFirst) return found;
  const message = `comes from ${full}, which every user of this machine can read: run chmod o-r ${full}`;
  return { ...found, fault: { severity: "warning", message } };
}

function open(path: string, { file, resolve, read }: World): NamedFile & { readonly isFirst: boolean } {
  const full = fullPath(path, file);
  const before = read.get(full);
  // A reader of files takes a path with a slash at its end for a folder to list.
  const content = before ?? (full.endsWith("/") ? A_FOLDER : resolve.file(full));
  read.set(full, content);
  return { path: full, content, isFirst: before === undefined };
}

const A_FOLDER = { ok: false, why: "it is a folder" } as const;

function fromCredential(name: string, { resolve, credentials }: World): Found {
  // A name with a slash would lead out of systemd's folder.
  if (!/^[^/]+$/.test(name) || name === "." || name === "..") {
    return error("names no credential: write ${credential:name}, with the name that LoadCredential= gives it");
  }
  const origin = { kind: "credential", name } as const;
  if (credentials === "unit only") {
    const message = `comes from the credential ${name}, which only systemd's unit gets: it cannot be checked here`;
    return { text: "", origin, unknown: true, fault: { severity: "warning", message } };
  }
  const content = resolve.credential(name);
  if (!content.ok) return error(`cannot be read from the credential ${name}: ${content.why}`);
  return { text: withoutLastNewline(content.text), origin };
}

/** Most editors end a file with a newline that is not part of the secret. */
function withoutLastNewline(text: string): string {
  return text.replace(/\r?\n$/, "");
}

function error(message: string): Found {
  return { text: "", fault: { severity: "error", message } };
}

/** The absolute path for a path in the config file `file`: a relative one starts at the folder of that file. */
export function fullPath(path: string, file: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** A whole reference, to be taken out of a text. */
const ANY_REFERENCE = /\$?\$\{[^}]{0,1024}\}?/g;
/** A shell variable: the whole text, or a part of it in capitals. A `$` within a word is often part of a password. */
const SHELL = /^\$([A-Za-z_]\w*)$|(?:^|[\s/:=@&?])\$([A-Z_][A-Z0-9_]+)(?![\w$])|\s\$([A-Za-z_]\w*)$/;
/** A variable of Jinja, Helm or Ansible. */
const TEMPLATE = /\{\{[^{}]{1,100}\}\}/;

/** A hint for a text with a variable in the syntax of another program; null if it has none. */
export function doubtText(written: string, { secret }: { readonly secret: boolean }): string | null {
  const text = written.replace(ANY_REFERENCE, "x");
  const [shell, ...names] = SHELL.exec(text) ?? [];
  const name = names.find((one) => one !== undefined) ?? "NAME";
  // A secret may look like this by chance: no part of it is shown.
  if (shell !== undefined && !secret) {
    return `has $${name}, which is not replaced: write \${${name}} for the environment variable`;
  }
  const form = shell !== undefined ? "$NAME" : TEMPLATE.test(text) ? "{{ NAME }}" : null;
  return form && `looks like ${form}, which is not replaced: write \${NAME} for the environment variable NAME`;
}

/** For a template where text is expected: YAML reads it as a map. */
export const BARE_TEMPLATE = "has {{ }}, which is not replaced: write ${NAME} for the environment variable NAME";
