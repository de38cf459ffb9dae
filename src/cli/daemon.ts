import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { type AdminPart, readAdminPart } from "../config/parts.ts";
import { quote } from "../config/problems.ts";
import type { Listen } from "../model/config.ts";
import type { FaultCode } from "../model/fault.ts";
import type { Resolve } from "../model/ports.ts";
import { Secret } from "../model/secret.ts";
import { type At, MB } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/config-files.ts";
import { addressOf } from "../runtime/listen.ts";
import { print } from "../runtime/output.ts";
import { type Ask, type Exchange, request } from "../runtime/request.ts";
import { isReceived, type Received, type Shape } from "../wire/fields.ts";
import { type Complaint, complain, EXIT, type ExitCode } from "./command.ts";
import { CONFIG_OPTION, complaintOfFile, openConfigFile } from "./config-file.ts";
import { showWhile } from "./progress.ts";

/** A running daemon, as commands reach it. */
export type Daemon = {
  /** The address of its operator's API: `http://127.0.0.1:8081` or `unix:/path`. */
  readonly base: string;
  /** The source of the address, such as `--admin` or `admin.listen of config.yaml`. */
  readonly from: string;
  readonly token: Token | null;
};

/** The token of the operator's API, and its source, such as `$FAIRLEAD_ADMIN_TOKEN`. */
type Token = { readonly secret: Secret; readonly from: string };

export type DaemonOptions = { readonly admin?: string; readonly config?: string };

/** Adds the options of every command that talks to a running daemon. */
export function addDaemonOptions(command: Command): Command {
  return command
    .optionsGroup("Connection (see fairlead help connection):")
    .option("--admin <url>", "the daemon's operator API: http://host:port or unix:/path")
    .option(CONFIG_OPTION[0], "the config file");
}

/**
 * Finds the running daemon and its token: in `$FAIRLEAD_ADMIN_TOKEN`, else in the config. No option takes the token, because
 * every program on the machine could read it in the process list. A token from a config that was not named is never sent to
 * an address that was.
 */
export function findDaemon(options: DaemonOptions, resolve: Resolve): Daemon | Complaint {
  const said = saidAddress(options, resolve);
  if (said === null) return fromConfig(options, resolve);
  const base = readBase(said.text);
  if (base === null) return notBase(said);
  const daemon = { base, from: said.from };
  const token = tokenOf(resolve);
  if (token !== null || options.config === undefined) return sendable({ ...daemon, token });
  const config = openConfig(options.config, resolve);
  return "code" in config ? config : withToken(daemon, config);
}

function notBase({ text, from }: Said): Complaint {
  return usage(`${from} must be ${BASE_FORMS} (got ${quote(text)})`);
}

type Said = { readonly text: string; readonly from: string };

/** Whether the daemon was named by its address: it may not be the one of the config here. */
export function isSaidElsewhere(options: DaemonOptions, resolve: Resolve): boolean {
  return saidAddress(options, resolve) !== null;
}

function saidAddress({ admin }: DaemonOptions, { env }: Resolve): Said | null {
  if (admin !== undefined) return { text: admin, from: "--admin" };
  const text = env("FAIRLEAD_ADMIN");
  // Empty counts as unset, as in a shell.
  return text ? { text, from: "$FAIRLEAD_ADMIN" } : null;
}

function fromConfig(options: DaemonOptions, resolve: Resolve): Daemon | Complaint {
  const config = openConfig(options.config, resolve);
  if ("code" in config) return config;
  const address = addressIn(config);
  if ("code" in address) return address;
  const token = tokenOf(resolve);
  return token === null ? withToken(address, config) : sendable({ ...address, token });
}

/** The address of the daemon alone, for which its token need not be readable; and whether its config has a dashboard. */
export function findAddress(options: DaemonOptions, resolve: Resolve): (Address & HasDashboard) | Complaint {
  const said = saidAddress(options, resolve);
  if (said !== null) {
    const base = readBase(said.text);
    return base === null ? notBase(said) : { base, from: said.from, dashboard: true };
  }
  const config = openConfig(options.config, resolve);
  if ("code" in config) return config;
  const address = addressIn(config);
  return "code" in address ? address : { ...address, dashboard: config.admin.dashboard };
}

type Address = Omit<Daemon, "token">;
type HasDashboard = { readonly dashboard: boolean };

function addressIn({ file, admin: { listen: found } }: OpenConfig): Address | Complaint {
  if ("faulty" in found) return { code: EXIT.config, message: found.message };
  const base = baseOf(found.listen);
  if (base === null) return usage(NO_PORT);
  return { base, from: found.written ? `admin.listen of ${file}` : `the default, as ${file} has no admin.listen` };
}

const NO_PORT =
  "admin.listen has port 0, so the port changes at each start; give --admin the address that fairlead serve printed";

type OpenConfig = { readonly file: string; readonly admin: AdminPart };

function openConfig(said: string | undefined, resolve: Resolve): OpenConfig | Complaint {
  const opened = openConfigFile(said);
  if (opened.kind === "read") return { file: opened.file, admin: readAdminPart({ ...opened, resolve }) };
  return complaintOfFile(opened, "or name the daemon's address with --admin");
}

function tokenOf({ env }: Resolve): Token | null {
  const value = env("FAIRLEAD_ADMIN_TOKEN");
  return value ? { secret: new Secret(value), from: "$FAIRLEAD_ADMIN_TOKEN" } : null;
}

function withToken(daemon: Address, { file, admin }: OpenConfig): Daemon | Complaint {
  const secret = admin.token;
  if (secret === null) return { ...daemon, token: null };
  if (secret instanceof Secret) return sendable({ ...daemon, token: { secret, from: `admin.token of ${file}` } });
  return { code: EXIT.config, message: `${secret.message}\nor set $FAIRLEAD_ADMIN_TOKEN` };
}

/** Checks that a header can hold the token. The daemon reads it up to the first space. */
function sendable(daemon: Daemon): Daemon | Complaint {
  const { token } = daemon;
  if (token === null || /^[!-~]+$/.test(token.secret.reveal())) return daemon;
  return usage(
    `${token.from} is not a possible token: it may have letters, digits and punctuation of ASCII, and no spaces`,
  );
}

function usage(message: string): Complaint {
  return { code: EXIT.usage, message };
}

/** A request to the running daemon. */
export type Question<S extends Shape> = {
  /** The path with its query, such as `/api/rejected?limit=1`. */
  readonly path: string;
  /** The body of a POST; without it, the request is a GET. */
  readonly body?: object;
  /** Another method, with its body and headers. */
  readonly by?: Pick<Ask, "method" | "body" | "headers" | "timeout">;
  /** The shape of the answer. */
  readonly answer: S;
  /** Explains a refusal beyond its message, for paths that need it. */
  readonly explain?: (refusal: Refusal) => Complaint | null;
};

/** The largest answer that a command reads. */
const MOST_BYTES = 16 * MB;

/**
 * Asks the running daemon that the options, the environment or the config name. Answers its answer, or a complaint of one
 * line; its `error` is the code of a refusal.
 */
export async function askDaemon<S extends Shape>(
  options: DaemonOptions,
  question: Question<S>,
): Promise<{ readonly value: Received<S> } | Complaint> {
  const daemon = findDaemon(options, createResolve());
  if ("code" in daemon) return daemon;
  return readAnswer(await send(daemon, question), { daemon, question });
}

export type PrintOptions = DaemonOptions & { readonly json?: boolean };

/** How an answer is printed: in words for people, and as JSON for programs if not unchanged. */
type Printed<Value> = {
  readonly words: (value: Value, now: At) => string;
  readonly json?: (value: Value) => object;
};

/** Asks the running daemon, and prints its answer. Returns the exit code. */
export async function printAnswer<S extends Shape>(
  options: PrintOptions,
  question: Question<S>,
  { words, json = (value) => value as object }: Printed<Received<S>>,
): Promise<ExitCode> {
  const answer = await showWhile(ASKING, askDaemon(options, question));
  if ("code" in answer) return complain(answer);
  const { value } = answer;
  print(options.json ? printable(JSON.stringify(json(value))) : words(value, createClock().wall()));
  return EXIT.done;
}

/** What a command does while the daemon thinks. */
export const ASKING = "waiting for the daemon";

/** Sends the question to a daemon. */
export function send(
  { base, token }: Daemon,
  { path, body, by }: Pick<Question<Shape>, "path" | "body" | "by">,
): Promise<Exchange> {
  const authorization = token && { Authorization: `Bearer ${token.secret.reveal()}` };
  const type = body && { "Content-Type": "application/json" };
  const ask = { base, path, headers: { ...authorization, ...type }, maxBytes: MOST_BYTES };
  if (by) return request({ ...ask, ...by, headers: { ...ask.headers, ...by.headers } });
  return request(body ? { ...ask, method: "POST", body: JSON.stringify(body) } : { ...ask, method: "GET" });
}

type Asked<S extends Shape> = { readonly daemon: Daemon; readonly question: Question<S> };

/** Reads the answer to a question. */
export function readAnswer<S extends Shape>(
  exchange: Exchange,
  { daemon, question }: Asked<S>,
): { readonly value: Received<S> } | Complaint {
  const { base, from } = daemon;
  const place = `${base} (${from})`;
  if (exchange.kind === "failed") {
    const remedy = "; is fairlead serve running? If it has another address, name it with --admin";
    const hint = isNobodyThere(exchange.code) ? remedy : "";
    return failed(`cannot reach the daemon at ${place}: ${exchange.reason}${hint}`, "unreachable");
  }
  const { status, text } = exchange;
  const value = parseSaid(text);
  if (status === 200 && isReceived(question.answer, value)) return { value };
  if (status >= 400 && isRefusal(value)) {
    return question.explain?.(value) ?? failed(refusalWords(status, value, { daemon, question }), value.code);
  }
  const doubt = "which is not an answer of Fairlead's operator API; is the address right?";
  return failed(`${place} answered ${status}, ${doubt}`, "not_fairlead");
}

function refusalWords<S extends Shape>(status: number, { code, message }: Refusal, asked: Asked<S>): string {
  const { base, from, token } = asked.daemon;
  const place = `the daemon at ${base} (${from})`;
  // The daemon understood the question; its message is complete.
  if (PLAIN.has(code)) return printable(message);
  switch (code) {
    case "unauthorized":
      return token === null ? `${place} ${TOKENLESS}` : `${place} refuses ${token.from}: ${WRONG_TOKEN}`;
    case "not_found":
      return `${place} has nothing at ${asked.question.path.replace(/\?.*$/, "")}: ${NOT_FOUND}`;
    case "forbidden_host":
      return `${place} refused with ${status} ${printable(`${code}: ${message}`)}; ${OTHER_HOST}`;
    default:
      return `${place} refused with ${status} ${printable(`${code}: ${message}`)}`;
  }
}

const PLAIN: ReadonlySet<string> = new Set<FaultCode>([
  "unknown_destination",
  "unknown_source",
  "unknown_audience",
  "unknown_trait",
  "destination_in_use",
  "destination_busy",
  "source_disabled",
  "name_taken",
  "sync_running",
  "list_shrinks",
  "invalid_request",
  "invalid_encoding",
  "body_too_large",
  "body_incomplete",
  "body_too_slow",
]);

const TOKENLESS = "requires its admin.token: set $FAIRLEAD_ADMIN_TOKEN, or name the config with the token by --config";
const WRONG_TOKEN = "the daemon has another admin.token; set $FAIRLEAD_ADMIN_TOKEN to that one";
const NOT_FOUND = "it is older than this command, or this is the address of its ingest listener";
const OTHER_HOST = "name it with --admin as its config does";

function failed(message: string, error: string): Complaint {
  return { code: EXIT.failed, message, error };
}

/** The path of an action on a destination. */
export function destinationPath(name: string, what: "discard" | "move" | "pause" | "resume" | "retry"): string {
  return `/api/destinations/${encodeURIComponent(name)}/${what}`;
}

/** A Fault in the daemon's answer. */
export type Refusal = { readonly code: string; readonly message: string };

/** Parses an answer as JSON; null if it is not JSON. */
export function parseSaid(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function isRefusal(said: unknown): said is Refusal {
  if (typeof said !== "object" || said === null || !("code" in said) || !("message" in said)) return false;
  return typeof said.code === "string" && typeof said.message === "string";
}

/** Whether a network error means that nothing listens at the address. */
export function isNobodyThere(code: string | null): boolean {
  return code === "ECONNREFUSED" || code === "ENOENT";
}

/**
 * The address of a listener for commands on the same machine, such as `http://127.0.0.1:8080` or `unix:/path`. A listener on
 * all addresses is reached over loopback. Null for port 0: only the daemon knows its port.
 */
export function baseOf(listen: Listen): string | null {
  if (listen.kind === "unix") return addressOf(listen, 0);
  if (listen.port === 0) return null;
  return addressOf({ ...listen, host: loopbackFor(listen.host) }, listen.port);
}

function loopbackFor(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  // All spellings of `::`.
  return host.includes(":") && /^[0:]+$/.test(host) ? "::1" : host;
}

/** The accepted forms, for messages. */
export const BASE_FORMS = "http://host:port, https://host or unix:/path, and nothing more";

/**
 * Parses the address of a daemon. A path is allowed, for proxies that serve Fairlead below one. A password is not: the
 * process list would show it. Null if the text has no accepted form.
 */
export function readBase(text: string): string | null {
  if (text.startsWith("unix:/")) return text;
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  const { username, password, search, hash, origin, pathname } = url;
  return `${username}${password}${search}${hash}` === "" ? `${origin}${pathname.replace(/\/$/, "")}` : null;
}
