import { DAY } from "../../../src/model/units.ts";
import type { Entry } from "../world/ledger.ts";
import type { Rows } from "../world/rows.ts";
import { type World, wrong } from "../world/world.ts";
import { isCleared } from "./bind.ts";

/** What was acknowledged is in the outbox: as it is, or as what it is a repeat of. */
export function checkAnswers(world: World, before: Rows, after: Rows): void {
  for (const answer of world.answers) for (const entry of answer.entries) checkOne(world, entry);
  if (world.ended === 0 && !isCleared(world)) checkCounts(world, before, after);
  world.answers.length = 0;
}

function checkOne(world: World, entry: Entry): void {
  const { source, messageId } = entry;
  entry.acked = true;
  if (entry.event !== null) return;
  const others = world.ledger
    .of(source, messageId)
    .filter((other) => other !== entry && (other.event !== null || other.gone));
  if (others.some((other) => entry.at - other.at <= DAY)) return;
  // It came and went in this step: every receiver has it.
  const has = (destination: string): boolean =>
    world.tracks.of(messageId, destination).some((one) => one.succeededAt !== null);
  if (isCleared(world) && [...entry.takers].every(has)) {
    entry.gone = true;
    return;
  }
  const what =
    others.length > 0 ? "it was taken for a repeat of one from more than a day ago" : "it is not in the outbox";
  wrong(world, `${messageId} of ${source} was acknowledged, and ${what}`);
}

function checkCounts({ answers, told, ...world }: World, before: Rows, after: Rows): void {
  const accepted = sum(answers, ({ accepted }) => accepted);
  const stored = [...after.events.values()].filter(
    ({ id, messageId }) => !before.events.has(id) && /^m\d+$/.test(messageId),
  );
  if (stored.length !== accepted)
    wrong(world as World, `${accepted} calls were acknowledged as new, ${stored.length} are`);
  const reports = told.filter(({ what, args }) => what === "callsAccepted" && isOfPrograms(args[1]));
  const counted = sum(reports, ({ args }) => (args[1] as unknown[]).length - Number(args[2]));
  if (counted < accepted) wrong(world as World, `${accepted} calls were acknowledged as new, ${counted} were counted`);
}

/** Those of this server's own are told likewise. */
function isOfPrograms(types: unknown): boolean {
  return Array.isArray(types) && types.some((type) => type !== "delete");
}

function sum<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((all, one) => all + of(one), 0);
}
