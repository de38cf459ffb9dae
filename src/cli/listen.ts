import { type Command, InvalidArgumentError } from "commander";
import { printable } from "../client/show.ts";
import { parseListen } from "../config/addresses.ts";
import type { Listener } from "../model/ports.ts";
import type { Secret } from "../model/secret.ts";
import { MB, parseDuration } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print, printError } from "../runtime/output.ts";
import { onSignals } from "../runtime/process.ts";
import { createServe } from "../runtime/serve.ts";
import { verify } from "../webhook/signature.ts";
import { complain, type Done, EXIT, type ExitCode, failed } from "./command.ts";
import { addHelp, type HelpText } from "./help.ts";
import { readSharedSecret, SECRET_FILE_OPTION } from "./input.ts";
import { paint } from "./paint.ts";

/** `fairlead listen`: a receiver of webhooks that prints what it gets, and can fail on purpose. Runs until a signal. */
export function declareListen(program: Command, done: Done): void {
  const command = program
    .command("listen")
    .summary("receive webhooks and print them, to try out a setup")
    .description("Receive webhooks, check their signatures and print them. It can fail on purpose.")
    .option("--listen <address>", "the address to listen at, as host:port", "127.0.0.1:9000")
    .option(...SECRET_FILE_OPTION)
    .option("--status <code>", "answer with this status", toStatus)
    .option("--delay <duration>", "wait this long before each answer, such as 6s", toDuration)
    .option("--fail-first <count>", "refuse this many requests (with --status, or 503), then answer 200", toCount)
    .option("--json", "print one JSON object per line");
  addHelp(command, HELP).action((options: ListenOptions) => done(listen(options)));
}

const HELP: HelpText = {
  examples: ["FAIRLEAD_SECRET=change-me fairlead listen", "fairlead listen --status 503 --fail-first 3"],
  notes: "Fairlead retries for four hours after a 5xx, and after an answer that takes more than five seconds.",
  moreExamples: [
    "fairlead listen --status 503      # be down",
    "fairlead listen --fail-first 3    # come back after three refusals",
    "fairlead listen --delay 6s        # be too slow",
  ],
};

function toStatus(text: string): number {
  const status = Number(text);
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new InvalidArgumentError("It must be a status from 200 to 599.");
}

function toCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}

function toDuration(text: string): number {
  const duration = parseDuration(text);
  if (duration !== null) return duration;
  throw new InvalidArgumentError("It must be a duration such as 6s or 250ms.");
}

type ListenOptions = {
  readonly listen: string;
  readonly secretFile?: string;
  readonly status?: number;
  readonly delay?: number;
  readonly failFirst?: number;
  readonly json?: boolean;
};

/** Far more than Fairlead sends. */
const MAX_BODY_BYTES = 4 * MB;

async function listen(options: ListenOptions): Promise<ExitCode> {
  const secret = readSharedSecret(options.secretFile);
  if (typeof secret === "string") return complain(failed(secret));
  const address = parseListen(options.listen);
  if (typeof address === "string")
    return complain(failed(`--listen ${address} (got ${JSON.stringify(options.listen)})`));
  const receiver = createReceiver(options, secret);
  let listener: Listener;
  try {
    listener = await createServe()(address, receiver);
  } catch (error) {
    return complain(failed(error instanceof Error ? error.message : String(error)));
  }
  printError(`listening at ${listener.address}, signatures are ${secret ? "checked" : "not checked"}\n`);
  await new Promise<void>((resolve) => onSignals({ stop: () => resolve(), reload: () => {} }));
  await listener.stop();
  return EXIT.done;
}

/** Answers requests as the options say, and prints each. */
function createReceiver(options: ListenOptions, secret: Secret | null) {
  const clock = createClock();
  const never = new AbortController().signal;
  let count = 0;

  return async function receive(request: Request): Promise<Response> {
    count += 1;
    const nth = count;
    const body = await readBody(request);
    if (options.delay !== undefined) await clock.sleep(options.delay, never);
    const status = body === null ? 413 : statusFor(nth, options);
    if (body !== null) show({ nth, at: clock.wall(), status, request, body, signature: check(request, body, secret) });
    return new Response(status === 204 ? null : "", { status });
  };

  function show(received: Received): void {
    if (options.json) print(toJsonLine(received));
    else print(toLines(received));
  }
}

async function readBody(request: Request): Promise<string | null> {
  const length = Number(request.headers.get("content-length") ?? Number.NaN);
  if (!(length <= MAX_BODY_BYTES)) return null;
  return request.text();
}

function statusFor(nth: number, { status, failFirst }: ListenOptions): number {
  if (failFirst === undefined) return status ?? 200;
  return nth <= failFirst ? (status ?? 503) : 200;
}

function check(request: Request, body: string, secret: Secret | null): Received["signature"] {
  const signature = request.headers.get("x-signature");
  if (secret === null) return signature === null ? "absent" : "unchecked";
  if (signature === null) return "absent";
  return verify(body, signature, secret.reveal()) ? "ok" : "wrong";
}

/** A request that `fairlead listen` received. */
type Received = {
  readonly nth: number;
  /** Wall time, in milliseconds since 1970. */
  readonly at: number;
  /** The status it was answered with. */
  readonly status: number;
  readonly request: Request;
  readonly body: string;
  /** `absent`: the request has none; `unchecked`: it has one, and the secret is not known. */
  readonly signature: "ok" | "wrong" | "absent" | "unchecked";
};

/** For people: a summary line and the body. */
function toLines({ nth, at, status, request, body, signature }: Received): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const path = new URL(request.url).pathname;
  const shown = signature === "wrong" ? paint.bad(signature) : signature;
  return `#${nth} ${time} ${typeOf(body)} at ${path}, signature ${shown}, answered ${status}\n   ${printable(body)}`;
}

/** For programs: one JSON object on one line. */
function toJsonLine({ nth, at, status, request, body, signature }: Received): string {
  const headers = Object.fromEntries(request.headers);
  const { pathname: path } = new URL(request.url);
  return JSON.stringify({ nth, at: new Date(at).toISOString(), path, headers, signature, status, body });
}

function typeOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null && "type" in parsed) return printable(String(parsed.type));
  } catch {
    // A request that is not from Fairlead is printed unchanged.
  }
  return "something else";
}
