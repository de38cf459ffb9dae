import type { LogLevel } from "../model/config.ts";
import { type Delivery, formatId } from "../model/delivery.ts";
import type { EventType } from "../model/event.ts";
import { never } from "../model/never.ts";
import type { Answer } from "../model/outcome.ts";
import type { Clock, PruneCounts } from "../model/ports.ts";
import type { Refusal } from "../model/refusal.ts";
import type { Report } from "../model/report.ts";
import type { Settlement } from "../model/settlement.ts";
import { formatDuration, type Ms } from "../model/units.ts";
import { cut, type Fields, type Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { reportDaemon } from "./report-daemon.ts";
import { reportByOperator, reportDeletions, reportPauses } from "./report-operator.ts";
import { createSpaceReport, describeError } from "./report-space.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

export type ReportParts = {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Pick<Clock, "now" | "after">;
};

/**
 * The one place that turns "this happened" into a log line and a count. It never throws. What comes with every event
 * (`requestAnswered`, `callsAccepted`, `attempted`, `settled`) only adds numbers while all goes well and the level is
 * above debug; what can fail with every event is throttled (`throttle.ts`).
 */
export function createReport({ log, metrics, clock }: ReportParts): Report {
  const throttle = createThrottle<Summary>({ clock, tell: (summary, leftOut) => tellLeftOut(log, summary, leftOut) });
  const desk: Desk = { log, metrics, throttle };
  return unfailing(desk, {
    requestAnswered: (status) => metrics.requests.add(status),
    callsAccepted: (source, types, duplicates) => callsAccepted(desk, source, { types, duplicates }),
    callRejected: (refusal) => callRejected(desk, refusal),
    eventUnrouted: (source, rules) => eventUnrouted(desk, source, rules),
    attempted: (delivery, answer) => attempted(desk, delivery, answer),
    settled: (delivery, settlement) => settled(desk, delivery, settlement),
    laneClosed: (destination, url, reason, probeIn) =>
      log.line("warning", "lane.closed", { destination, url, reason, probe: { ms: probeIn } }),
    laneSlowed: (destination, url, reason) => log.line("warning", "lane.slowed", { destination, url, reason }),
    laneOpened: (destination, url) => log.line("info", "lane.opened", { destination, url }),
    released: (count) => log.line("info", "delivery.released", { count }),
    storeFailed: (doing, error) => storeFailed(desk, doing, error),
    slowCommit: (duration, rows) => slowCommit(desk, duration, rows),
    pruned: (counts, reason) => pruned(desk, counts, reason),
    ...reportDeletions(desk),
    ...reportByOperator(desk),
    ...reportPauses(log),
    ...createSpaceReport(log),
    daemon: reportDaemon(desk),
    unexpected: (doing, error) => unexpected(desk, doing, error),
    summarize: () => throttle.flush(),
  });
}

type Desk = { readonly log: Log; readonly metrics: Metrics; readonly throttle: Throttle<Summary> };

type Calls = { readonly types: readonly EventType[]; readonly duplicates: number };

function callsAccepted({ log, metrics }: Desk, source: string, { types, duplicates }: Calls): void {
  const received = metrics.received.row(source);
  for (const type of types) received.add(type);
  if (duplicates > 0) metrics.duplicates.add(source, duplicates);
  if (log.enabled("debug")) log.line("debug", "call.accepted", { source, count: types.length, duplicates });
}

function callRejected(desk: Desk, { source, type, messageId, fault, count = 1 }: Refusal): void {
  desk.metrics.rejected.row(source ?? "").add(fault.code, count);
  tellNowAndThen(desk, {
    level: "warning",
    name: "call.rejected",
    subject: `call ${source}`,
    kind: fault.code,
    common: { code: fault.code, source, hint: SEE_REJECTED },
    fields: () => ({
      code: fault.code,
      source,
      type,
      event: messageId === null ? null : cut(messageId, LONGEST_ID),
      reason: fault.message,
    }),
  });
}

const SEE_REJECTED = "the last of them: fairlead rejected";

/** A messageId that was refused can be of any length. */
const LONGEST_ID = 100;

function eventUnrouted(desk: Desk, source: string, rules: readonly string[]): void {
  // Without any destination there is no rule either.
  const distinct = rules.length > 0 ? [...new Set(rules)].sort() : ["no_destination"];
  const unrouted = desk.metrics.unrouted.row(source);
  for (const rule of distinct) unrouted.add(rule);
  tellNowAndThen(desk, {
    level: "warning",
    name: "event.unrouted",
    subject: `event ${source}`,
    kind: distinct.join(),
    common: { source, rule: distinct },
    fields: () => ({ source, rule: distinct }),
  });
}

type AttemptAnswer = Answer & { readonly url: string; readonly duration: Ms };

function attempted(desk: Desk, delivery: Delivery, answer: AttemptAnswer): void {
  const { log, metrics, throttle } = desk;
  const { destination } = delivery;
  const outcome = outcomeOf(answer);
  const reached = answer.kind === "answered" || answer.kind === "timeout";
  metrics.attempted({ destination, url: answer.url }, outcome, reached ? answer.duration : null);
  const subject = () => `attempt ${destination} ${answer.url}`;
  if (outcome === "delivered" || outcome === "released") {
    if (outcome === "delivered" && !throttle.isEmpty()) throttle.forgive(subject());
    if (log.enabled("debug")) log.line("debug", `attempt.${outcome}`, attemptFields(delivery, answer));
    return;
  }
  tellNowAndThen(desk, {
    level: outcome === "timeout" || outcome === "untrusted" ? "error" : "warning",
    name: "attempt.failed",
    subject: subject(),
    kind: outcome,
    common: { destination, url: answer.url, outcome },
    fields: () => ({ ...attemptFields(delivery, answer), outcome, ...describeAnswer(answer) }),
  });
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

function settled(desk: Desk, delivery: Delivery, settlement: Settlement): void {
  const { log, metrics } = desk;
  const { state } = settlement;
  if (state !== "waiting") metrics.settled.row(delivery.destination).add(state);
  const name = state === "waiting" ? "delivery.retrying" : `delivery.${state}`;
  const fields = (): Fields => settledFields(delivery, settlement);
  if (state === "failed" || state === "expired") {
    // A receiver that refuses all there is must not fill the log: the deliveries are kept, each with its reason.
    const { destination } = delivery;
    const common = {
      destination,
      hint: `all of them: fairlead deliveries --state ${state} --destination ${destination}`,
    };
    const subject = `delivery ${destination}`;
    tellNowAndThen(desk, { level: "error", name, subject, kind: state, most: MOST_GIVEN_UP, common, fields });
  } else if (log.enabled("debug")) log.line("debug", name, fields());
}

/** Of one destination in ten seconds. */
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

function storeFailed(desk: Desk, doing: string, error: unknown): void {
  desk.metrics.storeFailed();
  tellNowAndThen(desk, {
    level: "error",
    name: "store.failed",
    subject: "store",
    kind: doing,
    common: { doing },
    fields: () => ({ doing, reason: describeError(error) }),
  });
}

function slowCommit({ log, metrics }: Desk, duration: Ms, rows: number): void {
  metrics.slowCommit();
  log.line("warning", "store.slow_commit", { duration: { ms: duration }, rows });
}

function pruned(desk: Desk, counts: PruneCounts, reason: "age" | "space"): void {
  for (const [state, count] of Object.entries(counts)) desk.metrics.pruned.row(state).add(reason, count);
  const { seen, ...rows } = counts;
  const removed = Object.values(rows).reduce((sum, count) => sum + count, 0);
  if (removed + seen === 0) return;
  const fields = (): Fields => ({ reason, ...counts });
  const about = { name: "store.pruned", subject: "pruned", kind: reason, fields, common: { reason } };
  // For want of space it happens with every few calls.
  if (reason === "space") tellNowAndThen(desk, { ...about, level: "warning" });
  else desk.log.line(removed > 0 ? "info" : "debug", "store.pruned", fields());
}

function unexpected(desk: Desk, doing: string, error: unknown): void {
  tellNowAndThen(desk, {
    level: "error",
    name: "daemon.unexpected",
    subject: "unexpected",
    kind: doing,
    common: { doing, hint: BUG },
    fields: () => ({ doing, reason: describeError(error), hint: BUG, stack: oneLineStack(error) }),
  });
}

const BUG = "this is a bug in Fairlead, please report it with this line";

type Repeating = {
  readonly level: LogLevel;
  readonly name: string;
  /** What the line is about, and which of the things that can be said about it. */
  readonly subject: string;
  readonly kind: string;
  /** Lines that are written before others are left out; one if left out. */
  readonly most?: number;
  readonly fields: () => Fields;
  /** What all lines of this subject and kind have in common, and where those that are left out can be seen. */
  readonly common: Fields;
};

type Summary = Pick<Repeating, "level" | "name" | "common">;

/** Writes the first of many like lines, and then the number of those left out: with the next one, or after ten seconds. */
function tellNowAndThen({ log, throttle }: Desk, { fields, ...line }: Repeating): void {
  const { level, name, common } = line;
  if (!log.enabled(level)) return;
  const leftOut = throttle.pass({ ...line, summary: { level, name, common } });
  if (leftOut === null) return;
  log.line(level, name, leftOut > 0 ? { ...fields(), suppressed: leftOut } : fields());
}

function tellLeftOut(log: Log, { level, name, common }: Summary, leftOut: number): void {
  log.line(level, name, { ...common, suppressed: leftOut });
}

/** Whatever goes wrong in telling (a full disk behind standard error, a strange error object), the work goes on. */
function unfailing(desk: Desk, report: Report): Report {
  const entries = Object.entries(report) as [string, (...told: never[]) => void][];
  return Object.fromEntries(entries.map(([name, tell]) => [name, guarded(desk, name, tell)])) as Report;
}

function guarded(desk: Desk, name: string, tell: (...told: never[]) => void): (...told: never[]) => void {
  return (...told) => {
    try {
      tell(...told);
    } catch (error) {
      confess(desk, name, error);
    }
  };
}

function confess(desk: Desk, name: string, error: unknown): void {
  try {
    unexpected(desk, `report ${name}`, error);
  } catch {
    // Standard error is gone, and there is nobody left to tell.
  }
}

/** By hundreds of the status. */
const STATUS_OUTCOMES = ["status_0xx", "status_1xx", "delivered", "status_3xx", "status_4xx", "status_5xx"];

/** What became of an attempt, in one of a few words: a label in metrics, and a field in the log. */
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

/** Where an error was thrown, on one line; null for what is no error. */
function oneLineStack(error: unknown): string | null {
  if (!(error instanceof Error) || !error.stack) return null;
  return error.stack.replace(/\s*\n\s*/g, " | ");
}
