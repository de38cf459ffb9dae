import process from "node:process";
import type { Clock } from "../model/ports.ts";
import type { Reload, Reloaded } from "../model/reload.ts";
import type { Report } from "../model/report.ts";
import type { Migrating, MigrationStep, Supervisor, Vitals } from "../model/supervisor.ts";
import { MB, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { createNotify, type Notify } from "./systemd-notify.ts";

/**
 * What systemd is told while it runs the daemon as a service of Type=notify, see sd_notify(3) and
 * packaging/systemd/fairlead.service:
 *
 * starting:  nothing, or EXTEND_TIMEOUT_USEC before each step of a migration.
 * running:   READY, and WATCHDOG again and again while all goes round (systemd-watchdog.ts).
 * reloading: RELOADING when the config is read anew, and READY when that is over, however it went.
 * stopping:  STOPPING. The watchdog is fed until the end.
 */

type SupervisorWorld = {
  readonly environment: Pick<SystemdEnvironment, "socket" | "patience">;
  /** Hears once why nothing can be told. */
  readonly failed: (why: string) => void;
  /** How a message is sent to a socket; left out, as this machine can. */
  readonly connect?: (socket: string) => Notify;
};

/** Does nothing if nobody has said where to tell it. */
export function createSupervisor({ environment, failed, connect = createNotify }: SupervisorWorld): Supervisor {
  const { socket, patience } = environment;
  if (socket === null) return { ...DEAF, patience: null };
  const { send, monotonic } = connect(socket);
  let isFailing = false;

  function tell(...lines: readonly string[]): void {
    send(lines.join("\n")).then(
      () => {
        isFailing = false;
      },
      (error: unknown) => {
        if (!isFailing) failed(error instanceof Error ? error.message : String(error));
        isFailing = true;
      },
    );
  }

  return {
    patience,
    ready: (status) => tell("READY=1", statusOf(status)),
    reloading() {
      const now = monotonic();
      // Type=notify-reload goes by the time; it is not known where there is no foreign function interface.
      tell("RELOADING=1", ...(now === null ? [] : [`MONOTONIC_USEC=${now}`]), "STATUS=reads its config");
    },
    stopping: () => tell("STOPPING=1", "STATUS=takes no more calls, and finishes what runs"),
    extend: (by, status) => tell(`EXTEND_TIMEOUT_USEC=${toMicroseconds(by)}`, statusOf(status)),
    alive: () => tell("WATCHDOG=1"),
  };
}

const DEAF: Omit<Supervisor, "patience"> = { ready() {}, reloading() {}, stopping() {}, extend() {}, alive() {} };

/** A line break would begin another assignment. */
function statusOf(text: string): string {
  return `STATUS=${text.replaceAll(/\s+/g, " ")}`;
}

function toMicroseconds(duration: Ms): number {
  return Math.round(duration * 1_000);
}

/** What systemd says to a service by its environment, as far as it is meant for this process. */
type SystemdEnvironment = {
  /** Where it wants to hear how the service is: a path, or `@` and an abstract name. Null if nowhere. */
  readonly socket: string | null;
  /** How long it waits for a sign of life before it gives the service up. Null if it does not. */
  readonly patience: Ms | null;
  /** How many open sockets it passes on, for a socket unit. */
  readonly sockets: number;
};

type Variables = Readonly<Record<string, string | undefined>>;

const NAMES = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];

/** Reads it and takes it away: a program that this one starts must not speak for it. */
export function takeSystemdEnvironment(): SystemdEnvironment {
  const found = readSystemdEnvironment(process.env, process.pid);
  for (const name of NAMES) delete process.env[name];
  return found;
}

export function readSystemdEnvironment(variables: Variables, pid: number): SystemdEnvironment {
  return {
    socket: variables.NOTIFY_SOCKET || null,
    patience: readPatience(variables, pid),
    // They are meant for the process that is named, and others may have inherited the variables.
    sockets: variables.LISTEN_PID === String(pid) ? (readCount(variables.LISTEN_FDS) ?? 0) : 0,
  };
}

function readPatience({ WATCHDOG_USEC, WATCHDOG_PID }: Variables, pid: number): Ms | null {
  if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(pid)) return null;
  const microseconds = readCount(WATCHDOG_USEC);
  return microseconds === null ? null : microseconds / 1_000;
}

/** A whole number above zero, or null. */
function readCount(text: string | undefined): number | null {
  const count = /^\d+$/.test(text ?? "") ? Number(text) : 0;
  return count > 0 ? count : null;
}

/** Why a service with sockets of systemd cannot be, and what to do. Null if there are none. */
export function refusePassedSockets({ sockets }: Pick<SystemdEnvironment, "sockets">): string | null {
  if (sockets === 0) return null;
  const them = sockets === 1 ? "a socket" : `${sockets} sockets`;
  return (
    `systemd passes ${them} to this service (LISTEN_FDS=${sockets}), and Fairlead cannot take them: it listens by itself, ` +
    "at ingest.listen and admin.listen of its config. Disable the socket unit, as with " +
    "`systemctl disable --now fairlead.socket`, and start the service"
  );
}

/** A memory card writes a few MB a second, and a step may write all of the outbox once or twice. */
const SLOWEST = 2 * MB;

/**
 * Asks for more time before each step of a migration: nothing can be said while one runs, and to be killed in the middle
 * of it would have it begin anew at each start.
 */
export function tellMigration({ extend }: Pick<Supervisor, "extend">, report: Pick<Report, "daemon">): Migrating {
  return (now) => {
    extend(allowance(now.bytes), migrationStatus(now));
    logStep(now, report);
  };
}

/** One line for each step: of its percents only systemd hears. */
function logStep({ step, of, share, copy }: MigrationStep, report: Pick<Report, "daemon">): void {
  if (copy !== undefined) report.daemon("copying_outbox", { to: copy });
  else if (share === undefined) report.daemon("migrating", { step, of });
}

function migrationStatus({ step, of, share, copy }: MigrationStep): string {
  if (copy !== undefined) return `keeps a copy of the outbox before it brings it up to date: ${copy}`;
  const percent = share === undefined ? "" : `, ${Math.floor(share * 100)}%`;
  return `brings the outbox up to date: step ${step} of ${of}${percent}`;
}

/** How long a step may take at most, on an outbox of so many bytes. */
function allowance(bytes: number): Ms {
  return 2 * MINUTE + (bytes / SLOWEST) * 1_000;
}

/** Tells the supervisor of each reload, whoever asks for it. Where several are under way, the last one says how it went. */
export function tellReloads(reload: Reload, { reloading, ready }: Pick<Supervisor, "reloading" | "ready">): Reload {
  let running = 0;
  return async () => {
    running += 1;
    if (running === 1) reloading();
    let status = "runs";
    try {
      const reloaded = await reload();
      status = toStatus(reloaded);
      return reloaded;
    } finally {
      running -= 1;
      if (running === 0) ready(status);
    }
  };
}

function toStatus(reloaded: Reloaded): string {
  if (reloaded.kind === "refused") return `runs by the config of before: the new one was refused (${reloaded.reason})`;
  if (reloaded.needsRestart.length === 0) return "runs by the newest config";
  return `runs by the newest config, but ${reloaded.needsRestart.join(", ")} only after a restart`;
}

type WatchdogWorld = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly supervisor: Pick<Supervisor, "alive" | "patience">;
  readonly vitals: () => Vitals;
  readonly report: Pick<Report, "daemon">;
};

/**
 * Says that the daemon is alive, at half of the time that the supervisor waits for it, but only while all goes round. When
 * something does not, it looks again every second: what is over in time has no consequences. Resolves when the
 * signal is aborted, or at once if nobody wants to hear of it.
 */
export async function feedWatchdog(world: WatchdogWorld, signal: AbortSignal): Promise<void> {
  const { clock, supervisor, report } = world;
  if (supervisor.patience === null) return;
  const every = supervisor.patience / 2;
  const again = Math.min(SECOND, every / 4);
  let stuckSince: number | null = null;

  while (!signal.aborted) {
    const stuck = await whatIsStuck(world, again);
    if (signal.aborted) return;
    if (stuck.length === 0) supervisor.alive();
    stuckSince = tell(stuck, stuckSince);
    await clock.sleep(stuck.length === 0 ? every : again, signal);
  }

  function tell(stuck: readonly string[], since: number | null): number | null {
    if (stuck.length > 0) {
      if (since === null) report.daemon("stuck", { what: stuck.join(", "), hint: HINT });
      return since ?? clock.now();
    }
    if (since !== null) report.daemon("unstuck", { after: { ms: clock.now() - since } });
    return null;
  }
}

const HINT = "if that goes on, the watchdog of systemd will start the daemon anew";

/** What does not go round, in words. Empty if all does. */
async function whatIsStuck({ clock, vitals }: WatchdogWorld, patience: Ms): Promise<readonly string[]> {
  const { store, stuckLoops } = vitals();
  const answers = await within(patience, store, clock);
  return [...(answers ? [] : ["the store"]), ...stuckLoops.map((name) => `the loop of ${name}`)];
}

/** False if it takes longer than that. */
async function within(patience: Ms, answer: Promise<boolean>, clock: Pick<Clock, "sleep">): Promise<boolean> {
  const over = new AbortController();
  const tooLate = clock.sleep(patience, over.signal).then(() => false);
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    over.abort();
  }
}
