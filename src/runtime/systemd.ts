/**
 * What systemd is told while it runs the daemon as a service of Type=notify, see sd_notify(3) and
 * packaging/systemd/fairlead.service:
 *
 * starting:  nothing, or EXTEND_TIMEOUT_USEC before each step of a migration.
 * running:   READY, and WATCHDOG again and again while all goes round (systemd-watchdog.ts).
 * reloading: RELOADING when the config is read anew, and READY when that is over, however it went.
 * stopping:  STOPPING. The watchdog is fed until the end.
 */
import type { Supervisor } from "../model/supervisor.ts";
import type { Ms } from "../model/units.ts";
import type { SystemdEnvironment } from "./systemd-environment.ts";
import { createNotify, type Notify } from "./systemd-notify.ts";

export type SupervisorWorld = {
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
