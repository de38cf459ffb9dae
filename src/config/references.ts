// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as messages show them.

import { dirname, isAbsolute, join } from "node:path";
import type { FileText, Resolve } from "../model/ports.ts";

/** A text with its references replaced. With an error among the faults the text is not to be used. */
type Expanded = {
  readonly text: string;
  readonly faults: readonly ReferenceFault[];
  /** Where its references lead to, in their order; those with an error are left out. */
  readonly origins: readonly Origin[];
  /** False if it is for systemd's unit alone to see: the text is not to be used then either. */
  readonly known: boolean;
};

/** What a reference leads to. The path is a full one. */
export type Origin =
  | { readonly kind: "variable" | "default"; readonly name: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "credential"; readonly name: string };

/**
 * Credentials are there only for processes that systemd started with them. What looks at a config from outside
 * (`unit only`) is warned of each, and goes on without knowing what it holds.
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
  /** Reads a file that is named without `${file:…}`. A relative path starts at the folder of the config file. */
  open(path: string): NamedFile;
  /** The files asked for so far, also those that could not be read: all worth watching. */
  files(): readonly string[];
};

/** A file with its full path. */
type NamedFile = { readonly path: string; readonly content: FileText };

/** Each form of a reference, and what it stands for. */
export const REFERENCE_FORMS: readonly (readonly [form: string, meaning: string])[] = [
  ["${NAME}", "the environment variable NAME"],
  ["${NAME:-default}", "the same, with a text for when it is not set or empty"],
  ["${file:/path}", "what a file holds, without its last newline; relative paths start at the config file's folder"],
  ["${credential:name}", "a credential that systemd passes in (LoadCredential= in the unit)"],
  ["$${", "just ${"],
];

type Found = {
  readonly text: string;
  readonly fault?: Omit<ReferenceFault, "reference">;
  readonly origin?: Origin;
  readonly unknown?: true;
};

type Context = { readonly file: string; readonly resolve: Resolve; readonly credentials?: Credentials };

/** The bound keeps a file full of `${` from taking quadratic time. */
const REFERENCE = /\$\$\{|\$\{([^}]{0,1024})\}|\$\{/g;
const ENVIRONMENT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const FORMS = "${NAME}, ${NAME:-default}, ${file:/path} and ${credential:name}";

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
      const found = inside === undefined ? unclosed() : lookUp(inside, world);
      if (found.fault) faults.push({ ...found.fault, reference });
      if (found.origin) origins.push(found.origin);
      if (found.unknown) known = false;
      return found.text;
    });
    return { text: expanded, faults, origins, known };
  }
  return { expand, open: (path) => open(path, world), files: () => [...read.keys()] };
}

type World = Required<Context> & { readonly read: Map<string, FileText> };

function lookUp(inside: string, world: World): Found {
  if (inside.includes("${")) return error("has a reference inside a reference, which is not supported");
  if (inside.startsWith("file:")) return fromFile(inside.slice("file:".length), world);
  if (inside.startsWith("credential:")) return fromCredential(inside.slice("credential:".length), world);
  const [, name, fallback] = ENVIRONMENT.exec(inside) ?? [];
  // Nothing of it is quoted: it may be a piece of a password.
  if (name === undefined) return error(`has a \${ that is none of ${FORMS}; write $\${ if it is meant as text`);
  return fromEnvironment(world.resolve.env(name), { name, fallback });
}

/** As in a shell, the default also stands in for an empty variable. */
function fromEnvironment(
  value: string | undefined,
  { name, fallback }: { name: string; fallback: string | undefined },
): Found {
  if (fallback !== undefined && (value === undefined || value === "")) {
    return { text: fallback, origin: { kind: "default", name } };
  }
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
  const content = before ?? resolve.file(full);
  read.set(full, content);
  return { path: full, content, isFirst: before === undefined };
}

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

/** Most editors end a file with a newline that is no part of the secret. */
function withoutLastNewline(text: string): string {
  return text.replace(/\r?\n$/, "");
}

function unclosed(): Found {
  return error("has a ${ without a closing }; write $${ if it is meant as text");
}

function error(message: string): Found {
  return { text: "", fault: { severity: "error", message } };
}

/** A path as the config file `file` means it: a relative one starts at the folder of that file. */
export function fullPath(path: string, file: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}
