import { tell } from "./tell.ts";

/** Takes a line that is only made if somebody reads it. */
export type Debug = (line: () => string) => void;

type DebugWorld = { log(line: string): void; debugNames(): string };

/** `debug`: true, or who takes the lines; false leaves it to the environment variable DEBUG (SPEC.md 4.3 rule 6). */
export function createDebug(debug: boolean | ((line: string) => void), world: DebugWorld): Debug {
  if (typeof debug === "function") return (line) => tell(() => debug(line()), undefined, world.log);
  if (!debug && !names(world.debugNames(), "analytics")) return () => {};
  return (line) => world.log(`analytics ${line()}`);
}

/** DEBUG is a list with commas or spaces; `*` is everything, and a minus takes a name out. */
export function names(list: string, name: string): boolean {
  const listed = list.split(/[\s,]+/);
  return !listed.includes(`-${name}`) && (listed.includes(name) || listed.includes("*"));
}
