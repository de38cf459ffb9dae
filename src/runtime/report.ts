import type { LogLevel } from "../model/config.ts";
import type { Answer, Settlement } from "../model/delivery.ts";
import { type Delivery, formatId } from "../model/delivery.ts";
import type { EventType } from "../model/event.ts";
import { never } from "../model/never.ts";
import type { Clock } from "../model/ports.ts";
import type { Refusal } from "../model/refusal.ts";
import type { DaemonEvent, Report } from "../model/report.ts";
import { formatDuration, type Ms } from "../model/units.ts";
import { cut, type Fields, type Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { reportOperator } from "./report-operator.ts";
import { describeError, reportStore } from "./report-store.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

/** Where a report goes. */
export type Sinks = { readonly log: Log; readonly metrics: Metrics; readonly throttle: Throttle };

type ReportOptions = Pick<Sinks, "log" | "metrics"> & { readonly clock: Pick<Clock, "now" | "after"> };

/**
 * The one place where an occurrence becomes a log line and a count. It never throws. Reports that come with every event
 * (`requestAnswered`, `callsAccepted`, `attempted`, `settled`) only count while it succeeds and the level is above debug.
 * Those that can fail with every event are throttled (`throttle.ts`).
 */
export function createReport({ log, metrics, clock }: ReportOptions): Report {
  const throttle = createThrottle({ log, clock });
  const sinks: Sinks = { log, metrics, throttle };
  return unfailing(sinks, {
    requestAnswered: (status, duration) => metrics.answered(status, duration),
    callsAccepted: (source, types, duplicates) => callsAccepted(sinks, source, { types, duplicates }),
    callRejected: (refusal) => callRejected(sinks, refusal),
    eventUnrouted: (source, rules) => eventUnrouted(sinks, source, rules),
    payloadShortened: (destination, messageId) => payloadShortened(sinks, destination, messageId),
    attempted: (delivery, answer) => attempted(sinks, delivery, answer),
    settled: (delivery, settlement) => settled(sinks, delivery, settlement),
    laneClosed: (destination, url, reason, probeIn) =>
      log.line("warning", "lane.closed", { destination, url, reason, probe: { ms: probeIn } }),
    laneSlowed: (destination, url, reason) => log.line("warning", "lane.slowed", { destination, url, reason }),
    laneOpened: (destination, url) => log.line("info", "lane.opened", { destination, url }),
    released: (count) => log.line("info", "delivery.released", { count }),
    ...reportStore(sinks),
    ...reportOperator(sinks),
    daemon(what, fields) {
      if (what === "reloaded" || what === "reload_failed") metrics.reloaded(what === "reloaded");
      log.line(DAEMON_LEVELS[what] ?? "info", `daemon.${what}`, fields);
    },
    unexpected: (doing, error) => unexpected(sinks, doing, error),
    summarize: () => throttle.flush(),
  });
}

const DAEMON_LEVELS: Partial<Record<DaemonEvent, LogLevel>> = {
  reload_failed: "error",
  config_problem: "error",
  config_warning: "warning",
  database_doubtful: "warning",
  unserved: "warning",
  untrusted_proxy: "warning",
  stuck: "error",
  notify_failed: "warning",
  notification_refused: "warning",
  clock_implausible: "warning",
  downtime_unknown: "warning",
};

type Calls = { readonly types: readonly EventType[]; readonly duplicates: number };

function callsAccepted({ log, metrics }: Sinks, source: string, { types, duplicates }: Calls): void {
  const received = metrics.received.row(source);
  for (const type of types) received.add(type);
  if (duplicates > 0) metrics.duplicates.add(source, duplicates);
  if (log.enabled("debug")) log.line("debug", "call.accepted", { source, count: types.length, duplicates });
}

function callRejected({ metrics, throttle }: Sinks, refusal: Refusal): void {
  const { source, type, messageId, fault, count = 1 } = refusal;
  metrics.rejected.row(source ?? "").add(fault.code, count);
  throttle.line({
    level: "warning",
    name: "call.rejected",
    subject: `call ${source}`,
    kind: fault.code,
    common: { code: fault.code, source, hint: "list the last ones: fairlead rejected" },
    fields: () => ({
      code: fault.code,
      source,
      type,
      event: messageId === null ? null : cut(messageId, LONGEST_ID),
      reason: fault.message,
    }),
  });
}

/** A refused messageId can have any length. */
const LONGEST_ID = 100;

function payloadShortened({ metrics, throttle }: Sinks, destination: string, messageId: string): void {
  metrics.payloadsShortened.add(destination);
  throttle.line({
    level: "warning",
    name: "payload.shortened",
    subject: `payload ${destination}`,
    kind: "shortened",
    common: { destination },
    fields: () => ({ destination, event: cut(messageId, LONGEST_ID) }),
  });
}

function eventUnrouted({ metrics, throttle }: Sinks, source: string, rules: readonly string[]): void {
  // Without a destination there is no rule.
  const distinct = rules.length > 0 ? [...new Set(rules)].sort() : ["no_destination"];
  const unrouted = metrics.unrouted.row(source);
  for (const rule of distinct) unrouted.add(rule);
  throttle.line({
    level: "warning",
    name: "event.unrouted",
    subject: `event ${source}`,
    kind: distinct.join(),
    common: { source, rule: distinct },
    fields: () => ({ source, rule: distinct }),
  });
}

type AttemptAnswer = Answer & { readonly url: string; readonly duration: Ms };

function attempted(sinks: Sinks, delivery: Delivery, answer: AttemptAnswer): void {
  const { log, metrics, throttle } = sinks;
  const { destination } = delivery;
  const outcome = outcomeOf(answer);
  const reached = answer.kind === "answered" || answer.kind === "timeout";
  metrics.attempted({ destination, url: answer.url }, outcome, reached ? answer.duration : null);
  if (outcome === "delivered" && !throttle.isEmpty()) throttle.recovered(attemptSubject(destination, answer.url));
  if (outcome !== "delivered" && outcome !== "released") logFailure(sinks, delivery, { answer, outcome });
  else if (log.enabled("debug")) log.line("debug", `attempt.${outcome}`, attemptFields(delivery, answer));
}

type Failure = { readonly answer: AttemptAnswer; readonly outcome: string };

function logFailure({ throttle }: Sinks, delivery: Delivery, { answer, outcome }: Failure): void {
  const { destination } = delivery;
  throttle.line({
    level: outcome === "timeout" || outcome === "untrusted" ? "error" : "warning",
    name: "attempt.failed",
    subject: attemptSubject(destination, answer.url),
    kind: outcome,
    common: { destination, url: answer.url, outcome },
    fields: () => ({ ...attemptFields(delivery, answer), outcome, ...describeAnswer(answer) }),
  });
}

function attemptSubject(destination: string, url: string): string {
  return `attempt ${destination} ${url}`;
}

function attemptFields(delivery: Delivery, answer: AttemptAnswer): Fields {
  return {
    delivery: formatId(delivery),
    event: delivery.messageId,
    destination: delivery.destination,
    attempt: delivery.attempts + 1,
    url: answer.url,
    status: answer.kind === "answered" ? answer.status : null,
    duration: { ms: answer.duration },
  };
}

function settled(sinks: Sinks, delivery: Delivery, settlement: Settlement): void {
  const { log, metrics } = sinks;
  const { state } = settlement;
  if (state !== "waiting") metrics.settled.row(delivery.destination).add(state);
  const name = state === "waiting" ? "delivery.retrying" : `delivery.${state}`;
  if (state === "failed" || state === "expired") logGivenUp(sinks, delivery, settlement);
  else if (log.enabled("debug")) log.line("debug", name, settledFields(delivery, settlement));
}

/** A receiver that refuses everything must not fill the log. Each delivery keeps its reason. */
function logGivenUp({ throttle }: Sinks, delivery: Delivery, settlement: Settlement): void {
  const { destination } = delivery;
  const { state } = settlement;
  const hint = `list them: fairlead deliveries --state ${state} --destination ${destination}`;
  throttle.line({
    level: "error",
    name: `delivery.${state}`,
    subject: `delivery ${destination}`,
    kind: state,
    most: MOST_GIVEN_UP,
    common: { destination, hint },
    fields: () => settledFields(delivery, settlement),
  });
}

/** Lines for one destination in ten seconds. */
const MOST_GIVEN_UP = 10;

function settledFields(delivery: Delivery, settlement: Settlement): Fields {
  const { attempts, attemptedAt, state } = settlement;
  return {
    delivery: formatId(delivery),
    event: delivery.messageId,
    destination: delivery.destination,
    attempt: attempts,
    ...(state === "delivered" ? { url: settlement.url, status: settlement.status } : {}),
    ...(state === "waiting" ? { next: { ms: Math.max(0, settlement.dueAt - attemptedAt) } } : {}),
    age: { ms: Math.max(0, attemptedAt - delivery.acceptedAt) },
    ...(state === "delivered" ? {} : { reason: settlement.reason }),
  };
}

function unexpected({ throttle }: Sinks, doing: string, error: unknown): void {
  throttle.line({
    level: "error",
    name: "daemon.unexpected",
    subject: "unexpected",
    kind: doing,
    common: { doing, hint: BUG },
    fields: () => ({ doing, reason: describeError(error), hint: BUG, stack: oneLineStack(error) }),
  });
}

const BUG = "this is a bug in Fairlead, please report it with this line";

type ReportMethod = (...values: never[]) => void;

/** Work continues when a report fails, as with a full disk behind standard error or a strange error object. */
function unfailing(sinks: Sinks, report: Report): Report {
  const entries = Object.entries(report) as [string, ReportMethod][];
  return Object.fromEntries(entries.map(([name, method]) => [name, guarded(sinks, name, method)])) as Report;
}

function guarded(sinks: Sinks, name: string, method: ReportMethod): ReportMethod {
  return (...values) => {
    try {
      method(...values);
    } catch (error) {
      try {
        unexpected(sinks, `report ${name}`, error);
      } catch {
        // Standard error is gone as well.
      }
    }
  };
}

/** Logs that lines are missing. An error in any case: the missing lines could have had any level. */
export function reportDropped(log: Pick<Log, "line">, count: number): void {
  const hint = "the reader of this log stalled, and Fairlead wrote more lines than it buffers";
  log.line("error", "log.dropped", { count, hint });
}

/** By hundreds of the status. */
const STATUS_OUTCOMES = ["status_0xx", "status_1xx", "delivered", "status_3xx", "status_4xx", "status_5xx"];

/** The outcome of an attempt: a label in metrics, and a field in the log. */
function outcomeOf(answer: Answer): string {
  if (answer.kind !== "answered") return answer.kind;
  return STATUS_OUTCOMES[Math.floor(answer.status / 100)] ?? "status_other";
}

/** Why an attempt failed, as the fields of a log line. */
function describeAnswer(answer: Answer): Fields {
  switch (answer.kind) {
    case "answered":
      return {
        location: answer.location,
        retryAfter: answer.retryAfter === null ? null : { ms: answer.retryAfter },
      };
    case "timeout":
      return { reason: `no answer within ${formatDuration(answer.after)}` };
    case "unreachable":
    case "offline":
      return { code: answer.code, reason: answer.message };
    case "untrusted":
      return { code: answer.code, reason: `certificate refused, nothing was sent: ${answer.message}` };
    case "released":
      return {};
    default:
      return never(answer);
  }
}

/** Where an error was thrown, on one line; null for values that are not errors. */
function oneLineStack(error: unknown): string | null {
  if (!(error instanceof Error) || !error.stack) return null;
  return error.stack.replace(/\s*\n\s*/g, " | ");
}
