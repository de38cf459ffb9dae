import type { Config } from "../model/config.ts";
import { isFault } from "../model/fault.ts";
import type { Clock, TryCall } from "../model/ports.ts";
import { preview } from "../route/preview.ts";
import { validateCall } from "../validate/call.ts";

export type TryWorld = { readonly config: () => Config; readonly clock: Pick<Clock, "wall"> };

/** Checks and routes a call as one that comes now, by the config in force, and stores nothing. */
export function createTryCall({ config, clock }: TryWorld): TryCall {
  return function tryCall({ name, type, ip }, call) {
    const { ingest, destinations } = config();
    const event = validateCall(call, {
      type: null,
      context: null,
      integrations: null,
      sentAt: null,
      calls: 1,
      receivedAt: clock.wall(),
      // Nobody has sent it.
      caller: { address: () => null, userAgent: () => null, isPage: false, type, ip },
      maxCall: ingest.maxCall,
      newId: () => "example",
    });
    return isFault(event) ? event : preview(event, name, destinations);
  };
}
