import type { Report } from "../model/report.ts";
import type { Migrating, MigrationStep, Supervisor } from "../model/supervisor.ts";
import { MB, MINUTE, type Ms } from "../model/units.ts";

/** A memory card writes a few MB a second, and a step may write all of the outbox once or twice. */
const SLOWEST = 2 * MB;

/** Asks for more time before each step of a migration: one that is killed in the middle begins again at each start. */
export function tellMigration({ extend }: Pick<Supervisor, "extend">, report: Pick<Report, "daemon">): Migrating {
  return (now) => {
    extend(allowance(now.bytes), statusOf(now));
    log(now, report);
  };
}

function log({ step, of, copy }: MigrationStep, report: Pick<Report, "daemon">): void {
  if (copy !== undefined) report.daemon("copying_outbox", { to: copy });
  else report.daemon("migrating", { step, of });
}

function statusOf({ step, of, copy }: MigrationStep): string {
  if (copy !== undefined) return `keeps a copy of the outbox before it brings it up to date: ${copy}`;
  return `brings the outbox up to date: step ${step} of ${of}`;
}

/** How long a step may take at most, on an outbox of so many bytes. */
function allowance(bytes: number): Ms {
  return 2 * MINUTE + (bytes / SLOWEST) * 1_000;
}
