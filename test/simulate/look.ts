/** What must be true after each step. A new check gets a file in checks/ and a line here; of single requests, in checks/requests.ts. */
import { checkAnswers } from "./checks/answers.ts";
import { checkEvents } from "./checks/bind.ts";
import { checkClocks } from "./checks/clocks.ts";
import { checkCommits } from "./checks/commits.ts";
import { checkCounters } from "./checks/counters.ts";
import { checkKept } from "./checks/kept.ts";
import { checkMemory } from "./checks/memory.ts";
import { checkOwn } from "./checks/own.ts";
import { checkPrompt } from "./checks/prompt.ts";
import { checkReplayed } from "./checks/replayed.ts";
import { checkTurns } from "./checks/turns.ts";
import type { World } from "./world/world.ts";

export async function look(world: World): Promise<void> {
  const before = world.rows;
  const after = world.shell.read();
  world.forgetful ||= world.told.some(({ what, args }) => what === "pruned" && args[1] === "space");
  checkEvents(world, before, after);
  checkAnswers(world, before, after);
  if (before !== after) {
    checkKept(world, before, after);
    checkOwn(world, before, after);
  }
  checkCommits(world);
  checkClocks(world, after);
  checkReplayed(world, after);
  await checkCounters(world, after);
  checkMemory(world);
  checkPrompt(world, after);
  checkTurns(world, after);
  world.rows = after;
}
