/** Every process that the bench starts, so that none outlives it. */
import type { Spawn, Subprocess } from "bun";

type Options = Spawn.SpawnOptions<Spawn.Writable, Spawn.Readable, Spawn.Readable>;

const running = new Set<Subprocess>();

export function start(command: string[], options: Options): Subprocess {
  const child: Subprocess = Bun.spawn(command, options);
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

/** Ends a process and waits until it is gone. By default it gets no time to say good-bye: what it holds is thrown away. */
export async function end(child: Subprocess, signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
  child.kill(signal);
  await child.exited;
}

export async function endAll(): Promise<void> {
  await Promise.all([...running].map((child) => end(child)));
}
