import { lostBetween } from "../world/lost.ts";
import { nameOf, type Row } from "../world/rows.ts";
import { meet, type World, wrong } from "../world/world.ts";

/** Whatever ends has been given to a receiver, was refused, has had all of its time, or was ended by somebody, and says why. */
export function checkEnding(world: World, row: Row): void {
  const checks: Record<string, typeof checkFailed> = {
    delivered: checkDelivered,
    failed: checkFailed,
    expired: checkExpired,
  };
  meet(world, `ended: ${row.state}`);
  const found = checks[row.state]?.(world, row);
  if (found) wrong(world, `${nameOf(row)} is ${row.state}: ${found}`);
}

function checkDelivered({ tracks }: World, { messageId, destination }: Row): string | null {
  return tracks.of(messageId, destination).some((track) => track.succeededAt !== null) ? null : "no receiver has it";
}

function checkFailed(world: World, { reason, messageId, destination, source, event }: Row): string | null {
  if (reason === null) return "there is no reason";
  if (reason.startsWith("refused: ")) {
    return world.tracks.of(messageId, destination).some((track) => track.refusals > 0) ? null : "nobody has refused it";
  }
  const user = world.shell.read().events.get(event)?.userId ?? "";
  const reasons: Record<string, boolean> = {
    "discarded by operator": world.discarding === destination,
    superseded: messageId.startsWith("audience-"),
    "user deleted": world.deleted.has(`${user} ${source}`),
  };
  if (reason.endsWith(" has this event already")) return world.moving?.from === destination ? null : "it was not moved";
  return reasons[reason] ? null : `the reason is ${reason}`;
}

/** Nothing expires untried, or before its time: and no more time is granted to it than it has lost. */
function checkExpired(world: World, row: Row): string | null {
  const { attempts, firstAttemptAt, settledAt, stoodStill, destination } = row;
  if (attempts < 1 || firstAttemptAt === null || settledAt === null) return "it was never tried";
  const { cutoff } = world.shape;
  if (settledAt < firstAttemptAt + cutoff + stoodStill)
    return `${firstAttemptAt + cutoff + stoodStill - settledAt} ms too early`;
  const lost = lostBetween(world, destination, { from: firstAttemptAt, until: settledAt });
  return stoodStill > lost ? `it was granted ${stoodStill} ms, and has lost ${lost}` : null;
}
