import process from "node:process";
import manifest from "../../package.json" with { type: "json" };
import { type At, SECOND } from "../model/units.ts";

/** The version in package.json when it was built. */
export const VERSION: string = manifest.version;

/** Set by `make build`: the time of the commit that it is built from, in seconds since 1970; 0 if unknown. */
declare const FAIRLEAD_BUILT_AT: number | undefined;

/** For sources, and for a build without the time. */
const EARLIEST: At = Date.UTC(2026, 0, 1);

/** When it was built, or an earlier time. */
export const BUILT_AT: At =
  typeof FAIRLEAD_BUILT_AT === "number" ? Math.max(FAIRLEAD_BUILT_AT * SECOND, EARLIEST) : EARLIEST;

/** The runtime: `bun 1.4.5` or `deno 2.9.6`. */
export function runtimeName(): string {
  const { bun, deno } = process.versions;
  if (bun) return `bun ${bun}`;
  return deno ? `deno ${deno}` : `node ${process.versions.node}`;
}
