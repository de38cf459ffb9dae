import process from "node:process";
import manifest from "../../package.json" with { type: "json" };
import { type At, SECOND } from "../model/units.ts";

/** The version of this Fairlead, as package.json says when it is built. */
export const VERSION: string = manifest.version;

/** By `make build`: when the commit was made that it is built from, in seconds since 1970; 0 if nobody knows. */
declare const FAIRLEAD_BUILT_AT: number | undefined;

/** Of sources, and of a build that does not say. */
const EARLIEST: At = Date.UTC(2026, 0, 1);

/** When this Fairlead was built, or at least not before that. */
export const BUILT_AT: At =
  typeof FAIRLEAD_BUILT_AT === "number" ? Math.max(FAIRLEAD_BUILT_AT * SECOND, EARLIEST) : EARLIEST;

/** What it runs on: `bun 1.4.5` or `deno 2.9.6`. */
export function runtimeName(): string {
  const { bun, deno } = process.versions;
  if (bun) return `bun ${bun}`;
  return deno ? `deno ${deno}` : `node ${process.versions.node}`;
}
