/**
 * Polled instead of watched: editors replace the file, Kubernetes swaps a symbolic link above it, and network file systems
 * tell nobody of what others write.
 *
 * at rest:  every file is as it was when it was read.
 * moving:   one is not. It is looked at again until it has stood still for a moment: it may be half written.
 * changed:  `reload` reads all of them anew, and says as what; whether they were any good is not asked here.
 */
import type { Clock } from "../model/ports.ts";
import type { FileState, Look, Reload } from "../model/reload.ts";
import { type Ms, SECOND } from "../model/units.ts";

/** Together with the moment of standing still, a change is seen within two seconds. */
const POLL: Ms = SECOND;
const STILL: Ms = 700;
/** Until files are tried again that took too long: each time is a line in the log. */
const LATER: Ms = 30 * SECOND;
/** A file that never stands still is read in the end. */
const MOST_LOOKS = 20;

/** The files that a config was made of, and as what they were read. */
export type Seen = ReadonlyMap<string, FileState>;

export type WatchWorld = {
  readonly clock: Pick<Clock, "sleep">;
  readonly look: Look;
  /** As which state each file was read last. */
  readonly seen: () => Seen;
  readonly reload: Reload;
};

/** Reloads the config whenever a file that it was made of has changed. Resolves when the signal is aborted. */
export async function watchConfig(world: WatchWorld, signal: AbortSignal): Promise<void> {
  /** What has been told already: a state that could not be used is not reported again and again. */
  let told: Seen = new Map();
  while (!signal.aborted) {
    await world.clock.sleep(POLL, signal);
    if (signal.aborted) return;
    const states = await lookAt(world);
    if (isSame(states, world.seen()) || isSame(states, told)) continue;
    told = await untilStill(states, world, signal);
    if (signal.aborted || isSame(told, world.seen())) continue;
    const reloaded = await world.reload();
    if (reloaded.kind !== "refused" || !reloaded.again) continue;
    told = new Map();
    await world.clock.sleep(LATER, signal);
  }
}

async function untilStill(first: Seen, world: WatchWorld, signal: AbortSignal): Promise<Seen> {
  let states = first;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    await world.clock.sleep(STILL, signal);
    const later = await lookAt(world);
    if (isSame(later, states)) return later;
    states = later;
  }
  return states;
}

async function lookAt({ look, seen }: WatchWorld): Promise<Seen> {
  const paths = [...seen().keys()];
  const states = await Promise.all(paths.map(look));
  return new Map(paths.map((path, index) => [path, states[index] ?? ""]));
}

function isSame(one: Seen, other: Seen): boolean {
  return one.size === other.size && [...one].every(([path, state]) => other.get(path) === state);
}
