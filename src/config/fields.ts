/**
 * The kinds of value that a config file is made of. Their messages go on after the key (`log.level must be …`), and
 * hold nothing that a reference could have brought in. Their metadata is for the JSON Schema: what an editor can tell
 * from the text alone, which never refuses what the checks take. Their form is what the reference says of them.
 */
import * as v from "valibot";
import { formatDuration, formatSize, type Ms, parseDuration, parseSize } from "../model/units.ts";
import {
  LISTEN_FORMS,
  LISTEN_PATTERN,
  NETWORK_FORMS,
  NETWORK_PATTERN,
  parseListen,
  parseNetwork,
} from "./addresses.ts";
import { form, PATH_FORM } from "./key.ts";
import { suggest } from "./suggest.ts";

const DURATION_PATTERN = /^(\d+(\.\d+)?(ms|s|m|h|d)\s*)+$/;
const SIZE_PATTERN = /^\d+(\.\d+)?\s*([Bb]|[KMGTkmgt][Ii]?[Bb])?$/;
const DURATION_FORMS = "must be a duration, as in 250ms, 5s, 4h, 30d or 1h30m";
const ADDRESS_FORM = "`host:port`, `[v6]:port` or `unix:/path`";
const SIZE_FORMS = "must be a size, as in 512MB, 1.5GB or 1GiB";

/** Text that is not empty. */
export function text() {
  return v.pipe(anyText(), v.nonEmpty("must not be empty"));
}

/** The path of a file. A relative one starts at the folder of the config file. */
export function path() {
  return v.pipe(text(), form(PATH_FORM));
}

/** `pattern` accepts at least what the rule does; what is no text at all gets the message of `must`. */
type TextRule = { readonly pattern: RegExp; readonly must?: string; readonly is?: string };

/** Text that a rule accepts; the rule answers what is wrong, or null. */
export function ruled(rule: (text: string) => string | null, { pattern, must, is = "text" }: TextRule) {
  return v.pipe(
    anyText(must),
    v.metadata(written(pattern, must)),
    form(is),
    v.rawCheck(({ dataset, addIssue }) => {
      const fault = dataset.typed ? rule(dataset.value) : null;
      if (fault !== null) addIssue({ message: fault });
    }),
  );
}

/** Where to listen. */
export function address() {
  const message = `must be ${LISTEN_FORMS}`;
  return v.pipe(
    anyText(message),
    v.metadata(written(LISTEN_PATTERN, message)),
    form(ADDRESS_FORM),
    transformed(parseListen),
  );
}

/** An address, or a network in CIDR form. */
export function network() {
  const message = `must be ${NETWORK_FORMS}`;
  return v.pipe(anyText(message), v.metadata(written(NETWORK_PATTERN, message)), transformed(parseNetwork));
}

/** True or false. */
export function flag() {
  const message = "must be true or false";
  return v.pipe(v.boolean(message), v.metadata({ patternErrorMessage: message }), form("`true` or `false`"));
}

/** A whole number within bounds. */
export function count({ min, max }: { min: number; max: number }) {
  const message = `must be a whole number from ${min} to ${max}`;
  return v.pipe(
    v.number(message),
    v.metadata({ type: "integer", minimum: min, maximum: max, patternErrorMessage: message }),
    form(`whole number from ${min} to ${max}`),
    v.check((number) => Number.isInteger(number) && number >= min && number <= max, message),
  );
}

/** One of a few words. `also`: other spellings, and what each stands for. */
export function oneOf<const Word extends string>(words: readonly Word[], also: Readonly<Record<string, Word>> = {}) {
  const choice = v.picklist([...words, ...Object.keys(also)], ({ input }) => {
    const meant = typeof input === "string" ? suggest(input, words) : null;
    return `must be ${either(words)}${meant ? `: did you mean ${meant}?` : ""}`;
  });
  const standsFor = v.transform((word: string) => (Object.hasOwn(also, word) ? also[word] : word) as Word);
  return v.pipe(choice, form(either(words.map((word) => `\`${word}\``))), standsFor);
}

function either(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** `empty`: what is wrong with a list without items; left out, nothing is. `of`: what its items are, in the plural. */
type ListRule = { readonly of: string; readonly empty?: string; readonly max?: number; readonly example?: string };

/** A list. Its length is checked even if some items are wrong, unlike with valibot's checks. */
export function list<Item extends v.GenericSchema>(item: Item, rule: ListRule) {
  const { of, empty, max = Infinity, example = "[a, b]" } = rule;
  return v.pipe(
    v.array(item, `must be a list, as in ${example}`),
    form(`list of ${max < Infinity ? `at most ${max} ` : ""}${of}`),
    v.metadata({ ...(empty !== undefined && { minItems: 1 }), ...(max < Infinity && { maxItems: max }) }),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!Array.isArray(dataset.value)) return;
      if (dataset.value.length === 0 && empty !== undefined) addIssue({ message: empty });
      if (dataset.value.length > max) addIssue({ message: `may have at most ${max} entries` });
    }),
  );
}

/** A length of time such as `5s`, in milliseconds. With `min` 1 it must not be zero. */
export function duration({ min, max }: { min: 0 | 1; max: Ms }) {
  return v.pipe(
    v.union([v.string(), v.number()], "must be a duration, as in 5s"),
    v.metadata({ type: "string", ...written(DURATION_PATTERN, DURATION_FORMS) }),
    form(`duration up to ${formatDuration(max)}`),
    transformed(parse),
  );
  function parse(written: string | number): Ms | string {
    if (Number.isInteger(written)) return `must have a unit (ms, s, m, h or d): write ${written}s for seconds`;
    if (/^[\d.]+$/.test(String(written))) return "must have a unit (ms, s, m, h or d), as in 5s";
    const ms = parseDuration(String(written));
    if (ms === null) return DURATION_FORMS;
    if (ms < min) return "must be longer than 0s";
    return ms <= max ? ms : `must be at most ${formatDuration(max)}`;
  }
}

/** A number of bytes, such as `1GB`. */
export function size({ min, max }: { min: number; max: number }) {
  return v.pipe(
    v.union([v.string(), v.number()], "must be a size, as in 512MB"),
    v.metadata({ type: ["string", "number"], minimum: min, maximum: max, ...written(SIZE_PATTERN, SIZE_FORMS) }),
    form(`size from ${formatSize(min)} to ${formatSize(max)}`),
    transformed(parse),
  );
  function parse(written: string | number): number | string {
    const bytes = parseSize(String(written));
    if (bytes === null) return SIZE_FORMS;
    if (bytes < min) return `must be at least ${formatSize(min)}`;
    return bytes <= max ? bytes : `must be at most ${formatSize(max)}`;
  }
}

function anyText(must?: string) {
  return v.string(({ input }) => must ?? (isScalar(input) ? "must be text: put it in quotes" : "must be text"));
}

/** For editors: what the text looks like, and what to say if it does not. */
function written(pattern: RegExp, message?: string) {
  return { pattern: pattern.source, ...(message !== undefined && { patternErrorMessage: message }) };
}

function isScalar(input: unknown): boolean {
  return typeof input === "number" || typeof input === "boolean";
}

function transformed<In, Out extends object | number>(parse: (written: In) => Out | string) {
  return v.rawTransform<In, Out>(({ dataset, addIssue, NEVER }) => {
    const value = parse(dataset.value);
    if (typeof value !== "string") return value;
    addIssue({ message: value });
    return NEVER;
  });
}
