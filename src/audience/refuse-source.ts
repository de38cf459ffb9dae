import { type Fault, fault } from "../model/fault.ts";
import type { Source } from "../model/source.ts";

/** Why no calls are made for a source at this moment; null if they are. */
export function refuseSource(name: string, sources: readonly Source[]): Fault | null {
  const source = sources.find((one) => one.name === name);
  if (!source) return fault("unknown_source", `the config has no source ${JSON.stringify(name.slice(0, 100))}`);
  return source.enabled ? null : fault("source_disabled", `source ${name} is disabled: enable it in the config`);
}
