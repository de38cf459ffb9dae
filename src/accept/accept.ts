import type { Config } from "../model/config.ts";
import type { Delivery } from "../model/delivery.ts";
import type { Event, EventType } from "../model/event.ts";
import { fault, isFault } from "../model/fault.ts";
import type { Accept, Append, Entry, Extra, Receipt } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { MB, SECOND } from "../model/units.ts";
import type { Skip } from "../model/verdict.ts";
import { route } from "../route/route.ts";
import { writeBody } from "../webhook/body.ts";
import type { ArrivalsDesk } from "./arrivals.ts";

export type AcceptWorld = {
  /** The config in force, read anew for each call: a reload swaps it. */
  readonly config: () => Config;
  readonly append: Append;
  /** Starts the delivery of what was just committed. */
  readonly enqueue: (deliveries: readonly Delivery[]) => void;
  readonly arrivals: Pick<ArrivalsDesk, "saw">;
  readonly report: Report;
};

/** Characters of bodies that may wait for their commit together: with a slow disk, they would fill the memory. */
const MOST_UNCOMMITTED = 32 * MB;

const OVERLOADED = fault("overloaded", "calls come faster than the disk can take them; try again", SECOND);

/**
 * The one way in, for calls, audiences and deletions alike: each event is routed, its body is written once, both are
 * made durable in one commit, and its deliveries are set off. A caller may answer 2xx when this answers receipts, not before.
 */
export function createAccept({ config, append, enqueue, arrivals, report }: AcceptWorld): Accept {
  let uncommitted = 0;
  return async function accept(source, events, extras) {
    const prepared = events.map((event) => prepare(event, source, config()));
    const entries = extras ? prepared.map((entry, nth) => withExtra(entry, extras[nth])) : prepared;
    const size = entries.reduce((sum, { body }) => sum + body.length, 0);
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
    arrivals.saw(source, reportAccepted(source, { entries, receipts, report }));
    return receipts;
  };
}

/** What is stored of an event: its body, who gets it, and which rule kept it from the others. */
function prepare(event: Event, source: string, config: Config): Entry {
  const deliverTo: string[] = [];
  const skipped: Skip[] = [];
  for (const verdict of route(event, source, config.destinations)) {
    if (verdict.kind === "deliver") deliverTo.push(verdict.destination);
    else skipped.push({ destination: verdict.destination, rule: verdict.rule });
  }
  return { source, event, body: writeBody(event), deliverTo, skipped };
}

function withExtra(entry: Entry, { alsoTo = [], ...extra }: Extra = {}): Entry {
  const deliverTo = [...entry.deliverTo, ...alsoTo.filter((name) => !entry.deliverTo.includes(name))];
  const skipped = entry.skipped.filter(({ destination }) => !deliverTo.includes(destination));
  return { ...entry, ...extra, deliverTo, skipped };
}

type Accepted = { readonly entries: readonly Entry[]; readonly receipts: readonly Receipt[]; readonly report: Report };

/**
 * Reports what was accepted, and returns how many events that were. An event that no destination takes is reported with
 * the rules that decided: it must not vanish silently.
 */
function reportAccepted(source: string, { entries, receipts, report }: Accepted): number {
  const types: EventType[] = [];
  const unrouted: Entry[] = [];
  let duplicates = 0;
  receipts.forEach((receipt, index) => {
    const entry = entries[index];
    if (entry === undefined || receipt.kind === "suppressed") return;
    types.push(entry.event.type);
    if (receipt.kind === "duplicate") duplicates += 1;
    else if (entry.deliverTo.length === 0) unrouted.push(entry);
  });
  report.callsAccepted(source, types, duplicates);
  for (const { skipped } of unrouted) {
    report.eventUnrouted(
      source,
      skipped.map(({ rule }) => rule),
    );
  }
  return types.length;
}
