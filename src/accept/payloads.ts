/** The payloads of destinations that have a template: made when an event is accepted, and when a delivery moves to one. */
import type { Config, Destination } from "../model/config.ts";
import type { JsonObject } from "../model/event.ts";
import { parseExactly } from "../model/json.ts";
import { ownPayload, type Payloads, specifiedBody, storedBody } from "../model/payload.ts";
import type { Entry } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Template } from "../model/template.ts";
import type { Rewrite, WaitingDeliveries } from "../model/waiting-deliveries.ts";
import { bodyOf } from "../webhook/body.ts";
import { fieldsOf, render } from "../webhook/template.ts";

type Templates = ReadonlyMap<string, Template>;

// Asked for each request. A reload makes a new list.
const known = new WeakMap<readonly Destination[], Templates | null>();

/** The templates by destination; null if there are none. */
export function templatesOf(destinations: readonly Destination[]): Templates | null {
  const found = known.get(destinations);
  if (found !== undefined) return found;
  const all = destinations.flatMap(({ name, template }) => (template ? [[name, template] as const] : []));
  const templates = all.length === 0 ? null : new Map(all);
  known.set(destinations, templates);
  return templates;
}

/**
 * Adds the payloads of the destinations that get an event. Notices that a user is to be deleted have none: who is told of a
 * deletion has to be able to know it as one (SPEC.md 2.2).
 */
export function withPayloads(entry: Entry, templates: Templates, report: Pick<Report, "payloadShortened">): Entry {
  const { event, source, deliverTo } = entry;
  const wanted = deliverTo.filter((destination) => templates.has(destination));
  if (wanted.length === 0 || event.type === "delete") return entry;
  const fields = fieldsOf(bodyOf(event), source);
  const payloads: Payloads = wanted.map((destination) => {
    const { text, shortened } = render(templates.get(destination) ?? [], fields);
    if (shortened) report.payloadShortened(destination, event.messageId);
    return [destination, text];
  });
  return { ...entry, body: storedBody(entry.body, payloads) };
}

/** Makes the payloads of deliveries that move to a destination with a template. */
export function withMovedPayloads(
  waiting: WaitingDeliveries,
  config: () => Pick<Config, "destinations">,
  report: Pick<Report, "payloadShortened">,
): WaitingDeliveries {
  return {
    discard: waiting.discard,
    move(redirect, limit) {
      const template = templatesOf(config().destinations)?.get(redirect.to);
      return waiting.move(
        template ? { ...redirect, rewrite: rewriteBy(template, redirect.to, report) } : redirect,
        limit,
      );
    },
  };
}

function rewriteBy(template: Template, to: string, report: Pick<Report, "payloadShortened">): Rewrite {
  return (stored, { source, type, messageId }) => {
    if (type === "delete" || ownPayload(stored, to) !== null) return stored;
    const body = specifiedBody(stored);
    const { text, shortened } = render(template, fieldsOf(parseExactly(body) as JsonObject, source));
    if (shortened) report.payloadShortened(to, messageId);
    return storedBody(body, [[to, text]]);
  };
}
