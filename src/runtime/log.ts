import {
  getAnsiColorFormatter,
  getLogfmtFormatter,
  getTextFormatter,
  type LogRecord,
  type TextFormatter,
  type TextFormatterOptions,
} from "@logtape/logtape";
import { LOG_LEVELS, type LogFormat, type LogLevel } from "../model/config.ts";
import type { Clock } from "../model/ports.ts";
import type { Secret } from "../model/secret.ts";
import { type Duration, formatDuration } from "../model/units.ts";

export type Log = {
  /** Whether lines of this level are written: check before computing costly fields. */
  enabled(level: LogLevel): boolean;
  /** Writes one line: the name of what happened (`delivery.expired`), and its fields. Empty fields are left out. */
  line(level: LogLevel, name: string, fields: Fields): void;
  /** Changes level and format, for a reload. */
  configure(settings: LogSettings): void;
};

type LogSettings = { readonly level: LogLevel; readonly format: LogFormat };

export type LogOptions = LogSettings & {
  /** Writes one complete line with its newline. Exceptions are passed on to `line`. */
  readonly write: (line: string) => void;
  readonly isTerminal: boolean;
  /** Whether the format `text` is coloured on a terminal. */
  readonly colors?: boolean;
  /** The lines go to systemd's journal, which adds the time and reads the priority at the head of each. */
  readonly journald: boolean;
  /** The time on the lines; the machine's clock if left out. */
  readonly wall?: Clock["wall"];
};

export type Fields = Readonly<Record<string, Field>>;
type Field = string | number | boolean | readonly string[] | Duration | Secret | null | undefined;

/**
 * The format `auto` is `text` on a terminal, else `logfmt`. LogTape's own configuration belongs to the whole process. Only
 * its formatters are used, so that there can be several logs, each with its level.
 */
export function createLog(options: LogOptions): Log {
  const wall = options.wall ?? Date.now;
  let enabled = levelsFrom(options.level);
  let format = createFormat(options);
  let isJson = options.format === "json";
  return {
    enabled: (level) => enabled.has(level),
    line(level, name, fields) {
      if (!enabled.has(level)) return;
      options.write(format(toRecord({ level, name, fields, at: wall() }, isJson)));
    },
    configure(settings) {
      enabled = levelsFrom(settings.level);
      format = createFormat({ ...options, ...settings });
      isJson = settings.format === "json";
    },
  };
}

function levelsFrom(level: LogLevel): ReadonlySet<string> {
  return new Set(LOG_LEVELS.slice(LOG_LEVELS.indexOf(level)));
}

/** Priorities that systemd reads at the head of a line, see sd-daemon(3). */
const JOURNAL_PRIORITY: Readonly<Record<string, string>> = { error: "<3>", warning: "<4>", info: "<6>", debug: "<7>" };

function createFormat({ format, isTerminal, colors = false, journald }: LogOptions): TextFormatter {
  // A shell that a service started inherits the journal's variable, but its terminal is not the journal.
  if (!journald || isTerminal) return createShape(format, { isTerminal, colors, timed: true });
  const shape = createShape(format, { isTerminal: false, colors: false, timed: false });
  return (record) => `${JOURNAL_PRIORITY[record.level]}${shape(record)}`;
}

type Place = { readonly isTerminal: boolean; readonly colors: boolean; readonly timed: boolean };

function createShape(format: LogFormat, { isTerminal, colors, timed }: Place): TextFormatter {
  if (format === "json") return (record) => jsonLine(record, timed);
  if (format === "logfmt" || (format === "auto" && !isTerminal)) return (record) => logfmtLine(record, timed);
  const options: TextFormatterOptions = {
    timestamp: timed ? "rfc3339" : "none",
    level: (level) => level.padEnd("warning".length),
    format: ({ timestamp, level, message, record }) =>
      `${timestamp === null ? "" : `${timestamp} `}${level} ${message}${pairs(record.properties)}`,
  };
  return colors ? getAnsiColorFormatter(options) : getTextFormatter(options);
}

function jsonLine({ timestamp, level, rawMessage, properties }: LogRecord, timed: boolean): string {
  const time = timed ? { time: new Date(timestamp).toISOString() } : {};
  return `${escapeUnseen(JSON.stringify({ ...time, level, msg: rawMessage, ...properties }))}\n`;
}

function logfmtLine({ timestamp, level, rawMessage, properties }: LogRecord, timed: boolean): string {
  const time = timed ? `time=${new Date(timestamp).toISOString()} ` : "";
  return `${time}level=${level} msg=${rawMessage}${pairs(properties)}\n`;
}

const logfmt = getLogfmtFormatter();
const BLANK: LogRecord = { category: [], level: "info", message: [""], rawMessage: "", timestamp: 0, properties: {} };
const HEAD_LENGTH = logfmt(BLANK).length - 1;

/** The fields as ` key=value key="quoted value"`. LogTape quotes; the head that it puts before them is cut off. */
function pairs(properties: Record<string, unknown>): string {
  return escapeUnseen(logfmt({ ...BLANK, properties }).slice(HEAD_LENGTH, -1));
}

/** The same characters as `printable` of the client library, which is published alone. A test holds them equal. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes characters that end a line, turn its direction or are not seen, and that JSON and logfmt leave as they are. */
function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => character.split("").map(escapeUnit).join(""));
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

type Line = { readonly level: LogLevel; readonly name: string; readonly fields: Fields; readonly at: number };

function toRecord({ level, name, fields, at }: Line, isJson: boolean): LogRecord {
  const properties: Record<string, string | number | boolean> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value === null || value === undefined) continue;
    // A field must not be mistaken for the line's own time, level or name.
    const own = OWN_KEYS.has(key) ? `${key}_` : key;
    if (!isDuration(value)) properties[own] = printable(key, value);
    else if (isJson) properties[`${own}_ms`] = value.ms;
    else properties[own] = `${value.ms < 0 ? "-" : ""}${formatDuration(Math.abs(value.ms))}`;
  }
  return { category: [], level, message: [name], rawMessage: name, timestamp: at, properties };
}

const OWN_KEYS: ReadonlySet<string> = new Set(["time", "level", "msg"]);

function isDuration(value: NonNullable<Field>): value is Duration {
  return typeof value === "object" && "ms" in value;
}

function printable(key: string, value: Exclude<NonNullable<Field>, Duration>): string | number | boolean {
  if (typeof value === "number" || typeof value === "boolean") return value;
  const text = String(value);
  return cut(key === "url" ? bareUrl(text) : text.replace(/\bhttps?:\/\/[^\s"'<>]+/gi, bareUrl), LONGEST_VALUE);
}

/** Without the query, which can hold tokens, and without user name and password. */
function bareUrl(url: string): string {
  return url.replace(/[?#].*$/s, "").replace(/^([a-z]+:[/\\]+)[^/\\]*@/i, "$1");
}

/** Most characters of one value. */
const LONGEST_VALUE = 1_000;

/** The first `length` characters of a text, with `…` in place of the others. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
