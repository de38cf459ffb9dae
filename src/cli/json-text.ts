import { formatProblem } from "../config/problems.ts";
import type { JsonObject } from "../model/event.ts";
import { isLongInteger, parseExactly } from "../model/exact-json.ts";
import { findJsonFault, placeOf } from "../model/json-fault.ts";

/**
 * Reads a JSON object that a person has written. `from` names the place it came from, as `--properties` or `call.json`.
 * Answers what is wrong as text: where, and with that line.
 */
export function readObject(text: string, from: string): JsonObject | string {
  const parsed = parse(text);
  if (parsed === null) return explain(text, from);
  const { value } = parsed;
  if (isObject(value)) return value;
  return `${from} must be a JSON object, as {"key":"value"} (got ${kindOf(value)})`;
}

type Parsed = { readonly value: unknown };

function parse(text: string): Parsed | null {
  try {
    const value = parseExactly(text);
    // What is nested very deeply can be read, and not be written again.
    JSON.stringify(value);
    return { value };
  } catch {
    return null;
  }
}

function explain(text: string, from: string): string {
  const fault = findJsonFault(text);
  if (fault === null) return `${from} nests objects and arrays too deeply`;
  const { line, column } = placeOf(text, fault.at);
  const message = `is not JSON: expected ${fault.expected} here${advice(text)}`;
  const shown = text.split("\n")[line - 1] ?? "";
  return formatProblem({ severity: "error", file: from, line, column, path: "", message, text: shown });
}

/** A shell takes double quotes away unless there are single quotes around them. */
function advice(text: string): string {
  return text.includes('"') || !/^\s*[{[]/.test(text) ? "" : "; in a shell, put single quotes around JSON";
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLongInteger(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (isLongInteger(value)) return "a number";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
