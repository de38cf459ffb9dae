import { MB } from "../../model/units.ts";
import { createResolve } from "../../runtime/config-files.ts";
import { type Ask, type Exchange, request } from "../../runtime/request.ts";
import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";
import { printable } from "../printable.ts";
import { type Daemon, type DaemonOptions, findDaemon } from "./find.ts";
import { isNobodyThere, isRefusal, parseSaid, type Refusal } from "./said.ts";

/** What an operator's command wants of the running daemon. */
export type Question<Said> = {
  /** With its query, as `/api/rejected?limit=1`. */
  readonly path: string;
  /** What is sent, by POST; without it, the question is a GET. */
  readonly body?: object;
  /** Another method, and what goes with it as it is. */
  readonly by?: Pick<Ask, "method" | "body" | "headers" | "timeout">;
  /** Whether an answer is what this path gives. */
  readonly isSaid: (said: unknown) => said is Said;
  /** Makes more of a refusal than its message, where this path says more. */
  readonly explain?: (said: Refusal) => Complaint | null;
};

/** The largest answer that a command takes. */
const MOST_BYTES = 16 * MB;

/**
 * Asks the running daemon that the options, the environment or the config name. Answers what it said, or in one line why
 * it did not.
 */
export async function askDaemon<Said>(
  options: DaemonOptions,
  question: Question<Said>,
): Promise<{ readonly said: Said } | Complaint> {
  const daemon = findDaemon(options, createResolve());
  if ("code" in daemon) return daemon;
  return readSaid(await send(daemon, question), { daemon, question });
}

/** Puts the question to a daemon that was found. */
export function send({ base, token }: Daemon, { path, body, by }: Question<unknown>): Promise<Exchange> {
  const authorization = token && { Authorization: `Bearer ${token.secret.reveal()}` };
  const type = body && { "Content-Type": "application/json" };
  const ask = { base, path, headers: { ...authorization, ...type }, maxBytes: MOST_BYTES };
  if (by) return request({ ...ask, ...by, headers: { ...ask.headers, ...by.headers } });
  return request(body ? { ...ask, method: "POST", body: JSON.stringify(body) } : { ...ask, method: "GET" });
}

type Asked<Said> = { readonly daemon: Daemon; readonly question: Question<Said> };

/** Reads what came back to a question. */
export function readSaid<Said>(
  exchange: Exchange,
  { daemon, question }: Asked<Said>,
): { readonly said: Said } | Complaint {
  if (exchange.kind === "failed") return unreachable(exchange, daemon);
  const { status, text } = exchange;
  const said = parseSaid(text);
  if (status === 200 && question.isSaid(said)) return { said };
  if (status < 400 || !isRefusal(said)) return foreign(status, daemon);
  const explained = question.explain?.(said);
  if (explained) return explained;
  return refused(status, said, { daemon, question });
}

function unreachable({ code, reason }: Extract<Exchange, { kind: "failed" }>, { base, from }: Daemon): Complaint {
  const remedy = "; is `fairlead serve` running? If it listens elsewhere, say where with --admin";
  const message = `cannot reach the daemon at ${base} (${from}): ${reason}${isNobodyThere(code) ? remedy : ""}`;
  return failed(message, "unreachable");
}

function foreign(status: number, { base, from }: Daemon): Complaint {
  return failed(
    `${base} (${from}) answered ${status}, and not as Fairlead's admin listener does; is that its address?`,
    "not_fairlead",
  );
}

function refused(status: number, said: Refusal, asked: Asked<unknown>): Complaint {
  return failed(wordsOf(status, said, asked), said.code);
}

function wordsOf(status: number, { code, message }: Refusal, { daemon, question }: Asked<unknown>): string {
  const { base, from, token } = daemon;
  const place = `the daemon at ${base} (${from})`;
  switch (code) {
    case "unauthorized":
      return token === null ? `${place} ${TOKENLESS}` : `${place} refuses ${token.from}: ${WRONG_TOKEN}`;
    case "not_found":
      return `${place} has nothing at ${pathOf(question)}: ${NOT_FOUND}`;
    case "forbidden_host":
      return `${place} refused with ${status} ${printable(`${code}: ${message}`)}; ${OTHER_HOST}`;
    // It has understood the question, and its message says all there is to know.
    case "unknown_destination":
    case "unknown_source":
      return printable(message);
    default:
      return `${place} refused with ${status} ${printable(`${code}: ${message}`)}`;
  }
}

const TOKENLESS = "wants its admin.token: set $FAIRLEAD_ADMIN_TOKEN, or name the config that has it with --config";
const WRONG_TOKEN = "it is not the admin.token that it runs with; give that one in $FAIRLEAD_ADMIN_TOKEN";
const NOT_FOUND = "either it is older than this command, or this is the address of its ingest listener";
const OTHER_HOST = "name it with --admin as its own config does";

function pathOf({ path }: Question<unknown>): string {
  return path.replace(/\?.*$/, "");
}

function failed(message: string, error: string): Complaint {
  return { code: EXIT.failed, message, error };
}
