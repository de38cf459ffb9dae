import { DESTINATION_KIND, type Destination } from "../model/config.ts";
import type { Event, JsonObject, SkipRule, Verdict } from "../model/event.ts";
import { DAY } from "../model/units.ts";

/** An event that was older than this when it arrived is historical (SPEC.md 4.3 rule 5). */
const HISTORICAL_AGE = DAY;

/** Decides for each destination whether it gets the event, or which rule skips it (SPEC.md 1.1, 4.3 rule 4). */
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
