import { existsSync } from "node:fs";
import process from "node:process";

const CONFIG_PLACES = ["config.yaml", "/etc/fairlead/config.yaml"];

/** Where the config file is: as said, else `$FAIRLEAD_CONFIG`, else the first place that has one, else null. */
export function findConfigFile(said: string | undefined): string | null {
  return said ?? (process.env.FAIRLEAD_CONFIG || undefined) ?? CONFIG_PLACES.find((path) => existsSync(path)) ?? null;
}
