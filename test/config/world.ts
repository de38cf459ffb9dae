import { basename, dirname } from "node:path";
import { type Loaded, type LoadInput, loadConfig } from "../../src/config/load.ts";
import type { Problem } from "../../src/model/config.ts";
import type { FileText, Resolve } from "../../src/model/ports.ts";

export const FILE = "/etc/fairlead/config.yaml";

/** Within the time for which the good certificates among the fixtures are valid. */
export const NOW = Date.UTC(2050, 0, 1);

export type World = {
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  /** Files that everyone can read. */
  readonly openFiles?: Readonly<Record<string, string>>;
  /** Files that we cannot read. */
  readonly closedFiles?: readonly string[];
  readonly credentials?: Readonly<Record<string, string>>;
};

/** A false world for references: nothing is in it but what the test says. */
export function worldOf({
  env = {},
  files = {},
  openFiles = {},
  closedFiles = [],
  credentials = {},
}: World = {}): Resolve {
  return {
    env: (name) => (Object.hasOwn(env, name) ? env[name] : undefined),
    file: (path) => {
      if (closedFiles.includes(path)) return { ok: false, why: "permission denied (mode 0600, owner root)" };
      if (path in openFiles) return found(openFiles[path], true);
      return found(files[path], false);
    },
    folder: (path) => {
      const all = Object.keys({ ...files, ...openFiles, ...Object.fromEntries(closedFiles.map((name) => [name, ""])) });
      const names = all.filter((name) => dirname(name) === path).map((name) => basename(name));
      return names.length === 0 ? { ok: false, why: "no such folder" } : { ok: true, names: names.sort() };
    },
    credential: (name) => found(credentials[name], false),
  };
}

function found(text: string | undefined, worldReadable: boolean): FileText {
  return text === undefined ? { ok: false, why: "no such file" } : { ok: true, text, worldReadable };
}

export function load(text: string, world?: World, more: Partial<LoadInput> = {}): Loaded {
  return loadConfig({ file: FILE, text, resolve: worldOf(world), now: NOW, ...more });
}

/** Each problem as `error log.level must be …`. */
export function told({ problems }: { readonly problems: readonly Problem[] }): readonly string[] {
  return problems.map(({ severity, path, message }) => `${severity} ${path} ${message}`);
}

/** The example file with every key set that it shows commented out. The first line is for editors. */
export function uncomment(example: string): string {
  return example.replace(/^( *)# (?!yaml-language-server:)((?: {2})*(?:- )?[\w-]+:(?: .*)?)$/gm, "$1$2");
}
