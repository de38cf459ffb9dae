import { statSync } from "node:fs";
import process from "node:process";

const CONFIG_PLACES = ["config.yaml", "/etc/fairlead/config.yaml"];

/**
 * Where the config file is: as said, else `$FAIRLEAD_CONFIG`, else the first place that has one, else one that this user
 * may not look at, else null.
 */
export function findConfigFile(said: string | undefined, places: readonly string[] = CONFIG_PLACES): string | null {
  const named = said ?? (process.env.FAIRLEAD_CONFIG || undefined);
  if (named !== undefined) return named;
  const found = places.map((path) => [path, lookAt(path)] as const);
  const [there] = found.filter(([, seen]) => seen === "there");
  // Of two folders that are closed, the working directory is the less likely one.
  return (there ?? found.findLast(([, seen]) => seen === "hidden"))?.[0] ?? null;
}

function lookAt(path: string): "there" | "hidden" | "missing" {
  try {
    statSync(path);
    return "there";
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES" ? "hidden" : "missing";
  }
}
