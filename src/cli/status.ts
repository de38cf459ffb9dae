import type { Command } from "commander";
import { printable } from "../client/show.ts";
import type { Clock } from "../model/ports.ts";
import { type At, formatDuration, formatSize, MINUTE } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/config-files.ts";
import { print } from "../runtime/output.ts";
import { type DaemonStatus, status } from "../wire/status.ts";
import { complain, type Done, EXIT, type ExitCode, table } from "./command.ts";
import { ASKING, addDaemonOptions, askDaemon, isSaidElsewhere, type PrintOptions } from "./daemon.ts";
import { examineAround } from "./doctor/examine.ts";
import { addHelp, type HelpText } from "./help.ts";
import { type Painter, paint } from "./paint.ts";
import { showWhile } from "./progress.ts";

/** `fairlead status`: the status of the daemon and each of its sources and destinations. */
export function declareStatus(program: Command, done: Done): void {
  const command = program
    .command("status")
    .summary("show problems, outbox, sources and destinations")
    .description("Show how the daemon is: its problems and what to do, outbox, last reload, sources, destinations.")
    .option("--json", "print it as JSON");
  addHelp(addDaemonOptions(command), HELP).action((options: PrintOptions) => done(showStatus(options)));
}

const HELP: HelpText = {
  examples: ["fairlead status", "watch --color FORCE_COLOR=1 fairlead status"],
  notes: `Problems come first, each with its age and its remedy. Rates are those of the last minute. A destination is degraded if only some of its webhooks work, and failing if none does. Its deliveries are retried for four hours (delivery.cutoff).`,
  more: `The problems are those that the daemon knows, and those that fairlead doctor finds on this machine without asking other machines. While the database of a shared outbox cannot be reached, only what the daemon itself knows is shown, and the exit code is 1.`,
  moreExamples: ["fairlead status --json | jq .destinations"],
};

/** What `fairlead doctor` finds on this machine without asking others, if the daemon uses the config here. */
function problemsAround(options: PrintOptions, said: DaemonStatus, clock: Clock): DaemonStatus["problems"] {
  if (isSaidElsewhere(options, createResolve())) return [];
  const known = new Set(said.problems.map(({ code }) => code));
  const found = examineAround(options, said, clock).filter(({ code }) => !known.has(code));
  return found.map(({ level, code, what, remedy = "fairlead doctor" }) => ({ level, code, what, since: null, remedy }));
}

async function showStatus(options: PrintOptions): Promise<ExitCode> {
  const answer = await showWhile(ASKING, askDaemon(options, { path: "/api/status", answer: status }));
  if ("code" in answer) return complain(answer);
  const clock = createClock();
  const said = {
    ...answer.value,
    problems: [...answer.value.problems, ...problemsAround(options, answer.value, clock)],
  };
  print(options.json ? printable(JSON.stringify(said)) : toWords(said, clock.wall()));
  return said.outbox.away === null ? EXIT.done : EXIT.failed;
}

/** For people: first the problems, since when and what to do; then all parts, a line each. `now`: by the wall clock. */
export function toWords(status: DaemonStatus, now: At): string {
  return [problems, about, daemons, sources, destinations]
    .map((part) => part(status, now))
    .filter((text) => text !== "")
    .join("\n\n");
}

function problems({ problems }: DaemonStatus, now: At): string {
  if (problems.length === 0) return paint.good("Problems: none.");
  const lines = problems.flatMap(({ level, what, since, remedy }) => {
    const lasts = since === null ? "" : `[${age(since, now)}] `;
    const [sign, color] = level === "error" ? ["!", paint.bad] : ["-", paint.warning];
    return [color(printable(`  ${sign} ${lasts}${what}`)), printable(`      ${remedy}`)];
  });
  return ["Problems:", ...lines].join("\n");
}

function about({ version, pid, startedAt, config, outbox, clock }: DaemonStatus, now: At): string {
  const { refused, needsRestart } = config;
  return [
    `fairlead ${printable(version)}, process ${pid}, running for ${age(startedAt, now)}`,
    `config   ${printable(config.file)}, read ${age(config.readAt, now)} ago`,
    ...(refused ? [paint.bad(`         REFUSED ${age(refused.at, now)} ago: ${printable(refused.reason)}`)] : []),
    ...(needsRestart.length > 0
      ? [paint.warning(`         needs a restart: ${printable(needsRestart.join(", "))}`)]
      : []),
    `outbox   ${printable(outbox.path)}, ${formatSize(outbox.used)} of ${formatSize(outbox.max)}${trouble(outbox)}`,
    ...clockLine(clock, now),
    ...absence(outbox, now),
  ].join("\n");
}

function clockLine(clock: DaemonStatus["clock"], now: At): readonly string[] {
  if (clock.plausible) return [];
  const lasts = clock.since === null ? "" : ` for ${age(clock.since, now)}`;
  return [paint.bad(`clock    WRONG${lasts}: ${printable(clock.reason ?? "")}; events get wrong times`)];
}

function trouble({ full, free, writable, away }: DaemonStatus["outbox"]): string {
  if (away !== null)
    return paint.bad(": UNREACHABLE, calls are refused; the number of waiting deliveries is not known");
  if (full !== null) return paint.bad(`: FULL (outbox.${printable(full)}${left(free)}), calls are refused`);
  return writable ? "" : paint.bad(": CANNOT BE WRITTEN, calls are refused; see the log");
}

function absence({ gone }: DaemonStatus["outbox"], now: At): readonly string[] {
  if (!gone) return [];
  return [
    paint.bad(
      printable(`         GONE for ${age(gone.since, now)}: ${gone.path} was ${gone.what}; calls are refused.`),
    ),
    "         Do not stop the daemon yet. It still has the data: run fairlead backup FILE.",
    "         Then stop it, run fairlead restore --force FILE, and start it.",
  ];
}

function left(free: number | null): string {
  return free === null ? "" : `, ${formatSize(free)} of the disk free`;
}

/** The daemons that share the outbox; nothing if only this one can have it, or if they are not known. */
function daemons({ daemons }: DaemonStatus, now: At): string {
  if (daemons === null || daemons.length === 0) return "";
  const rows = daemons.map(({ host, pid, version, startedAt, silentFor, alive, streams, self, leads }) => [
    printable(host),
    String(pid),
    printable(version),
    age(startedAt, now),
    alive ? `${formatDuration(silentFor)} ago` : paint.bad(`SILENT for ${formatDuration(silentFor)}`),
    streams.map(({ id }) => id).join(",") || "-",
    String(streams.reduce((sum, { waiting }) => sum + waiting, 0)),
    [self ? "this one" : "", leads ? "leader" : ""].filter((word) => word !== "").join(", "),
  ]);
  return table(["daemon on", "process", "version", "running for", "heartbeat", "streams", "waiting", ""], rows);
}

function sources({ sources }: DaemonStatus, now: At): string {
  if (sources.length === 0) return "There are no sources.";
  const isLimited = sources.some(({ limits }) => limits !== null);
  const rows = sources.map(({ name, enabled, perSecond, lastAt, limits }) => [
    printable(name),
    enabled ? rate(perSecond) : paint.faint("disabled"),
    lastAt === null ? "none yet" : `${age(lastAt, now)} ago`,
    ...(isLimited ? [limits?.rate ? printable(limits.rate) : "-", waitingOf(limits), refusingOf(limits, now)] : []),
  ]);
  return table(["source", "calls/s", "last call", ...(isLimited ? ["limit", "waiting", ""] : [])], rows);
}

type Limits = DaemonStatus["sources"][number]["limits"];

function waitingOf(limits: Limits): string {
  if (!limits?.waiting) return "-";
  const { bytes, max } = limits.waiting;
  return `${bytes === null ? "?" : formatSize(bytes)} of ${formatSize(max)}`;
}

function refusingOf(limits: Limits, now: At): string {
  if (!limits?.refusing) return "";
  const { code, since, requests } = limits.refusing;
  return paint.bad(printable(`REFUSED ${requests} in ${age(since, now)}: ${code}`));
}

function destinations({ destinations }: DaemonStatus, now: At): string {
  if (destinations.length === 0) return "There are no destinations.";
  const rows = destinations.map((one) => [
    printable(one.name),
    paintState(one.state)(`${stateOf(one, now)}${heldBack(one, now)}`),
    rate(one.perSecond),
    String(one.counts?.waiting ?? "?"),
    one.counts === null ? "?" : one.oldestWaiting === null ? "-" : formatDuration(one.oldestWaiting),
    String(one.counts?.failed ?? "?"),
    String(one.counts?.expired ?? "?"),
  ]);
  return table(["destination", "state", "sent/s", "waiting", "oldest", "failed", "expired"], rows);
}

function paintState(state: string): Painter {
  if (state === "failing" || state === "offline") return paint.bad;
  if (state === "degraded" || state === "paused") return paint.warning;
  if (state === "working") return paint.good;
  return state === "untried" ? (text) => text : paint.faint;
}

function stateOf(
  { state, pausedSince, failingSince, webhooks }: DaemonStatus["destinations"][number],
  now: At,
): string {
  if (pausedSince !== null) {
    const paused = `paused for ${age(pausedSince, now)}`;
    return state === "paused" ? paused : printable(`${state}, ${paused}`);
  }
  if (state === "degraded") {
    const bad = webhooks.filter((webhook) => webhook.failingSince !== null).length;
    return `degraded (${bad} of ${webhooks.length} webhooks)`;
  }
  if (failingSince === null || (state !== "failing" && state !== "offline")) return printable(state);
  return `${state} for ${age(failingSince, now)}`;
}

function heldBack({ heldBack }: DaemonStatus["destinations"][number], now: At): string {
  return heldBack === null ? "" : printable(`, limited to ${heldBack.rate} for ${age(heldBack.since, now)}`);
}

/** More digits for low rates. */
function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  return perSecond * (MINUTE / 1_000) < 600 ? perSecond.toFixed(2) : String(Math.round(perSecond));
}

function age(time: string, now: At): string {
  return formatDuration(Math.max(0, now - Date.parse(time)));
}
