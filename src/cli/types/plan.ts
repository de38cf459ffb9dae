import { suggest } from "../../config/suggest.ts";
import { isLongInteger } from "../../model/json.ts";
import type { Path, PlanFault } from "./places.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A schema, and where it stands in the plan. */
export type Planned = { readonly schema: unknown; readonly path: Path; readonly description?: unknown };

export type Plan = {
  /** The properties of each event; null for an event that has none. */
  readonly events: ReadonlyMap<string, Planned>;
  readonly traits: Planned | null;
  readonly groupTraits: Planned | null;
  readonly faults: readonly PlanFault[];
};

const KEYS = ["events", "traits", "groupTraits", "$defs", "definitions"];
const ABOUT_IT = ["$schema", "$id", "$comment", "title", "name", "description", "version"];

/** Reads our own form, or that of Segment and RudderStack, which has `rules` of whole calls. */
export function readPlan(plan: Fields): Plan {
  if ("rules" in plan && !("events" in plan)) return readRules(plan.rules, ["rules"]);
  const faults: PlanFault[] = [];
  for (const key of Object.keys(plan)) {
    if ([...KEYS, ...ABOUT_IT].includes(key)) continue;
    const near = suggest(key, KEYS);
    const hint = near === null ? `there are ${KEYS.join(", ")}` : `did you mean ${near}?`;
    faults.push({ path: [key], on: "key", message: `is not a key of a plan: ${hint}` });
  }
  const { events } = plan;
  if (events === undefined && faults.length === 0) {
    faults.push({ path: [], on: "value", message: 'the plan has no "events"' });
  }
  if (events !== undefined && !isObject(events)) {
    faults.push({
      path: ["events"],
      on: "value",
      message: `must have a schema for each name of an event (got ${show(events)})`,
    });
  }
  const names = isObject(events) ? Object.entries(events) : [];
  return {
    events: new Map(names.map(([name, schema]) => [name, { schema, path: ["events", name] }])),
    traits: at(plan, "traits"),
    groupTraits: at(plan, "groupTraits"),
    faults,
  };
}

function at(plan: Fields, key: "traits" | "groupTraits"): Planned | null {
  return plan[key] === undefined ? null : { schema: plan[key], path: [key] };
}

/** A rule is a schema of a whole call, in which that of the properties stands under `properties.properties`. */
type Rule = {
  readonly type: string;
  readonly name: unknown;
  readonly schema: unknown;
  readonly path: Path;
  readonly description: unknown;
};

function readRules(rules: unknown, path: Path): Plan {
  const faults: PlanFault[] = [];
  const events = new Map<string, Planned>();
  let traits: Planned | null = null;
  let groupTraits: Planned | null = null;
  for (const rule of listRules(rules, path, faults)) {
    if (rule.type === "track" && typeof rule.name !== "string") {
      faults.push({ path: rule.path, on: "value", message: "the rule has no event name" });
    } else if (rule.type === "track") {
      events.set(String(rule.name), within(rule, "properties"));
    } else if (rule.type === "identify") traits = within(rule, "traits");
    else if (rule.type === "group") groupTraits = within(rule, "traits");
  }
  return { events, traits, groupTraits, faults };
}

/** A list of `{ type, key, jsonSchema }`, or an object with a list of `{ name, rules }` as `events`, and with `identify` and `group`. */
function listRules(rules: unknown, path: Path, faults: PlanFault[]): readonly Rule[] {
  if (Array.isArray(rules)) return rules.map((rule, index) => readRule(rule, [...path, index]));
  if (!isObject(rules)) {
    faults.push({ path, on: "value", message: `must be a list of rules, or an object (got ${show(rules)})` });
    return [];
  }
  const { events = [] } = rules;
  if (!Array.isArray(events))
    faults.push({ path: [...path, "events"], on: "value", message: `must be a list (got ${show(events)})` });
  const tracked = Array.isArray(events) ? events : [];
  const others = ["identify", "group"].filter((type) => isObject(rules[type]));
  return [
    ...tracked.map((rule, index) => readRule(rule, [...path, "events", index])),
    ...others.map((type) => ({ type, name: null, schema: rules[type], path: [...path, type], description: undefined })),
  ];
}

function readRule(rule: unknown, path: Path): Rule {
  const {
    type = "track",
    key,
    name = key,
    eventName = name,
    jsonSchema,
    rules,
    description,
  } = isObject(rule) ? rule : {};
  const [schema, under] = jsonSchema === undefined ? [rules, "rules"] : [jsonSchema, "jsonSchema"];
  return { type: String(type).toLowerCase(), name: eventName, schema, path: [...path, under], description };
}

function within({ schema, path, description }: Rule, field: "properties" | "traits"): Planned {
  const call = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  const found = call[field];
  // A rule that says nothing of them allows any.
  if (found === undefined) return { schema: {}, path, description };
  return { schema: found, path: [...path, "properties", field], description };
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLongInteger(value);
}

const MOST_SHOWN = 60;

/** A value of the plan, for a message. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}
