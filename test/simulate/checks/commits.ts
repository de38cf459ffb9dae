import { type World, wrong } from "../world/world.ts";

/** Only a disk that refuses something makes a commit fail: one that fails by itself would fail again and again. */
export function checkCommits(world: World): void {
  if (world.refused > 0) return;
  const failure = world.told.find(({ what }) => what === "storeFailed");
  if (failure)
    wrong(world, `the store has failed, and the disk has refused nothing: ${failure.args.map(String).join(": ")}`);
}
