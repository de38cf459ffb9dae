import type { Config } from "../model/config.ts";
import type { Delivery } from "../model/delivery.ts";
import type { Event, EventType, Skip } from "../model/event.ts";
import { fault, isFault } from "../model/fault.ts";
import type { Accept, Append, Entry, Extra, Receipt } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { MB, SECOND } from "../model/units.ts";
import { route } from "../route/route.ts";
import { writeBody } from "../webhook/body.ts";
import type { ArrivalCounter } from "./arrivals.ts";

export type AcceptWorld = {
  /** The config in force. A function, because a reload replaces it. */
  readonly config: () => Config;
  readonly append: Append;
  /** Hands deliveries that were just committed to the delivery loops. */
  readonly enqueue: (deliveries: readonly Delivery[]) => void;
  readonly arrivals: Pick<ArrivalCounter, "count">;
  readonly report: Report;
};

/** The most characters of bodies that wait for their commit. Without a bound, a slow disk would let them fill the memory. */
const MOST_UNCOMMITTED = 32 * MB;

const OVERLOADED = fault("overloaded", "calls come faster than the disk can take them; try again", SECOND);

/**
 * The only way in, for calls, audiences and deletions alike: routes each event, writes its body once, makes all of them durable
 * in one commit, and hands their deliveries on. The caller may answer 2xx once this answers receipts, not before.
 */
export function createAccept({ config, append, enqueue, arrivals, report }: AcceptWorld): Accept {
  let uncommitted = 0;
  return async function accept(source, events, extras) {
    const prepared = events.map((event) => prepare(event, source, config()));
    const entries = extras ? prepared.map((entry, nth) => withExtra(entry, extras[nth])) : prepared;
    const size = entries.reduce((sum, { body }) => sum + body.length, 0);
    // One request alone is always accepted, whatever its size.
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
    reportAccepted(source, { entries, receipts, report });
    arrivals.count(source, receipts.filter(({ kind }) => kind !== "suppressed").length);
    return receipts;
  };
}

/** Routes an event and writes its body: what is stored of it, who gets it, and which rule keeps it from the others. */
function prepare(event: Event, source: string, config: Config): Entry {
  const deliverTo: string[] = [];
  const skipped: Skip[] = [];
  for (const verdict of route(event, source, config.destinations)) {
    if (verdict.kind === "deliver") deliverTo.push(verdict.destination);
    else skipped.push({ destination: verdict.destination, rule: verdict.rule });
  }
  return { source, event, body: writeBody(event), deliverTo, skipped };
}

/** Adds what the caller knows of an event beside the event itself. */
function withExtra(entry: Entry, { alsoTo = [], ...extra }: Extra = {}): Entry {
  const deliverTo = [...entry.deliverTo, ...alsoTo.filter((name) => !entry.deliverTo.includes(name))];
  const skipped = entry.skipped.filter(({ destination }) => !deliverTo.includes(destination));
  return { ...entry, ...extra, deliverTo, skipped };
}

type Committed = { readonly entries: readonly Entry[]; readonly receipts: readonly Receipt[]; readonly report: Report };

/** An event that no destination gets is reported with the rules that decided: it must not vanish silently. */
function reportAccepted(source: string, { entries, receipts, report }: Committed): void {
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
}
