import type { FileText, Resolve } from "../../src/model/ports.ts";

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
    credential: (name) => found(credentials[name], false),
  };
}

function found(text: string | undefined, worldReadable: boolean): FileText {
  return text === undefined ? { ok: false, why: "no such file" } : { ok: true, text, worldReadable };
}
