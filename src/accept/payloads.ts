/** The payloads of destinations that have a template: made when an event is accepted, and when a delivery moves to one. */
import { type Config, type Destination, receiversOf } from "../model/config.ts";
import type { EventType, JsonObject } from "../model/event.ts";
import { parseExactly } from "../model/json.ts";
import { ownPayload, type Payloads, specifiedBody, storedBody } from "../model/payload.ts";
import type { Entry } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Template } from "../model/template.ts";
import type { Rewrite, WaitingDeliveries } from "../model/waiting-deliveries.ts";
import { bodyOf } from "../webhook/body.ts";
import { fieldsOf, render } from "../webhook/template.ts";

/** By destination, for calls and for delete notifications; null: the default body. */
type Templates = ReadonlyMap<string, Pick<Destination, "template" | "noticeTemplate">>;

// Cached, because every request needs it. A reload makes a new list.
const known = new WeakMap<readonly Destination[], Templates | null>();

/** The templates by destination; null if there are none. */
export function templatesOf(destinations: readonly Destination[]): Templates | null {
  const found = known.get(destinations);
  if (found !== undefined) return found;
  const all = destinations.filter(({ template, noticeTemplate }) => template ?? noticeTemplate);
  const templates = all.length === 0 ? null : new Map(all.map((one) => [one.name, one]));
  known.set(destinations, templates);
  return templates;
}

/** The template by which a destination gets events of a type. */
export function templateFor(type: EventType, destination: string, templates: Templates): Template | null {
  const { template = null, noticeTemplate = null } = templates.get(destination) ?? {};
  return type === "delete" ? noticeTemplate : template;
}

/** Adds the payloads of the destinations that get an event. */
export function withPayloads(entry: Entry, templates: Templates, report: Pick<Report, "payloadShortened">): Entry {
  const { event, source, deliverTo } = entry;
  const wanted = deliverTo.flatMap((destination) => {
    const template = templateFor(event.type, destination, templates);
    return template ? [{ destination, template }] : [];
  });
  if (wanted.length === 0) return entry;
  const fields = fieldsOf(bodyOf(event), source);
  const payloads: Payloads = wanted.map(({ destination, template }) => {
    const { text, shortened } = render(template, fields);
    if (shortened) report.payloadShortened(destination, event.messageId);
    return [destination, text];
  });
  return { ...entry, body: storedBody(entry.body, payloads) };
}

/** Makes the payloads of deliveries that move to a destination with a template. */
export function withMovedPayloads(
  waiting: WaitingDeliveries,
  config: () => Pick<Config, "destinations" | "notify">,
  report: Pick<Report, "payloadShortened">,
): WaitingDeliveries {
  return {
    discard: waiting.discard,
    move(redirect, limit) {
      const templates = templatesOf(receiversOf(config()));
      if (!templates?.has(redirect.to)) return waiting.move(redirect, limit);
      return waiting.move({ ...redirect, rewrite: rewriteBy(templates, redirect.to, report) }, limit);
    },
  };
}

function rewriteBy(templates: Templates, to: string, report: Pick<Report, "payloadShortened">): Rewrite {
  return (stored, { source, type, messageId }) => {
    const template = templateFor(type, to, templates);
    if (template === null || ownPayload(stored, to) !== null) return stored;
    const body = specifiedBody(stored);
    const { text, shortened } = render(template, fieldsOf(parseExactly(body) as JsonObject, source));
    if (shortened) report.payloadShortened(to, messageId);
    return storedBody(body, [[to, text]]);
  };
}
