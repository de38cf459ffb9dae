import type { Disk } from "../../../model/space.ts";
import { GB } from "../../../model/units.ts";
import { findLostCommits } from "../log-check.ts";
import { logOf } from "../outbox.ts";

/** A command has the time that a start has not, and not any amount of memory. */
const MOST = GB;

/** What SQLite would not take of an outbox's log, and says nothing of; null if it takes all. A daemon may have the outbox open. */
export async function damageOfLog(outbox: string, disk: Pick<Disk, "size" | "read">): Promise<string | null> {
  let lost: Error | null = null;
  // Looked for twice: the daemon may begin the log anew meanwhile.
  for (let look = 0; look < 2; look += 1) {
    lost = await findLostCommits(logOf(outbox), disk, MOST);
    if (lost === null) return null;
  }
  return lost?.message ?? null;
}
