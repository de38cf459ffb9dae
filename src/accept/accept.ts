import type { Config, Destination } from "../model/config.ts";
import type { Delivery } from "../model/delivery.ts";
import type { Event, EventType, Routed } from "../model/event.ts";
import { fault, isFault } from "../model/fault.ts";
import type { Observer } from "../model/observer.ts";
import type { Accept, Append, Entry, Extra, Receipt } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { MB, SECOND } from "../model/units.ts";
import { route } from "../route/route.ts";
import { writeBody } from "../webhook/body.ts";
import { templatesOf, withPayloads } from "./payloads.ts";

export type AcceptWorld = {
  /** The config in force. A function, because a reload replaces it. */
  readonly config: () => Config;
  readonly append: Append;
  /** Hands deliveries that were just committed to the delivery loops. */
  readonly enqueue: (deliveries: readonly Delivery[]) => void;
  readonly observer: Pick<Observer, "accepted">;
  readonly report: Report;
};

/** The most characters of bodies that wait for their commit. Without a bound, a slow disk would let them fill the memory. */
const MOST_UNCOMMITTED = 32 * MB;

const OVERLOADED = fault("overloaded", "calls arrive faster than the disk can store them; try again", SECOND);

/**
 * The only way in, for calls, audiences and deletions alike. It routes each event, writes its body once, makes all of
 * them durable in one commit, and hands their deliveries over to delivery. A caller may answer 2xx only after this has
 * returned receipts.
 */
export function createAccept({ config, append, enqueue, observer, report }: AcceptWorld): Accept {
  let uncommitted = 0;
  return async function accept(source, events, extras) {
    const { destinations } = config();
    const prepared = events.map((event) => prepare(event, source, destinations));
    const routed = extras ? prepared.map((entry, nth) => withExtra(entry, extras[nth], destinations)) : prepared;
    const templates = templatesOf(destinations);
    const entries = templates ? routed.map((entry) => withPayloads(entry, templates, report)) : routed;
    const size = entries.reduce((sum, { body }) => sum + body.length, 0);
    // A single request is always accepted, whatever its size.
    if (uncommitted > 0 && uncommitted + size > MOST_UNCOMMITTED) return OVERLOADED;
    uncommitted += size;
    let receipts: Awaited<ReturnType<Append>>;
    try {
      receipts = await append(entries);
    } finally {
      uncommitted -= size;
    }
    if (isFault(receipts)) return receipts;
    for (const receipt of receipts) if (receipt.kind === "accepted") enqueue(receipt.deliveries);
    const count = reportAccepted(source, { entries, receipts, report });
    observer.accepted(source, { entries, receipts, count });
    return receipts;
  };
}

/** Routes an event and writes its body: what is stored, who gets it, and which rule excludes the others. */
function prepare(event: Event, source: string, destinations: readonly Destination[]): Entry {
  const { deliverTo, skipped } = route(event, source, destinations);
  return { source, event, body: writeBody(event), deliverTo, skipped };
}

/** Adds what the caller knows about an event beyond the event itself. */
function withExtra(entry: Entry, extra: Extra | undefined, destinations: readonly Destination[]): Entry {
  const { alsoTo = [], testOf, notification, ...rest } = extra ?? {};
  if (notification !== undefined) {
    const { to, body } = notification;
    return { ...entry, body, deliverTo: [to], skipped: [] };
  }
  if (testOf !== undefined) return { ...entry, ...rest, ...routeTest(testOf, destinations) };
  const deliverTo = [...entry.deliverTo, ...alsoTo.filter((name) => !entry.deliverTo.includes(name))];
  const skipped = entry.skipped.filter(({ destination }) => !deliverTo.includes(destination));
  return { ...entry, ...rest, deliverTo, skipped };
}

function routeTest(destination: string, destinations: readonly Destination[]): Routed {
  const others = destinations.map(({ name }) => name).filter((name) => name !== destination);
  return { deliverTo: [destination], skipped: others.map((name) => ({ destination: name, rule: "test_of_another" })) };
}

type Committed = { readonly entries: readonly Entry[]; readonly receipts: readonly Receipt[]; readonly report: Report };

/**
 * Counts the events that are durable now, repeats included. An event that no destination gets is reported with the
 * rules that decided so: it must not vanish silently.
 */
function reportAccepted(source: string, { entries, receipts, report }: Committed): number {
  const types: EventType[] = [];
  let duplicates = 0;
  entries.forEach(({ event }, nth) => {
    const kind = receipts[nth]?.kind;
    if (kind !== "suppressed") types.push(event.type);
    if (kind === "duplicate") duplicates += 1;
  });
  report.callsAccepted(source, types, duplicates);
  entries.forEach(({ deliverTo, skipped }, nth) => {
    if (deliverTo.length > 0 || receipts[nth]?.kind !== "accepted") return;
    const rules = skipped.map(({ rule }) => rule);
    report.eventUnrouted(source, rules);
  });
  return types.length;
}
