import process from "node:process";
import manifest from "../../package.json" with { type: "json" };

/** The version of this Fairlead, as package.json says when it is built. */
export const VERSION: string = manifest.version;

/** What it runs on: `bun 1.4.5` or `deno 2.9.6`. */
export function runtimeName(): string {
  const { bun, deno } = process.versions;
  if (bun) return `bun ${bun}`;
  return deno ? `deno ${deno}` : `node ${process.versions.node}`;
}
