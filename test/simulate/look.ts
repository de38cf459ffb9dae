import { type Ms, SECOND } from "../../src/model/units.ts";
import { checkAnswers, checkEvents, isCleared } from "./checks/answers.ts";
import { checkClocks } from "./checks/clocks.ts";
import { checkKept } from "./checks/kept.ts";
import { checkPrompt, checkTurns } from "./checks/turns.ts";
import { type EventRow, type Rows, readRows } from "./world/rows.ts";
import { isDoubtful, type World, wrong } from "./world/world.ts";

/** What must be true after each step. A new check has its place in checks/ and a line here; of single requests, in checks/requests.ts. */
export async function look(world: World): Promise<void> {
  const before = world.rows;
  // A look makes the store write what could wait.
  await world.engine.catchUp(world);
  const after = await readRows(world);
  world.forgetful ||= world.told.some(({ what, args }) => what === "pruned" && args[1] === "space");
  checkEvents(world, before, after);
  checkAnswers(world, before, after);
  checkKept(world, before, after);
  checkOwn(world, after);
  checkCommits(world);
  checkClocks(world, after);
  checkReplayed(world, after);
  if (!isUnsettled(world)) await checkCounters(world, after);
  if (!isRecovering(world)) checkPrompt(world, after);
  // Each daemon of several has turns of its own.
  if (!world.engine.isShared) checkTurns(world, after);
  endExcuses(world, after);
  world.rows = after;
}

/** What a daemon leaves has to move on within so long of its death. */
const TO_RECOVER: Ms = 10 * SECOND;
/** A daemon writes what it has counted with each beat. */
const TO_COUNT: Ms = 2 * SECOND;

/** A daemon was killed, suspended or cut off just now, or is suspended or cut off still. */
function isRecovering({ lives, disturbedAt, life }: World): boolean {
  return life.clock.now() - disturbedAt < TO_RECOVER || lives.some((one) => !one.dead && isDoubtful(one));
}

/** There may be changes that a daemon has not counted for the others yet. */
function isUnsettled(world: World): boolean {
  if (!world.engine.isShared) return false;
  const since = world.life.clock.now() - TO_COUNT;
  return isRecovering(world) || world.told.some(({ at, what }) => at >= since && what !== "attempted");
}

function endExcuses({ tracks, lives }: World, { deliveries }: Rows): void {
  if (lives.some((one) => !one.dead && isDoubtful(one))) return;
  const waiting = new Set<string>();
  for (const { state, messageId, destination } of deliveries.values())
    if (state === "waiting") waiting.add(`${messageId} ${destination}`);
  tracks.endExcuses(({ id, destination }) => waiting.has(`${id} ${destination}`));
}

/** What the daemon says itself, of a deletion or a membership, it says once. */
function checkOwn(world: World, after: Rows): void {
  const seen = new Map<string, EventRow>();
  for (const event of after.events.values()) {
    if (!/^(audience|delete)-/.test(event.messageId)) continue;
    const other = seen.get(event.messageId);
    if (other) wrong(world, `${event.messageId} is event ${other.id}, and event ${event.id} as well`);
    seen.set(event.messageId, event);
  }
}

/** Only a disk that refuses something makes a commit fail: one that fails by itself would fail again and again. */
function checkCommits(world: World): void {
  if (world.refused > 0 || isRecovering(world) || world.disturbedAt >= world.stepAt) return;
  const failure = world.told.find(({ what }) => what === "storeFailed");
  if (failure)
    wrong(world, `the store has failed, and the disk has refused nothing: ${failure.args.map(String).join(": ")}`);
}

/** What the daemon counts in memory is what is in the outbox. */
async function checkCounters(world: World, after: Rows): Promise<void> {
  const rows = new Map<string, number>();
  for (const { destination, state } of after.deliveries.values()) add(rows, `${destination} ${state}`, 1);
  world.reading = true;
  const counts = (await world.life.backlog?.counts()) ?? [];
  world.reading = false;
  for (const { destination, state, count } of counts) add(rows, `${destination} ${state}`, -count);
  for (const [what, difference] of rows) {
    if (difference !== 0) wrong(world, `${what}: ${difference} more than are counted`);
  }
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/** What is said to have been replayed was. Others may have been as well, in the same moment: a process has died before it could say so. */
function checkReplayed(world: World, after: Rows): void {
  // What was removed to make room, or erased, cannot be counted.
  if (world.replayed === 0 || world.ended > 0 || isCleared(world)) return;
  const those = [...after.deliveries.values()].filter(({ replayedAt }) => (replayedAt ?? 0) >= world.stepAt);
  if (those.length < world.replayed) wrong(world, `${world.replayed} are said to be replayed, and ${those.length} are`);
}
