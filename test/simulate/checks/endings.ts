import { type Ms, SECOND } from "../../../src/model/units.ts";
import { stoodStillAtLeast } from "../world/clocks.ts";
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

/** An attempt that began before this may not know of all the times that ended while it ran. */
const WHILE_IT_RAN: Ms = 5 * SECOND;

/** Nothing expires untried, or before its time, in which its destination was not paused. That it has no more: once.ts. */
function checkExpired(world: World, { attempts, firstAttemptAt, settledAt, destination }: Row): string | null {
  if (attempts < 1 || firstAttemptAt === null || settledAt === null) return "it was never tried";
  const between = { from: firstAttemptAt + WHILE_IT_RAN, until: settledAt };
  const earliest = firstAttemptAt + world.shape.cutoff + stoodStillAtLeast(world, destination, between);
  return settledAt < earliest ? `${earliest - settledAt} ms too early` : null;
}
