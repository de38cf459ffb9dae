import { DESTINATION_KIND, type Destination } from "../model/config.ts";
import type { Event, EventType, JsonObject, Routed, Skip } from "../model/event.ts";
import type { Filter } from "../model/filter.ts";
import type { SkipRule } from "../model/rules.ts";
import { DAY } from "../model/units.ts";
import { filterRule } from "./filter.ts";

/** An event that was older than this when it arrived is historical (SPEC.md 4.3 rule 5). */
const HISTORICAL_AGE = DAY;

/** Decides which destinations get the event, and which rule keeps it from the others (SPEC.md 1.1, 4.3 rule 4). */
export function route(event: Event, source: string, destinations: readonly Destination[]): Routed {
  const { skipsHistorical, filters, bySource } = plansFor(destinations);
  if (event.integrations !== undefined || (skipsHistorical && isHistorical(event))) {
    const decided = decide(event, source, destinations);
    return filters ? filtered(decided, event, filters) : decided;
  }
  const known = bySource.get(source) ?? {};
  bySource.set(source, known);
  const plan = known[event.type] ?? decide(event, source, destinations);
  known[event.type] = plan;
  return filters ? filtered(plan, event, filters) : plan;
}

/**
 * The decisions made for the destinations of a config. Events of one source and type get the same one, unless they have
 * integrations or are historical. With a hundred destinations, deciding again would cost more than all else.
 */
type Plans = {
  readonly skipsHistorical: boolean;
  /** By destination; null if none has one. */
  readonly filters: ReadonlyMap<string, Filter> | null;
  readonly bySource: Map<string, { [type in EventType]?: Routed }>;
};

const plans = new WeakMap<readonly Destination[], Plans>();

function plansFor(destinations: readonly Destination[]): Plans {
  const known = plans.get(destinations);
  if (known) return known;
  const skipsHistorical = destinations.some(({ historical }) => historical === "skip");
  const filters = new Map(destinations.flatMap(({ name, filter }) => (filter ? [[name, filter] as const] : [])));
  const made: Plans = { skipsHistorical, filters: filters.size > 0 ? filters : null, bySource: new Map() };
  plans.set(destinations, made);
  return made;
}

function decide(event: Event, source: string, destinations: readonly Destination[]): Routed {
  const deliverTo: string[] = [];
  const skipped: Skip[] = [];
  for (const destination of destinations) {
    const rule = skipRule(event, source, destination);
    if (rule === null) deliverTo.push(destination.name);
    else skipped.push({ destination: destination.name, rule });
  }
  return { deliverTo, skipped };
}

/** Asks the filters last: each event gets its own answer. */
function filtered(routed: Routed, event: Event, filters: ReadonlyMap<string, Filter>): Routed {
  const kept: Skip[] = [];
  const deliverTo = routed.deliverTo.filter((destination) => {
    const filter = filters.get(destination);
    const rule = filter ? filterRule(event, destination, filter) : null;
    if (rule !== null) kept.push({ destination, rule });
    return rule === null;
  });
  return kept.length === 0 ? routed : { deliverTo, skipped: [...routed.skipped, ...kept] };
}

/** The rule by which anything but its filter keeps an event from a destination; null if nothing does. */
export function skipRule(event: Event, source: string, destination: Destination): SkipRule | null {
  if (!destination.enabled) return "destination_disabled";
  if (destination.sources && !destination.sources.includes(source)) return "source_not_selected";
  // A deletion goes wherever the user's data may have gone, whatever is selected now.
  if (event.type === "delete") return null;
  if (destination.types && !destination.types.includes(event.type)) return "type_not_selected";
  if (event.integrations) {
    const rule = integrationRule(event.integrations, destination.name);
    if (rule) return rule;
  }
  if (destination.historical === "skip" && isHistorical(event)) return "historical";
  return null;
}

/** The most specific key decides: the destination's own name, else its kind, else `All`. Enabled without any of them. */
function integrationRule(integrations: JsonObject, name: string): SkipRule | null {
  const specific = choice(integrations, name) ?? choice(integrations, DESTINATION_KIND);
  if (specific !== null) return specific ? null : "integration_disabled";
  // The Go client, version 3, writes `all`.
  const all = choice(integrations, "All") ?? choice(integrations, "all");
  return all === false ? "all_integrations_disabled" : null;
}

/** The value of a key; null if it has none. An object with options counts as true. */
function choice(integrations: JsonObject, key: string): boolean | null {
  const value = Object.hasOwn(integrations, key) ? integrations[key] : null;
  if (value === null || value === undefined) return null;
  return value !== false;
}

function isHistorical(event: Event): boolean {
  return event.receivedAt - Date.parse(event.timestamp) > HISTORICAL_AGE;
}
