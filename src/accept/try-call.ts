import type { Config } from "../model/config.ts";
import { isFault } from "../model/fault.ts";
import type { Clock, TryCall } from "../model/ports.ts";
import { preview } from "../route/preview.ts";
import { validateCall } from "../validate/call.ts";
import { bodyOf } from "../webhook/body.ts";
import { fieldsOf, render } from "../webhook/template.ts";
import { templateFor, templatesOf } from "./payloads.ts";

export type TryWorld = { readonly config: () => Config; readonly clock: Pick<Clock, "wall"> };

/** Checks and routes a call as if it arrived now, by the config in force, and stores nothing. */
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
      // It has no sender.
      caller: { address: () => null, userAgent: () => null, isPage: false, type, ip },
      maxCall: ingest.maxCall,
      newId: () => "example",
    });
    if (isFault(event)) return event;
    const templates = templatesOf(destinations);
    return preview(event, name, destinations).map((one) => {
      const template = one.gets && templates ? templateFor(event.type, one.destination, templates) : null;
      return { ...one, body: template ? render(template, fieldsOf(bodyOf(event), name)).text : null };
    });
  };
}
