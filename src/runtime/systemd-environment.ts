import process from "node:process";
import type { Ms } from "../model/units.ts";

/** What systemd says to a service by its environment, as far as it is meant for this process. */
export type SystemdEnvironment = {
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
