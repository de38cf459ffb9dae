/**
 * The messages to systemd in a service of Type=notify, see sd_notify(3) and packaging/systemd/fairlead.service:
 *
 * starting:  nothing, or EXTEND_TIMEOUT_USEC before each step of a migration.
 * running:   READY, and WATCHDOG at intervals while the store and all loops respond.
 * reloading: RELOADING when a reload begins, and READY when it is over, even if the config was refused.
 * stopping:  STOPPING. WATCHDOG continues until the end.
 */
import process from "node:process";
import type { Migrating, MigrationStep, Reload, Reloaded, Supervisor, Vitals } from "../model/daemon.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { MB, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { createNotify, type Notify } from "./systemd-notify.ts";

type SupervisorOptions = {
  readonly environment: Pick<SystemdEnvironment, "socket" | "patience">;
  /** Called with the reason when the first of a series of messages cannot be sent. */
  readonly failed: (why: string) => void;
  /** How messages are sent to a socket; the machine's way if left out. */
  readonly connect?: (socket: string) => Notify;
};

/** Does nothing if systemd did not start this process. */
export function createSupervisor({ environment, failed, connect = createNotify }: SupervisorOptions): Supervisor {
  const { socket, patience } = environment;
  if (socket === null) return { ...NOBODY, patience: null };
  const { send, monotonic } = connect(socket);
  let isFailing = false;

  function notify(...lines: readonly string[]): void {
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
    ready: (status) => notify("READY=1", statusLine(status)),
    reloading() {
      const now = monotonic();
      // Type=notify-reload needs the time. It is not known where the C library cannot be called.
      notify("RELOADING=1", ...(now === null ? [] : [`MONOTONIC_USEC=${now}`]), "STATUS=reads its config");
    },
    stopping: () => notify("STOPPING=1", "STATUS=accepts no more calls and finishes running attempts"),
    extend: (by, status) => notify(`EXTEND_TIMEOUT_USEC=${Math.round(by * 1_000)}`, statusLine(status)),
    alive: () => notify("WATCHDOG=1"),
  };
}

const NOBODY: Omit<Supervisor, "patience"> = { ready() {}, reloading() {}, stopping() {}, extend() {}, alive() {} };

/** A line break would begin another assignment. */
function statusLine(text: string): string {
  return `STATUS=${text.replaceAll(/\s+/g, " ")}`;
}

/** What systemd passes to this process in environment variables. */
type SystemdEnvironment = {
  /** Where it receives messages: a path, or `@` and an abstract name. Null if nowhere. */
  readonly socket: string | null;
  /** Its watchdog ends the service after so long without a message. Null if there is none. */
  readonly patience: Ms | null;
  /** How many open sockets it passes, for a socket unit. */
  readonly sockets: number;
};

type Variables = Readonly<Record<string, string | undefined>>;

const NAMES = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];

/** Reads the variables and removes them: a program that this one starts must not speak for it. */
export function takeSystemdEnvironment(): SystemdEnvironment {
  const found = readSystemdEnvironment(process.env, process.pid);
  for (const name of NAMES) delete process.env[name];
  return found;
}

export function readSystemdEnvironment(variables: Variables, pid: number): SystemdEnvironment {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID = String(pid), LISTEN_FDS, LISTEN_PID } = variables;
  const microseconds = readCount(WATCHDOG_USEC);
  return {
    socket: NOTIFY_SOCKET || null,
    // Both are meant for the process that is named, and others may have inherited the variables.
    patience: WATCHDOG_PID === String(pid) && microseconds > 0 ? microseconds / 1_000 : null,
    sockets: LISTEN_PID === String(pid) ? readCount(LISTEN_FDS) : 0,
  };
}

/** A whole number; 0 if it is none. */
function readCount(text = ""): number {
  return /^\d+$/.test(text) ? Number(text) : 0;
}

/** Why a service cannot run with sockets of systemd, and what to do. Null if there are none. */
export function refusePassedSockets({ sockets }: Pick<SystemdEnvironment, "sockets">): string | null {
  if (sockets === 0) return null;
  const what = sockets === 1 ? "a socket" : `${sockets} sockets`;
  return (
    `systemd passes ${what} to this service (LISTEN_FDS=${sockets}), and Fairlead does not use them: it opens its own, ` +
    "at ingest.listen and admin.listen of its config. Disable the socket unit, as with " +
    "`systemctl disable --now fairlead.socket`, and start the service"
  );
}

/** A memory card writes a few MB a second, and a step may write the whole outbox once or twice. */
const SLOWEST_BYTES_PER_SECOND = 2 * MB;

/**
 * Asks for more time before each step of a migration, and logs it. A step cannot be interrupted to ask, and one that is
 * killed in the middle starts over at each start.
 */
export function tellMigration({ extend }: Pick<Supervisor, "extend">, report: Pick<Report, "daemon">): Migrating {
  return (now) => {
    const { step, of, copy, bytes } = now;
    extend(2 * MINUTE + (bytes / SLOWEST_BYTES_PER_SECOND) * SECOND, migrationStatus(now));
    if (copy !== undefined) report.daemon("copying_outbox", { to: copy });
    else report.daemon("migrating", { step, of });
  };
}

function migrationStatus({ step, of, copy }: MigrationStep): string {
  if (copy !== undefined) return `copying the outbox before the upgrade: ${copy}`;
  return `upgrading the outbox: step ${step} of ${of}`;
}

/** Announces the start and the end of each reload. Of several at once, the last one to end gives the status. */
export function tellReloads(reload: Reload, { reloading, ready }: Pick<Supervisor, "reloading" | "ready">): Reload {
  let running = 0;
  return async () => {
    running += 1;
    if (running === 1) reloading();
    let status = "runs";
    try {
      const reloaded = await reload();
      status = reloadStatus(reloaded);
      return reloaded;
    } finally {
      running -= 1;
      if (running === 0) ready(status);
    }
  };
}

function reloadStatus(reloaded: Reloaded): string {
  if (reloaded.kind === "refused") return `runs with the previous config: the new one was refused (${reloaded.reason})`;
  if (reloaded.needsRestart.length === 0) return "runs with the newest config";
  return `runs with the newest config, but ${reloaded.needsRestart.join(", ")} only after a restart`;
}

type WatchdogOptions = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly supervisor: Pick<Supervisor, "alive" | "patience">;
  readonly vitals: () => Vitals;
  readonly report: Pick<Report, "daemon">;
};

/**
 * Feeds systemd's watchdog at half of its interval, but only while the store and all loops respond. While one of them is
 * stuck it checks again every second, so that a short hang has no consequences. Resolves when the signal is aborted, or at
 * once if there is no watchdog.
 */
export async function feedWatchdog(options: WatchdogOptions, signal: AbortSignal): Promise<void> {
  const { clock, supervisor, report } = options;
  if (supervisor.patience === null) return;
  const every = supervisor.patience / 2;
  const again = Math.min(SECOND, every / 4);
  let stuckSince: number | null = null;

  while (!signal.aborted) {
    const stuck = await findStuck(options, again);
    if (signal.aborted) return;
    if (stuck.length === 0) {
      supervisor.alive();
      if (stuckSince !== null) report.daemon("unstuck", { after: { ms: clock.now() - stuckSince } });
      stuckSince = null;
    } else if (stuckSince === null) {
      stuckSince = clock.now();
      const hint = "if this continues, the watchdog of systemd restarts the daemon";
      report.daemon("stuck", { what: stuck.join(", "), hint });
    }
    await clock.sleep(stuck.length === 0 ? every : again, signal);
  }
}

async function findStuck({ clock, vitals }: WatchdogOptions, patience: Ms): Promise<readonly string[]> {
  const { store, stuckLoops } = vitals();
  const over = new AbortController();
  const late = clock.sleep(patience, over.signal).then(() => false);
  const responds = await Promise.race([store, late]).finally(() => over.abort());
  return [...(responds ? [] : ["the store"]), ...stuckLoops.map((name) => `the loop of ${name}`)];
}
