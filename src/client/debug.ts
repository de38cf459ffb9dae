import { printable } from "./printable.ts";
import { tell } from "./tell.ts";
import type { Trail, World } from "./world.ts";

/** Takes a line that is only made if somebody reads it. */
export type Debug = (line: () => string) => void;

type DebugWorld = Pick<World, "log" | "debugNames"> & { readonly trail: Trail };

/** `debug`: true, or who takes the lines; false leaves it to the environment variable DEBUG (SPEC.md 4.3 rule 6). */
export function createDebug(debug: boolean | ((line: string) => void), world: DebugWorld): Debug {
  if (typeof debug === "function") return toFunction(debug, world);
  if (!debug && !names(world.debugNames(), "analytics")) return () => {};
  return (line) => world.log(`analytics ${printable(line())}`);
}

/** The function does not hear of what it does itself: a call of its own would have it called again, and so on for ever. */
function toFunction(debug: (line: string) => void, { trail, log }: DebugWorld): Debug {
  return (line) => {
    if (!trail.isIn("debug")) trail.enter("debug", () => tell(() => debug(printable(line())), undefined, log));
  };
}

/** DEBUG is a list with commas or spaces; `*` is everything, and a minus takes a name out. */
export function names(list: string, name: string): boolean {
  const listed = list.split(/[\s,]+/);
  return !listed.includes(`-${name}`) && (listed.includes(name) || listed.includes("*"));
}
