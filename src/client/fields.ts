import { suggest } from "../config/suggest.ts";
import type { CallType } from "../model/event.ts";
import { printable } from "./show.ts";

const COMMON = ["context", "integrations", "timestamp", "messageId"];
const WHO = ["userId", "anonymousId"];
const VIEW = ["name", "category", "properties"];

const KNOWN: Readonly<Record<CallType, ReadonlySet<string>>> = {
  identify: new Set([...WHO, "traits", ...COMMON]),
  track: new Set([...WHO, "event", "properties", ...COMMON]),
  page: new Set([...WHO, ...VIEW, "traits", ...COMMON]),
  screen: new Set([...WHO, ...VIEW, ...COMMON]),
  group: new Set([...WHO, "groupId", "traits", ...COMMON]),
  alias: new Set(["userId", "previousId", ...COMMON]),
};

/** A call that an error or a report has given back has its type in it. */
const IGNORED = "type";

/** What one call has and another has not. */
const ELSEWHERE: Readonly<Record<string, string>> = { properties: "traits", traits: "properties" };

/** Fields that a program makes up as it goes must not fill the memory. */
const MOST_REMEMBERED = 100;

/**
 * Warns programs in JavaScript, as the compiler does in TypeScript: a field that the call does not have is left out. Each is logged
 * once, on standard error. It throws nothing: an unknown field is no reason to lose the call.
 */
export function createFieldCheck(log: (line: string) => void): (type: CallType, call: object) => void {
  const told = new Set<string>();
  return (type, call) => {
    const known = KNOWN[type];
    for (const field of Object.keys(call)) {
      if (known.has(field) || field === IGNORED) continue;
      const about = `${type} ${field}`;
      if (told.has(about) || told.size >= MOST_REMEMBERED) continue;
      told.add(about);
      log(printable(`analytics: ${unknownField(type, field)}`));
    }
  };
}

function unknownField(type: CallType, field: string): string {
  const known = [...KNOWN[type]];
  const other = ELSEWHERE[field];
  const near = other !== undefined && known.includes(other) ? other : suggest(field, known);
  const hint = near === null ? `its fields are ${known.join(", ")}` : `did you mean ${near}?`;
  return `${type} has no field ${JSON.stringify(field.slice(0, MOST_SHOWN))}, which is left out: ${hint}`;
}

const MOST_SHOWN = 100;
