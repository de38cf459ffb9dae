import type { Problem } from "../../model/config.ts";
import type { Contents } from "../../model/contents.ts";
import { type Alias, describeAlias } from "../../model/space.ts";
import { describeDoubt, doubtOf } from "../../model/timeline.ts";
import { type At, DAY, formatDuration, formatSize, formatTime, type Ms } from "../../model/units.ts";
import type { Reached } from "../../runtime/handshake.ts";
import type { SaidStatus } from "../status/said.ts";

/** What fairlead doctor looks at, in the order in which it tells. */
const CHECKS = ["config", "secrets", "store", "disk", "clock", "files", "daemon", "webhooks"] as const;
type Check = (typeof CHECKS)[number];

/** `skipped`: it could not be looked at from here, and `what` says why. */
export const LEVELS = ["ok", "skipped", "warning", "error"] as const;
export type Level = (typeof LEVELS)[number];

/** What one look has found. */
export type Finding = {
  readonly check: Check;
  readonly level: Level;
  /** Stays the same, for programs; `ok` if all is well. */
  readonly code: string;
  /** Holds no secret. */
  readonly what: string;
  /** What to do about it. */
  readonly remedy?: string;
};

type Say = {
  ok(what: string): Finding;
  skipped(code: string, what: string, remedy?: string): Finding;
  warning(code: string, what: string, remedy: string): Finding;
  error(code: string, what: string, remedy: string): Finding;
};

/** Makes the findings of one check. */
export function findingsOf(check: Check): Say {
  const make = (level: Level) => (code: string, what: string, remedy?: string) => ({
    ...{ check, level, code, what },
    ...(remedy !== undefined && { remedy }),
  });
  return {
    ok: (what) => make("ok")("ok", what),
    skipped: make("skipped"),
    warning: make("warning"),
    error: make("error"),
  };
}

/** The worst there is: it decides the exit code. */
export function worstOf(findings: readonly Finding[]): Level {
  return LEVELS.findLast((level) => findings.some((finding) => finding.level === level)) ?? "ok";
}

export type ConfigFacts =
  | { readonly kind: "unreadable"; readonly message: string; readonly remedy: string | null }
  | {
      readonly kind: "read";
      readonly file: string;
      readonly modifiedAt: At;
      readonly problems: readonly Problem[];
      /** As `1 source, 2 destinations`. */
      readonly summary: string;
      /** What the running daemon did with it; null if none answers. */
      readonly daemon: { readonly file: string; readonly readAt: At; readonly refused: boolean } | null;
    };

/** Whether the config can be used, and all that is wrong with it. */
export function judgeConfig(facts: ConfigFacts): readonly Finding[] {
  const { ok, error, warning } = findingsOf("config");
  if (facts.kind === "unreadable") return [error("config_unreadable", facts.message, facts.remedy ?? NAME_IT)];
  const taken = isTaken(facts);
  const findings = facts.problems.map((problem) => {
    const what = describeProblem(problem);
    if (problem.severity === "warning") return warning("config_doubtful", what, SEE_CHECK);
    return taken ? warning("config_unlike_here", what, UNLIKE_HERE) : error("config_invalid", what, SEE_CHECK);
  });
  return findings.length > 0 ? findings : [ok(`${facts.file} is valid: ${facts.summary}`)];
}

const NAME_IT = "name it with --config, or run fairlead doctor as root";
const SEE_CHECK = "fairlead check shows the line";
const UNLIKE_HERE =
  "the daemon has read this file without it: here, a variable or a file is missing that the daemon has";

/** Variables and credentials of a service are not those of a shell: what the daemon has taken is no error. */
function isTaken({ file, modifiedAt, daemon }: Extract<ConfigFacts, { kind: "read" }>): boolean {
  return daemon !== null && daemon.file === file && !daemon.refused && daemon.readAt >= modifiedAt;
}

function describeProblem({ file, line, column, path, message }: Problem): string {
  return `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`;
}

/** A file that holds what not everybody is to know. */
export type GuardedFile = {
  readonly path: string;
  readonly holds: "secrets" | "events";
  /** Its permissions, as 0o600; null if they could not be seen. */
  readonly mode: number | null;
  /** Whether everybody may enter all the folders above it. */
  readonly inOpenFolders: boolean;
};

/** Whether others on this machine can read or change what they should not. */
export function judgeSecrets(files: readonly GuardedFile[]): readonly Finding[] {
  const { ok, skipped } = findingsOf("secrets");
  const findings = files.flatMap(judgeFile);
  const unseen = files.filter(({ mode }) => mode === null).map(({ path }) => path);
  if (unseen.length > 0) findings.push(skipped("unseen", `the modes of ${unseen.join(", ")} cannot be seen from here`));
  const seen = files.length - unseen.length;
  if (findings.every(({ level }) => level === "skipped") && seen > 0) {
    const whose = seen === 1 ? "the file with a secret or events is" : `${seen} files with secrets or events are`;
    findings.unshift(ok(`${whose} for their own users and groups only`));
  }
  return findings;
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

function judgeFile({ path, holds, mode, inOpenFolders }: GuardedFile): Finding[] {
  const { error } = findingsOf("secrets");
  if (mode === null || !inOpenFolders) return [];
  const shown = `mode ${mode.toString(8).padStart(4, "0")}`;
  const found: Finding[] = [];
  if (mode & OTHERS_READ) {
    const what = `${path} has ${holds === "secrets" ? "secrets" : "personal data"} that every user of this machine can read`;
    found.push(error("readable_by_all", `${what} (${shown})`, `run chmod o-r ${path}`));
  }
  if (mode & OTHERS_WRITE) {
    found.push(
      error("writable_by_all", `every user of this machine can change ${path} (${shown})`, `run chmod o-w ${path}`),
    );
  }
  return found;
}

export type StoreFacts =
  | { readonly kind: "missing"; readonly path: string }
  /** The daemon that runs has another file open than the next start would find; `since` as it says, null if it did not look. */
  | { readonly kind: "gone"; readonly path: string; readonly what: string; readonly since: string | null }
  | { readonly kind: "closed"; readonly path: string; readonly why: string }
  | { readonly kind: "broken"; readonly path: string; readonly why: string }
  | {
      readonly kind: "read";
      readonly path: string;
      readonly bytes: number;
      readonly schema: number;
      /** The newest schema that this binary knows. */
      readonly newest: number;
      /** Whether an upgrade of it was begun and not ended. */
      readonly unfinished: boolean;
      /** Null if it is an SQLite file of something else. */
      readonly contents: Contents | null;
      /** What is wrong with it, none if nothing is; null if it was not looked through. */
      readonly damage: readonly string[] | null;
    };

/** Whether the outbox is whole, and of a version that this binary knows. */
export function judgeStore(facts: StoreFacts): readonly Finding[] {
  const { ok, skipped, warning, error } = findingsOf("store");
  const { path } = facts;
  switch (facts.kind) {
    case "missing":
      return [warning("store_missing", `there is no outbox at ${path} yet`, "the first start makes it")];
    case "gone": {
      const since = facts.since === null ? "" : ` since ${facts.since}`;
      return [
        error("outbox_gone", `${path} was ${facts.what} while the daemon runs${since}: calls are refused`, RESCUE),
      ];
    }
    case "closed":
      return [skipped("unseen", `${path} cannot be looked into: ${facts.why}`, "run fairlead doctor as root")];
    case "broken":
      return [error("store_damaged", `${path} cannot be read: ${facts.why}`, MEND)];
    case "read":
      return [judgeSchema(facts), judgeDamage(facts)];
  }

  function judgeSchema({ schema, newest, unfinished, contents }: Read): Finding {
    const version = `its schema is version ${schema}`;
    if (schema > newest) {
      return error(
        "schema_newer",
        `${version}, and this binary knows up to ${newest}`,
        "use the newer Fairlead that wrote it",
      );
    }
    if (contents === null) return error("store_unknown", `${path} is no outbox of Fairlead`, "look at outbox.path");
    if (unfinished)
      return warning("schema_unfinished", `an upgrade to schema ${schema} is not over`, "the next start goes on");
    if (schema < newest) {
      const what = `${version}, and this binary brings it to ${newest} when it starts`;
      return warning("schema_older", what, "run fairlead backup before");
    }
    return ok(`${version}, the one of this binary; ${wordsOf(contents)}`);
  }

  function judgeDamage({ damage, bytes }: Read): Finding {
    if (damage === null) {
      return skipped("unchecked", `its ${formatSize(bytes)} were not looked through`, "fairlead doctor --full does so");
    }
    if (damage.length === 0) return ok(`${path} is whole (${formatSize(bytes)})`);
    return error("store_damaged", `${path} is damaged: ${damage.join("; ")}`, MEND);
  }
}

/** Whether the outbox has one path only. */
export function judgeAlias(path: string, alias: Alias | null): readonly Finding[] {
  if (alias === null) return [];
  const { why, remedy } = describeAlias(alias);
  const what = `the next start refuses ${path}: ${why}`;
  return [findingsOf("store").error(alias.kind === "linked" ? "outbox_linked" : "outbox_mounted", what, remedy)];
}

type Read = Extract<StoreFacts, { kind: "read" }>;

const RESCUE =
  "do not stop the daemon: fairlead backup FILE copies what it still has; then stop it, run fairlead restore --force FILE, and " +
  "start it. If the file was only moved, move it back";

const MEND = "stop the daemon, copy the file elsewhere, and restore a backup (fairlead restore)";

function wordsOf({ events, deliveries }: Contents): string {
  const counts = Object.entries(deliveries).map(([state, count]) => `${count} ${state}`);
  return `${events} events, deliveries: ${counts.join(", ")}`;
}

export type DiskFacts = {
  readonly outbox: string;
  /** Of its disk; null if nobody can say. */
  readonly space: { readonly free: number; readonly total: number } | null;
  /** Bytes of the outbox's files. */
  readonly used: number;
  readonly maxSize: number;
  readonly freeDisk: number;
  /** Copies that earlier upgrades and restores have kept, and what ended copies have left. */
  readonly copies: readonly { readonly path: string; readonly size: number }[];
};

/** Whether the disk holds what the config promises. */
export function judgeDisk(facts: DiskFacts): readonly Finding[] {
  const { outbox, space, used, maxSize, freeDisk, copies } = facts;
  const { ok, skipped, warning, error } = findingsOf("disk");
  if (space === null) return [skipped("unseen", `nobody can say how much of the disk of ${outbox} is free`)];
  const free = `${formatSize(space.free)} of ${formatSize(space.total)} are free on the disk of ${outbox}`;
  const findings: Finding[] = [];
  if (space.free < freeDisk) {
    const what = `${free}, less than outbox.freeDisk (${formatSize(freeDisk)}): calls are refused`;
    findings.push(error("disk_full", what, `make room${whatCanGo(copies)}`));
  } else if (space.free + used < maxSize + freeDisk) {
    const what = `${free}, where ${formatSize(used)} of ${formatSize(maxSize)} (outbox.maxSize) are used: it is full before that`;
    findings.push(warning("disk_small", what, `lower outbox.maxSize, or make room${whatCanGo(copies)}`));
  } else {
    findings.push(ok(`${free}; the outbox uses ${formatSize(used)} of ${formatSize(maxSize)}`));
  }
  if (copies.length > 0) findings.push(ok(`copies are kept beside it: ${list(copies)}`));
  return findings;
}

function whatCanGo(copies: DiskFacts["copies"]): string {
  return copies.length === 0 ? "" : `; if they are not needed any more, remove ${list(copies)}`;
}

function list(copies: DiskFacts["copies"]): string {
  return copies.map(({ path, size }) => `${path} (${formatSize(size)})`).join(", ");
}

export type ClockFacts = {
  /** What the machine's clock says. */
  readonly wall: At;
  /** Whether a time service keeps it right; null if nobody can say. */
  readonly synchronized: boolean | null;
  /** When this Fairlead was built. */
  readonly builtAt: At;
  /** The latest time that the outbox has seen on a clock that could be believed; null without one. */
  readonly seenAt: At | null;
};

/** Whether the machine's clock can be believed: stamps of events and certificates go by it. */
export function judgeClock({ wall, synchronized, builtAt, seenAt }: ClockFacts): readonly Finding[] {
  const { ok, skipped, warning, error } = findingsOf("clock");
  const now = formatTime(wall);
  const known = { now: wall, trusted: seenAt === null ? null : { at: wall, wall: seenAt }, builtAt };
  const doubt = doubtOf(wall, known);
  const what = doubt && describeDoubt(doubt, wall, known);
  if (doubt === "before_build") return [error("clock_unset", `${what}`, SET)];
  if (doubt === "behind") return [warning("clock_behind", `${what}`, SET)];
  if (doubt === "ahead") return [warning("clock_ahead", `${what}`, `unless the daemon was off for so long: ${SET}`)];
  if (synchronized === null)
    return [skipped("unseen", `it is ${now}; whether a time service keeps it so cannot be seen`)];
  if (synchronized) return [ok(`it is ${now}, and a time service keeps it so`)];
  return [warning("clock_unsynchronized", `it is ${now}, and no time service keeps it so`, SET)];
}

const SET = "let a time service set it (systemd-timesyncd, chrony)";

type FileFacts = {
  /** Whose they are: the running daemon's, or those of a program that is started from here. */
  readonly of: "daemon" | "here";
  readonly limit: number | null;
  readonly open: number | null;
};

/** Deliveries that can run at once, and what the daemon has open besides them and its clients. */
const OWN = 300;
/** Room for so many clients at once is what an installation may expect. */
const CLIENTS = 1_000;

/** Whether the system lets the daemon have the files and connections that it needs. */
export function judgeFiles({ of, limit, open }: FileFacts): readonly Finding[] {
  const { ok, skipped, warning, error } = findingsOf("files");
  const whose = of === "daemon" ? "the daemon" : "a daemon that is started from here";
  if (limit === null) return [skipped("unseen", `how many files ${whose} may open cannot be seen`)];
  if (limit === Number.POSITIVE_INFINITY) return [ok(`${whose} may open any number of files and connections`)];
  const clients = Math.max(0, limit - OWN);
  const what = `${whose} may have ${limit} files and connections open, room for ${clients} clients beside its own ${OWN}`;
  if (clients < 100) return [error("files_few", what, RAISE)];
  if (clients < CLIENTS) return [warning("files_few", what, RAISE)];
  if (of === "daemon" && open !== null && open > limit * 0.8) {
    return [warning("files_used", `the daemon has ${open} files and connections open, of ${limit} at most`, RAISE)];
  }
  return [ok(what)];
}

const RAISE = "raise LimitNOFILE= of its unit, or ulimit -n where it is started";

export type DaemonFacts =
  | { readonly kind: "answers"; readonly status: SaidStatus; readonly version: string; readonly outbox: string | null }
  /** Nobody listens where the config says. */
  | { readonly kind: "down"; readonly message: string }
  /** Somebody may be there, and does not talk to this user. */
  | { readonly kind: "closed"; readonly message: string };

/** Whether the daemon runs, is the one of this binary, and is well by its own account. */
export function judgeDaemon(facts: DaemonFacts): readonly Finding[] {
  const { ok, skipped, warning } = findingsOf("daemon");
  if (facts.kind === "down")
    return [warning("daemon_down", facts.message, "start it: fairlead serve, or systemctl start fairlead")];
  if (facts.kind === "closed") return [skipped("unseen", facts.message)];
  const { status, version } = facts;
  const found = [...judgeVersion(status.version, version), ...judgeHealth(facts)];
  return found.length > 0 ? found : [ok(`process ${status.pid} runs this version, ${version}, by the newest config`)];
}

function judgeVersion(running: string, own: string): readonly Finding[] {
  if (running === own) return [];
  const what = `the daemon that runs is version ${running}, and this binary is ${own}`;
  return [findingsOf("daemon").warning("version_differs", what, "restart it: systemctl restart fairlead")];
}

function judgeHealth({ status, outbox }: Extract<DaemonFacts, { kind: "answers" }>): readonly Finding[] {
  const { warning, error } = findingsOf("daemon");
  const { config, outbox: its } = status;
  const found: Finding[] = [];
  if (config.refused) {
    found.push(
      error("config_refused", `the daemon has refused the config: ${config.refused.reason}`, "fairlead check says why"),
    );
  }
  if (config.needsRestart.length > 0) {
    const what = `changes of ${config.needsRestart.join(", ")} count from the next start on`;
    found.push(warning("restart_needed", what, "restart it: systemctl restart fairlead"));
  }
  if (!its.writable) found.push(error("store_failed", "the daemon cannot write its outbox", "its log says why"));
  if (its.full !== null) {
    const used = `${formatSize(its.used)} of ${formatSize(its.max)} are used`;
    found.push(
      error(
        "store_full",
        `the daemon refuses calls because of ${its.full} (${used})`,
        "see docs: when the outbox is full",
      ),
    );
  } else if (its.used >= its.max * 0.9) {
    const what = `the outbox is nearly full: ${formatSize(its.used)} of ${formatSize(its.max)}`;
    found.push(
      warning("store_crowded", what, "see which destination fails (fairlead status), or raise outbox.maxSize"),
    );
  }
  if (outbox !== null && its.path !== outbox) {
    const what = `the daemon has ${its.path} as its outbox, and the config ${outbox}`;
    found.push(warning("outbox_differs", what, "restart it, or name the config that it runs by with --config"));
  }
  return found;
}

/** A webhook, and how far one gets to it. */
export type WebhookFacts = {
  /** As `crm, webhook 1`. */
  readonly name: string;
  /** Scheme, host and port: a path may be a secret. */
  readonly origin: string;
  readonly reached: Reached | { readonly kind: "unknown"; readonly why: string };
};

/** Whoever renews by hand needs so long. */
const SOON: Ms = 14 * DAY;

/** Whether each webhook can be reached and trusted, and for how long. */
export function judgeWebhooks(webhooks: readonly WebhookFacts[], now: At): readonly Finding[] {
  if (webhooks.length === 0) return [findingsOf("webhooks").skipped("none", "there is no webhook to look at")];
  return webhooks.map((webhook) => judgeWebhook(webhook, now));
}

function judgeWebhook({ name, origin, reached }: WebhookFacts, now: At): Finding {
  const { ok, skipped, warning, error } = findingsOf("webhooks");
  const place = `${name} (${origin})`;
  switch (reached.kind) {
    case "unknown":
      return skipped("unseen", `${name}: ${reached.why}`);
    case "behind proxy":
      return skipped(
        "behind_proxy",
        `${place} is behind the proxy ${reached.proxy}, which answers; no further without a request`,
      );
    case "failed":
      return error("webhook_unreachable", `${place} cannot be reached: ${reached.reason}`, SEE_RECEIVER);
    case "untrusted":
      return error(
        "webhook_untrusted",
        `${place}: ${reached.reason}`,
        "nothing is sent until then; docs/receivers.md has more",
      );
    case "reached":
      return judgeReached(reached);
  }

  function judgeReached({ ms, until }: Extract<Reached, { kind: "reached" }>): Finding {
    const way = `${place} is reached in ${formatDuration(ms)}`;
    if (until === null) return ok(way);
    const left = until - now;
    const end = `its certificate ends ${formatTime(until)}, in ${formatDuration(Math.max(0, left))}`;
    if (left < SOON) return warning("certificate_ends", `${way}; ${end}`, "it has to be renewed there");
    return ok(`${way}; ${end}`);
  }
}

const SEE_RECEIVER = "is it running, and does a firewall stand between? Until then deliveries wait";
