import type { Migrating, Supervisor } from "../model/supervisor.ts";
import { MB, MINUTE, type Ms } from "../model/units.ts";

/** A memory card writes a few MB a second, and a step may write all of the outbox once or twice. */
const SLOWEST = 2 * MB;

/**
 * Asks for more time before each step of a migration: nothing can be said while one runs, and to be killed in the middle
 * of it would have it begin anew at each start.
 */
export function tellMigration({ extend }: Pick<Supervisor, "extend">): Migrating {
  return ({ step, of, bytes }) => extend(allowance(bytes), `brings the outbox up to date: step ${step} of ${of}`);
}

/** How long a step may take at most, on an outbox of so many bytes. */
function allowance(bytes: number): Ms {
  return 2 * MINUTE + (bytes / SLOWEST) * 1_000;
}
