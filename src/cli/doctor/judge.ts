// The judgements of `fairlead doctor`: for each check a pure function from facts to findings.
import type { Problem } from "../../model/config.ts";
import { type Alias, describeAlias } from "../../model/disk.ts";
import type { Contents } from "../../model/lookup.ts";
import { describeDoubt, doubtOf } from "../../model/timeline.ts";
import { type At, formatSize, formatTime } from "../../model/units.ts";
import type { DaemonStatus } from "../../wire/status.ts";

type Check = "config" | "secrets" | "store" | "disk" | "clock" | "files" | "daemon" | "webhooks";

/** `skipped`: it could not be checked from here; `what` says why. */
export const LEVELS = ["ok", "skipped", "warning", "error"] as const;
export type Level = (typeof LEVELS)[number];

export type Finding = {
  readonly check: Check;
  readonly level: Level;
  /** Stable, for programs; `ok` if nothing is wrong. */
  readonly code: string;
  /** Holds no secret. */
  readonly what: string;
  readonly remedy?: string;
};

/** Makes the findings of one check. */
export function findingsOf(check: Check) {
  const make =
    (level: Level) =>
    (code: string, what: string, remedy?: string): Finding =>
      remedy === undefined ? { check, level, code, what } : { check, level, code, what, remedy };
  return {
    ok: (what: string) => make("ok")("ok", what),
    skipped: make("skipped"),
    warning: make("warning"),
    error: make("error"),
  };
}

/** The worst level decides the exit code. */
export function worstOf(findings: readonly Finding[]): Level {
  return LEVELS.findLast((level) => findings.some((finding) => finding.level === level)) ?? "ok";
}

const config = findingsOf("config");

export type ConfigFacts =
  | { readonly kind: "unreadable"; readonly message: string; readonly remedy: string | null }
  | {
      readonly kind: "read";
      readonly file: string;
      readonly modifiedAt: At;
      readonly problems: readonly Problem[];
      /** As `1 source, 2 destinations`. */
      readonly summary: string;
      /** How the running daemon read it; null if no daemon answers. */
      readonly daemon: { readonly file: string; readonly readAt: At; readonly refused: boolean } | null;
    };

/** Judges whether the config can be used, and lists its problems. */
export function judgeConfig(facts: ConfigFacts): readonly Finding[] {
  if (facts.kind === "unreadable") {
    const remedy = facts.remedy ?? "name it with --config, or run fairlead doctor as root";
    return [config.error("config_unreadable", facts.message, remedy)];
  }
  const { file, problems, summary } = facts;
  if (problems.length === 0) return [config.ok(`${file} is valid: ${summary}`)];
  const seeCheck = "fairlead check shows the line";
  return problems.map(({ severity, line, column, path, message }) => {
    const what = `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`;
    if (severity === "warning") return config.warning("config_doubtful", what, seeCheck);
    if (daemonHasTaken(facts)) return config.warning("config_unlike_here", what, UNLIKE_HERE);
    return config.error("config_invalid", what, seeCheck);
  });
}

const UNLIKE_HERE =
  "the daemon reads this file without that problem: it has an environment variable or a file that is missing here";

/**
 * Whether the running daemon accepted this config. A service has other variables and credentials than a shell, so a problem
 * that the daemon does not have is not an error.
 */
function daemonHasTaken({ file, modifiedAt, daemon }: Extract<ConfigFacts, { kind: "read" }>): boolean {
  return daemon !== null && daemon.file === file && !daemon.refused && daemon.readAt >= modifiedAt;
}

const secrets = findingsOf("secrets");

/** A file that not every user may read. */
export type GuardedFile = {
  readonly path: string;
  readonly holds: "secrets" | "events";
  /** Its permissions, such as 0o600; null if unknown. */
  readonly mode: number | null;
  /** Whether all users may enter all folders above it. */
  readonly inOpenFolders: boolean;
};

/** Judges whether other users of this machine can read or change secrets and events. */
export function judgeSecrets(files: readonly GuardedFile[]): readonly Finding[] {
  const findings = files.flatMap(judgeFile);
  const unseen = files.filter(({ mode }) => mode === null).map(({ path }) => path);
  const seen = files.length - unseen.length;
  if (findings.length === 0 && seen > 0) {
    const whose = seen === 1 ? "the file with a secret or events is" : `${seen} files with secrets or events are`;
    findings.push(secrets.ok(`${whose} closed to other users`));
  }
  if (unseen.length > 0) {
    findings.push(secrets.skipped("unseen", `this user cannot see the modes of ${unseen.join(", ")}`));
  }
  return findings;
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

function judgeFile({ path, holds, mode, inOpenFolders }: GuardedFile): Finding[] {
  if (mode === null || !inOpenFolders) return [];
  const shown = `mode ${mode.toString(8).padStart(4, "0")}`;
  const found: Finding[] = [];
  if (mode & OTHERS_READ) {
    const data = holds === "secrets" ? "secrets" : "personal data";
    const what = `${path} has ${data} that every user of this machine can read (${shown})`;
    found.push(secrets.error("readable_by_all", what, `run chmod o-r ${path}`));
  }
  if (mode & OTHERS_WRITE) {
    const what = `every user of this machine can change ${path} (${shown})`;
    found.push(secrets.error("writable_by_all", what, `run chmod o-w ${path}`));
  }
  return found;
}

const store = findingsOf("store");

export type StoreFacts =
  | { readonly kind: "missing"; readonly path: string }
  /** The running daemon has another file open than the next start would use. `since`: null if the daemon did not check. */
  | { readonly kind: "gone"; readonly path: string; readonly what: string; readonly since: string | null }
  | { readonly kind: "closed"; readonly path: string; readonly why: string }
  | { readonly kind: "broken"; readonly path: string; readonly why: string }
  | StoreContents;

type StoreContents = {
  readonly kind: "read";
  readonly path: string;
  readonly bytes: number;
  readonly schema: number;
  /** The newest schema that this binary knows. */
  readonly newest: number;
  /** Why this binary cannot use this schema; null if it can. */
  readonly refused: { readonly code: string; readonly message: string } | null;
  /** Null if it is an SQLite file of something else. */
  readonly contents: Contents | null;
  /** What is damaged; null if it was not checked. */
  readonly damage: readonly string[] | null;
};

/** Judges whether the outbox is intact, and of a version that this binary knows. */
export function judgeStore(facts: StoreFacts): readonly Finding[] {
  const { path } = facts;
  switch (facts.kind) {
    case "missing":
      return [store.warning("store_missing", `there is no outbox at ${path} yet`, "the first start creates it")];
    case "gone": {
      const since = facts.since === null ? "" : ` since ${facts.since}`;
      const what = `${path} was ${facts.what} while the daemon runs${since}: calls are refused`;
      return [store.error("outbox_gone", what, RESCUE)];
    }
    case "closed":
      return [store.skipped("unseen", `${path} cannot be read: ${facts.why}`, "run fairlead doctor as root")];
    case "broken":
      return [store.error("store_damaged", `${path} cannot be read: ${facts.why}`, RESTORE)];
    case "read":
      return [judgeSchema(facts), judgeDamage(facts)];
  }
}

const RESCUE =
  "do not stop the daemon yet, it still has the data: run fairlead backup FILE; then stop it, run fairlead restore --force FILE, " +
  "and start it. If the file was only moved, move it back";
const RESTORE = "stop the daemon, copy the file elsewhere, and restore a backup (fairlead restore)";

function judgeSchema({ path, schema, newest, refused, contents }: StoreContents): Finding {
  const version = `its schema is version ${schema}`;
  if (refused) {
    const remedy = refused.code === "schema_newer" ? "use the newer Fairlead that wrote it" : "set another outbox.path";
    return store.error(refused.code, refused.message, remedy);
  }
  if (contents === null)
    return store.error("store_unknown", `${path} is not an outbox of Fairlead`, "correct outbox.path");
  if (schema < newest) {
    const what = `${version}; the next start of this binary upgrades it to ${newest}`;
    return store.warning("schema_older", what, "run fairlead backup first");
  }
  const { events, deliveries } = contents;
  const counts = Object.entries(deliveries).map(([state, count]) => `${count} ${state}`);
  return store.ok(
    `${version}, as this binary expects; ${events} ${events === 1 ? "event" : "events"}, deliveries: ${counts.join(", ")}`,
  );
}

function judgeDamage({ path, damage, bytes }: StoreContents): Finding {
  if (damage === null) {
    return store.skipped(
      "unchecked",
      `its ${formatSize(bytes)} were not checked for damage`,
      "fairlead doctor --full checks them",
    );
  }
  if (damage.length === 0) return store.ok(`${path} is undamaged (${formatSize(bytes)})`);
  return store.error("store_damaged", `${path} is damaged: ${damage.join("; ")}`, RESTORE);
}

/** Judges whether the outbox has only one path. */
export function judgeAlias(path: string, alias: Alias | null): readonly Finding[] {
  if (alias === null) return [];
  const { why, remedy } = describeAlias(alias);
  const code = alias.kind === "linked" ? "outbox_linked" : "outbox_mounted";
  return [store.error(code, `the next start refuses ${path}: ${why}`, remedy)];
}

const disk = findingsOf("disk");

export type DiskFacts = {
  readonly outbox: string;
  /** Of its disk; null if unknown. */
  readonly space: { readonly free: number; readonly total: number } | null;
  /** Bytes of the outbox's files. */
  readonly used: number;
  readonly maxSize: number;
  readonly freeDisk: number;
  /** Copies from earlier upgrades and restores, and unfinished copies. */
  readonly copies: readonly { readonly path: string; readonly size: number }[];
};

/** Judges whether the disk has room for what the config allows. */
export function judgeDisk({ outbox, space, used, maxSize, freeDisk, copies }: DiskFacts): readonly Finding[] {
  if (space === null) return [disk.skipped("unseen", `the free space on the disk of ${outbox} is not known`)];
  const free = `${formatSize(space.free)} of ${formatSize(space.total)} are free on the disk of ${outbox}`;
  const sized = `${formatSize(used)} of ${formatSize(maxSize)}`;
  const kept = copies.map(({ path, size }) => `${path} (${formatSize(size)})`).join(", ");
  const removable = kept === "" ? "" : `; remove old copies: ${kept}`;
  const keptToo = kept === "" ? [] : [disk.ok(`old copies beside the outbox: ${kept}`)];
  if (space.free < freeDisk) {
    const what = `${free}, less than outbox.freeDisk (${formatSize(freeDisk)}): calls are refused`;
    return [disk.error("disk_full", what, `make room${removable}`), ...keptToo];
  }
  if (space.free + used < maxSize + freeDisk) {
    const what = `${free}; the outbox uses ${sized} (outbox.maxSize), so the disk is full before the outbox is`;
    return [disk.warning("disk_small", what, `lower outbox.maxSize, or make room${removable}`), ...keptToo];
  }
  return [disk.ok(`${free}; the outbox uses ${sized}`), ...keptToo];
}

const clock = findingsOf("clock");

export type ClockFacts = {
  /** The machine's clock. */
  readonly wall: At;
  /** Whether a time service keeps it right; null if unknown. */
  readonly synchronized: boolean | null;
  /** When this Fairlead was built. */
  readonly builtAt: At;
  /** The latest time in the outbox from a trusted clock; null if there is none. */
  readonly seenAt: At | null;
};

/** Judges whether the machine's clock can be trusted: timestamps and certificates depend on it. */
export function judgeClock({ wall, synchronized, builtAt, seenAt }: ClockFacts): readonly Finding[] {
  const now = formatTime(wall);
  const known = { now: wall, trusted: seenAt === null ? null : { at: wall, wall: seenAt }, builtAt };
  const doubt = doubtOf(wall, known);
  const what = doubt && describeDoubt(doubt, wall, known);
  if (doubt === "before_build") return [clock.error("clock_unset", `${what}`, SET_CLOCK)];
  if (doubt === "behind") return [clock.warning("clock_behind", `${what}`, SET_CLOCK)];
  if (doubt === "ahead") {
    return [clock.warning("clock_ahead", `${what}`, `unless the daemon was off for that long, ${SET_CLOCK}`)];
  }
  if (synchronized === null) {
    return [clock.skipped("unseen", `it is ${now}; whether a time service sets the clock is not known`)];
  }
  if (synchronized) return [clock.ok(`it is ${now}, and a time service sets the clock`)];
  return [clock.warning("clock_unsynchronized", `it is ${now}, but no time service sets the clock`, SET_CLOCK)];
}

const SET_CLOCK = "let a time service set the clock (systemd-timesyncd, chrony)";

const files = findingsOf("files");

type FileFacts = {
  /** Of the running daemon, or of a program that is started from here. */
  readonly of: "daemon" | "here";
  readonly limit: number | null;
  readonly open: number | null;
};

/** Concurrent deliveries, and what else the daemon has open besides its clients. */
const OWN = 300;
/** Concurrent clients that an installation should have room for. */
const CLIENTS = 1_000;

/** Judges whether the system allows enough files and connections. */
export function judgeFiles({ of, limit, open }: FileFacts): readonly Finding[] {
  const whose = of === "daemon" ? "the daemon" : "a daemon started from here";
  if (limit === null) return [files.skipped("unseen", `how many files ${whose} may open is not known`)];
  if (limit === Infinity) return [files.ok(`${whose} may open any number of files and connections`)];
  const clients = Math.max(0, limit - OWN);
  const what = `${whose} may have ${limit} files and connections open: ${clients} for clients, ${OWN} for itself`;
  if (clients < 100) return [files.error("files_few", what, RAISE)];
  if (clients < CLIENTS) return [files.warning("files_few", what, RAISE)];
  if (of === "daemon" && open !== null && open > limit * 0.8) {
    const used = `the daemon has ${open} files and connections open, of ${limit} at most`;
    return [files.warning("files_used", used, RAISE)];
  }
  return [files.ok(what)];
}

const RAISE = "raise LimitNOFILE= in its unit, or ulimit -n where it is started";

const daemon = findingsOf("daemon");

export type DaemonFacts =
  | {
      readonly kind: "answers";
      readonly status: DaemonStatus;
      readonly version: string;
      readonly outbox: string | null;
    }
  /** Nothing listens at the configured address. */
  | { readonly kind: "down"; readonly message: string }
  /** A daemon may be there, but does not answer this user. */
  | { readonly kind: "closed"; readonly message: string };

/** Judges whether the daemon runs, has this binary's version, and reports no problem. */
export function judgeDaemon(facts: DaemonFacts): readonly Finding[] {
  if (facts.kind === "down") {
    return [daemon.warning("daemon_down", facts.message, "start it: fairlead serve, or systemctl start fairlead")];
  }
  if (facts.kind === "closed") return [daemon.skipped("unseen", facts.message)];
  const { status, version, outbox } = facts;
  const found = [...judgeRun(status, version), ...judgeOutbox(status.outbox, outbox)];
  return found.length > 0
    ? found
    : [daemon.ok(`process ${status.pid} runs this version, ${version}, with the newest config`)];
}

const RESTART = "restart it: systemctl restart fairlead";

function judgeRun({ version, config }: DaemonStatus, own: string): readonly Finding[] {
  const found: Finding[] = [];
  if (version !== own) {
    const what = `the running daemon has version ${version}, and this binary ${own}`;
    found.push(daemon.warning("version_differs", what, RESTART));
  }
  if (config.refused) {
    const what = `the daemon refused the config and keeps the old one: ${config.refused.reason}`;
    found.push(daemon.error("config_refused", what, "run fairlead check, and fix what it shows"));
  }
  if (config.needsRestart.length > 0) {
    const what = `changes to ${config.needsRestart.join(", ")} need a restart`;
    found.push(daemon.warning("restart_needed", what, RESTART));
  }
  return found;
}

/** `expected`: the outbox of the config; null if it must not be compared. */
function judgeOutbox({ path, writable, full, used, max, away }: DaemonStatus["outbox"], expected: string | null) {
  const found: Finding[] = [];
  const room = `${formatSize(used)} of ${formatSize(max)}`;
  if (away !== null) {
    const what = `the daemon has had no connection to its database since ${away.since}: ${away.reason}`;
    found.push(
      daemon.error("database_away", what, "check the server and the network; the daemon reconnects by itself"),
    );
  } else if (!writable) {
    found.push(daemon.error("store_failed", "the daemon cannot write its outbox", "see its log for the reason"));
  }
  if (full !== null) {
    const what = `the daemon refuses calls because of ${full} (${room} are used)`;
    found.push(
      daemon.error(
        "store_full",
        what,
        "free space on its disk or raise outbox.maxSize, and see which destinations fail (fairlead status)",
      ),
    );
  } else if (used >= max * 0.9) {
    const remedy = "see which destination fails (fairlead status), or raise outbox.maxSize";
    found.push(daemon.warning("store_crowded", `the outbox is nearly full: ${room}`, remedy));
  }
  if (expected !== null && path !== expected) {
    const what = `the daemon uses the outbox ${path}, but the config has ${expected}`;
    found.push(daemon.warning("outbox_differs", what, "restart the daemon, or name its config with --config"));
  }
  return found;
}
