// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as messages show them.
import { dirname, isAbsolute, join } from "node:path";
import type { FileText, Resolve } from "../model/ports.ts";

/** A text with its references replaced. With an error among the faults the text is not to be used. */
export type Expanded = { readonly text: string; readonly faults: readonly ReferenceFault[] };

export type ReferenceFault = {
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
export type NamedFile = { readonly path: string; readonly content: FileText };

type Found = { readonly text: string; readonly fault?: Omit<ReferenceFault, "reference"> };

/** The bound keeps a file full of `${` from taking quadratic time. */
const REFERENCE = /\$\$\{|\$\{([^}]{0,1024})\}|\$\{/g;
const ENVIRONMENT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const FORMS = "${NAME}, ${NAME:-default}, ${file:/path} and ${credential:name}";

/** Replaces `${NAME}`, `${NAME:-default}`, `${file:/path}` and `${credential:name}` in text; `$${` stands for `${`. */
export function createReferences({ file, resolve }: { file: string; resolve: Resolve }): References {
  const read = new Map<string, FileText>();
  function expand(text: string): Expanded {
    const faults: ReferenceFault[] = [];
    const expanded = text.replace(REFERENCE, (reference: string, inside: string | undefined) => {
      if (reference === "$${") return "${";
      const found = inside === undefined ? unclosed() : lookUp(inside, { file, resolve, read });
      if (found.fault) faults.push({ ...found.fault, reference });
      return found.text;
    });
    return { text: expanded, faults };
  }
  return { expand, open: (path) => open(path, { file, resolve, read }), files: () => [...read.keys()] };
}

type World = { readonly file: string; readonly resolve: Resolve; readonly read: Map<string, FileText> };

function lookUp(inside: string, world: World): Found {
  if (inside.includes("${")) return error("has a reference inside a reference, which is not supported");
  if (inside.startsWith("file:")) return fromFile(inside.slice("file:".length), world);
  if (inside.startsWith("credential:")) return fromCredential(inside.slice("credential:".length), world.resolve);
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
  if (fallback !== undefined) return { text: value === undefined || value === "" ? fallback : value };
  if (value === undefined) return error(`needs the environment variable ${name}, which is not set`);
  return { text: value };
}

function fromFile(path: string, world: World): Found {
  if (path === "") return error("names no file: write ${file:/path}");
  const { path: full, content, isFirst } = open(path, world);
  if (!content.ok) return error(`cannot be read from the file ${full}: ${content.why}`);
  const text = withoutLastNewline(content.text);
  if (!content.worldReadable || !isFirst) return { text };
  const message = `comes from ${full}, which every user of this machine can read: run chmod o-r ${full}`;
  return { text, fault: { severity: "warning", message } };
}

function open(path: string, { file, resolve, read }: World): NamedFile & { readonly isFirst: boolean } {
  const full = isAbsolute(path) ? path : join(dirname(file), path);
  const before = read.get(full);
  const content = before ?? resolve.file(full);
  read.set(full, content);
  return { path: full, content, isFirst: before === undefined };
}

function fromCredential(name: string, resolve: Resolve): Found {
  // A name with a slash would lead out of systemd's folder.
  if (!/^[^/]+$/.test(name) || name === "." || name === "..") {
    return error("names no credential: write ${credential:name}, with the name that LoadCredential= gives it");
  }
  const content = resolve.credential(name);
  if (!content.ok) return error(`cannot be read from the credential ${name}: ${content.why}`);
  return { text: withoutLastNewline(content.text) };
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
