import { formatProblem } from "../config/problems.ts";
import type { JsonObject } from "../model/event.ts";
import { findJsonFault, isLongInteger, parseExactly, placeOf } from "../model/json.ts";
import type { Resolve } from "../model/ports.ts";
import { Secret } from "../model/secret.ts";
import { MB } from "../model/units.ts";
import { createResolve } from "../runtime/config-files.ts";
import { type Input, isInputTerminal, readInput } from "../runtime/input.ts";
import { printError } from "../runtime/output.ts";
import type { CallParts } from "./send/call.ts";

/** The option of commands that check signatures. */
export const SECRET_FILE_OPTION = [
  "--secret-file <file>",
  "the file with the shared secret (default: $FAIRLEAD_SECRET)",
] as const;

/** The shared secret of signatures. Null if none is given; an error as text. */
export function readSharedSecret(file: string | undefined): Secret | null | string {
  return readSecret({ option: "--secret-file", file, variable: "FAIRLEAD_SECRET" }, createResolve());
}

type SecretPlace = {
  /** The option that names a file. */
  readonly option: string;
  /** The file, if the option is there. */
  readonly file: string | undefined;
  /** The environment variable that is used without the option. */
  readonly variable: string;
};

/**
 * Reads a secret from a file, without its last newline, or from the environment. Null if neither is given; an error as text.
 * No option takes the secret itself: every user of the machine could read it in the process list.
 */
export function readSecret(place: SecretPlace, { env, file: read }: Resolve): Secret | null | string {
  const { option, file, variable } = place;
  if (file === undefined) {
    const value = env(variable);
    // Empty counts as not set, as in a shell.
    return value ? new Secret(value) : null;
  }
  const found = read(file);
  if (!found.ok) return `cannot read ${option} ${file}: ${found.why}`;
  const secret = found.text.replace(/\r?\n$/, "");
  return secret === "" ? `cannot use ${option} ${file}: it is empty` : new Secret(secret);
}

type Wanted = {
  /** What is read, as `the call`. */
  readonly what: string;
  /** In bytes. */
  readonly most: number;
};

/** Reads a file, or with `path` null standard input. At a terminal, prints that it waits for input. */
export function readTyped(path: string | null, { what, most }: Wanted): Promise<Input> {
  if (path === null && isInputTerminal()) printError(`type ${what}, then Enter and Ctrl-D\n`);
  return readInput(path, most);
}

/**
 * Reads a JSON object written by a person. `from` names its source, such as `--properties` or `call.json`. An error is
 * returned as text with its place and line.
 */
export function readObject(text: string, from: string): JsonObject | string {
  const parsed = parse(text);
  if (parsed === null) return explain(text, from);
  const { value } = parsed;
  if (isObject(value)) return value;
  return `${from} must be a JSON object, such as {"key":"value"} (got ${kindOf(value)})`;
}

type Parsed = { readonly value: unknown };

function parse(text: string): Parsed | null {
  try {
    const value = parseExactly(text);
    // JSON that nests very deeply can be parsed but not serialised.
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

/** A shell removes double quotes that are not inside single quotes. */
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

/** Far more than the daemon accepts for one call; the daemon itself refuses calls that are too large. */
const MOST_BYTES = MB;

/** Reads the value of `--data`: the text itself, `@file`, or `-` for standard input. An error as text. */
export async function readData(value: string | undefined): Promise<CallParts["data"] | string> {
  if (value === undefined) return null;
  if (value !== "-" && !value.startsWith("@")) return { text: value, from: "--data" };
  const path = value === "-" ? null : value.slice(1);
  const from = path ?? "standard input";
  const input = await readTyped(path, { what: "the call", most: MOST_BYTES });
  if (!input.ok) return `cannot read --data ${value}: ${input.why}`;
  const text = decodeText(input.bytes);
  return text === null ? `cannot use --data ${value}: it is not UTF-8 text` : { text, from };
}

/** Null if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
