/**
 * The kinds of value in a config file. A message follows the key (`log.level must be …`) and holds nothing that a
 * reference could have brought in. `editor` adds what an editor can tell from the text alone; it never refuses what the
 * checks accept.
 */
import * as v from "valibot";
import { formatDuration, formatSize, type Ms, parseDuration, parseRate, parseSize, SECOND } from "../model/units.ts";
import {
  LISTEN_FORMS,
  LISTEN_PATTERN,
  NETWORK_FORMS,
  NETWORK_PATTERN,
  parseListen,
  parseNetwork,
} from "./addresses.ts";
import { PATH_FORM } from "./key.ts";
import { suggest } from "./suggest.ts";
import type { TextRule } from "./text-rules.ts";

/** Text that is not empty. */
export function text() {
  return v.pipe(anyText(), v.nonEmpty("must not be empty"));
}

/** The path of a file. */
export function path() {
  return v.pipe(text(), v.metadata({ form: PATH_FORM }));
}

/** Text that a rule accepts. */
export function ruled({ fault, pattern, must, form = "text" }: TextRule) {
  return v.pipe(
    anyText(must),
    v.metadata({ form, ...editor(pattern, must) }),
    v.rawCheck(({ dataset, addIssue }) => {
      const message = dataset.typed ? fault(dataset.value) : null;
      if (message !== null) addIssue({ message });
    }),
  );
}

/** Where to listen. */
export function address() {
  const message = `must be ${LISTEN_FORMS}`;
  const form = "`host:port`, `[v6]:port` or `unix:/path`";
  return v.pipe(anyText(message), v.metadata({ form, ...editor(LISTEN_PATTERN, message) }), transformed(parseListen));
}

/** An address, or a network in CIDR form. */
export function network() {
  const message = `must be ${NETWORK_FORMS}`;
  return v.pipe(anyText(message), v.metadata(editor(NETWORK_PATTERN, message)), transformed(parseNetwork));
}

export function flag() {
  const message = "must be true or false";
  return v.pipe(v.boolean(message), v.metadata({ form: "`true` or `false`", patternErrorMessage: message }));
}

/** A whole number within bounds. */
export function count({ min, max }: { min: number; max: number }) {
  const form = `whole number from ${min} to ${max}`;
  const message = `must be a ${form}`;
  return v.pipe(
    v.number(message),
    v.metadata({ form, type: "integer", minimum: min, maximum: max, patternErrorMessage: message }),
    v.check((number) => Number.isInteger(number) && number >= min && number <= max, message),
  );
}

/** One of a few words. `also`: other spellings, and the word that each stands for. */
export function oneOf<const Word extends string>(words: readonly Word[], also: Readonly<Record<string, Word>> = {}) {
  const choice = v.picklist([...words, ...Object.keys(also)], ({ input }) => {
    const meant = typeof input === "string" ? suggest(input, words) : null;
    return `must be ${either(words)}${meant ? `: did you mean ${meant}?` : ""}`;
  });
  const form = either(words.map((word) => `\`${word}\``));
  const standsFor = v.transform((word: string) => (Object.hasOwn(also, word) ? also[word] : word) as Word);
  return v.pipe(choice, v.metadata({ form }), standsFor);
}

function either(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** `of`: the items, in the plural. `empty`: the message for an empty list; left out, a list may be empty. */
type ListRule = { readonly of: string; readonly empty?: string; readonly max?: number; readonly example?: string };

/** A list. Its length is checked even if some items are wrong, unlike with valibot's checks. */
export function list<Item extends v.GenericSchema>(item: Item, rule: ListRule) {
  const { of, empty, max = Infinity, example = "[a, b]" } = rule;
  const bounds = { ...(empty !== undefined && { minItems: 1 }), ...(max < Infinity && { maxItems: max }) };
  return v.pipe(
    v.array(item, `must be a list, as in ${example}`),
    v.metadata({ form: `list of ${max < Infinity ? `at most ${max} ` : ""}${of}`, ...bounds }),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!Array.isArray(dataset.value)) return;
      if (dataset.value.length === 0 && empty !== undefined) addIssue({ message: empty });
      if (dataset.value.length > max) addIssue({ message: `may have at most ${max} entries` });
    }),
  );
}

const DURATION_PATTERN = /^(\d+(\.\d+)?(ms|s|m|h|d)\s*)+$/;
const DURATION_FORMS = "must be a duration, as in 250ms, 5s, 4h, 30d or 1h30m";

/** A duration such as `5s`, in milliseconds. With `min` 1 it must not be zero. */
export function duration({ min, max }: { min: 0 | 1; max: Ms }) {
  const form = `duration up to ${formatDuration(max)}`;
  return v.pipe(
    v.union([v.string(), v.number()], "must be a duration, as in 5s"),
    v.metadata({ form, type: "string", ...editor(DURATION_PATTERN, DURATION_FORMS) }),
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

const SIZE_PATTERN = /^\d+(\.\d+)?\s*([Bb]|[KMGTkmgt][Ii]?[Bb])?$/;
const SIZE_FORMS = "must be a size, as in 512MB, 1.5GB or 1GiB";

/** A number of bytes, such as `1GB`. */
export function size({ min, max }: { min: number; max: number }) {
  const form = `size from ${formatSize(min)} to ${formatSize(max)}`;
  const bounds = { type: ["string", "number"], minimum: min, maximum: max };
  return v.pipe(
    v.union([v.string(), v.number()], "must be a size, as in 512MB"),
    v.metadata({ form, ...bounds, ...editor(SIZE_PATTERN, SIZE_FORMS) }),
    transformed(parse),
  );
  function parse(written: string | number): number | string {
    const bytes = parseSize(String(written));
    if (bytes === null) return SIZE_FORMS;
    if (bytes < min) return `must be at least ${formatSize(min)}`;
    return bytes <= max ? bytes : `must be at most ${formatSize(max)}`;
  }
}

const PORTION_PATTERN = /^(\d+(\.\d+)?\s*([Bb]|[KMGTkmgt][Ii]?[Bb])?|\d{1,3}(\.\d{1,3})?%)$/;
const PORTION_FORMS = "must be a share or a size, as in 20% or 200MB";

/** A share of something else, such as `20%`, or a size of at least `min` bytes. */
export function portion({ min }: { min: number }) {
  const form = `share up to 100%, or size from ${formatSize(min)}`;
  return v.pipe(
    v.union([v.string(), v.number()], PORTION_FORMS),
    v.metadata({ form, type: ["string", "number"], minimum: min, ...editor(PORTION_PATTERN, PORTION_FORMS) }),
    transformed(parse),
  );
  function parse(written: string | number): { readonly share: number } | { readonly bytes: number } | string {
    const text = String(written);
    if (!PORTION_PATTERN.test(text)) return PORTION_FORMS;
    if (!text.endsWith("%")) {
      const bytes = parseSize(text) ?? 0;
      return bytes >= min ? { bytes } : `must be at least ${formatSize(min)}, or a share, as in 20%`;
    }
    const share = Number.parseFloat(text) / 100;
    return share > 0 && share <= 1 ? { share } : "must be more than 0% and at most 100%";
  }
}

const RATE_PATTERN = /^\d{1,9}\s*\/\s*[smh]$/;
const RATE_FORMS = "must be a rate, as in 50/s, 30/m or 100/h";

/** So many in a second, a minute or an hour, at most `max` in a second. `none`: what to do for none at all. */
export function rate({ max, none }: { max: number; none: string }) {
  return v.pipe(
    v.union([v.string(), v.number()], RATE_FORMS),
    v.metadata({ form: `rate up to ${max}/s`, type: "string", ...editor(RATE_PATTERN, RATE_FORMS) }),
    transformed(parse),
  );
  function parse(written: string | number): { readonly count: number; readonly per: Ms } | string {
    if (Number.isInteger(written)) return `must say in which time: write ${written}/s for a second`;
    const parsed = parseRate(String(written));
    if (parsed === null) return RATE_FORMS;
    if (parsed.count === 0) return `must be more than 0: ${none}`;
    return parsed.count / parsed.per <= max / SECOND ? parsed : `must be at most ${max}/s`;
  }
}

function anyText(must?: string) {
  return v.string(({ input }) => {
    const isScalar = typeof input === "number" || typeof input === "boolean";
    return must ?? (isScalar ? "must be text: put it in quotes" : "must be text");
  });
}

function editor(pattern: RegExp, message?: string) {
  return { pattern: pattern.source, ...(message !== undefined && { patternErrorMessage: message }) };
}

function transformed<In, Out extends object | number>(parse: (written: In) => Out | string) {
  return v.rawTransform<In, Out>(({ dataset, addIssue, NEVER }) => {
    const value = parse(dataset.value);
    if (typeof value !== "string") return value;
    addIssue({ message: value });
    return NEVER;
  });
}

/** A path as valibot has it, for an issue inside of `input`. */
export function issuePath(
  path: readonly (string | number)[],
  input: unknown,
): [v.IssuePathItem, ...v.IssuePathItem[]] | undefined {
  const [first, ...rest] = path.map((key) => ({ type: "unknown", origin: "value", input, key, value: null }) as const);
  return first && [first, ...rest];
}
