import { DESTINATION_KIND, type Destination } from "../model/destination.ts";
import type { Event, JsonObject } from "../model/event.ts";
import { DAY } from "../model/units.ts";
import type { SkipRule, Verdict } from "../model/verdict.ts";

/** An event that was older than this when it came in is history (SPEC.md 4.3 rule 5). */
const HISTORICAL_AGE = DAY;

/** Decides for each destination whether it gets the event, or which rule keeps it away (SPEC.md 1.1, 4.3 rule 4). */
export function route(event: Event, source: string, destinations: readonly Destination[]): readonly Verdict[] {
  return destinations.map((destination) => {
    const rule = skipRule(event, source, destination);
    if (rule) return { kind: "skip", destination: destination.name, rule };
    return { kind: "deliver", destination: destination.name };
  });
}

function skipRule(event: Event, source: string, destination: Destination): SkipRule | null {
  if (!destination.enabled) return "destination_disabled";
  if (destination.sources && !destination.sources.includes(source)) return "source_not_selected";
  // A deletion is not a call: it goes wherever the user's data may have gone, whatever was selected since.
  if (event.type === "delete") return null;
  if (destination.types && !destination.types.includes(event.type)) return "type_not_selected";
  if (event.integrations) {
    const rule = integrationRule(event.integrations, destination.name);
    if (rule) return rule;
  }
  if (destination.historical === "skip" && isHistorical(event)) return "historical";
  return null;
}

/** The most particular key decides: the destination's own name, else its kind, else `All`; without any it is enabled. */
function integrationRule(integrations: JsonObject, name: string): SkipRule | null {
  const particular = choice(integrations, name) ?? choice(integrations, DESTINATION_KIND);
  if (particular !== null) return particular ? null : "integration_disabled";
  // The Go client, version 3, writes `all`.
  const all = choice(integrations, "All") ?? choice(integrations, "all");
  return all === false ? "all_integrations_disabled" : null;
}

/** What a key says: null if nothing. Options in an object mean that the destination is wanted. */
function choice(integrations: JsonObject, key: string): boolean | null {
  const value = Object.hasOwn(integrations, key) ? integrations[key] : null;
  if (value === null || value === undefined) return null;
  return value !== false;
}

function isHistorical(event: Event): boolean {
  return event.receivedAt - Date.parse(event.timestamp) > HISTORICAL_AGE;
}
