/**
 * Every process that the bench starts, so that none outlives it, and how it talks to those that work for it: it gives
 * commands, and each gets one answer.
 */
import type { Spawn, Subprocess } from "bun";

/** Milliseconds since 1970, with fractions and never stepping back, so that processes of one machine can be compared. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

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

/** What a process can be told. Arguments and answers travel as JSON. */
type Commands<C> = Record<keyof C, (argument: never) => unknown>;

type Question = { readonly id: number; readonly name: string; readonly argument: unknown };
type Reply = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly failed: string };

/** In the process: obeys commands until whoever started it is gone. */
export function obey<C extends Commands<C>>(commands: C): void {
  process.on("message", async ({ id, name, argument }: Question) => {
    process.send?.(await answer(id, () => commands[name as keyof C](argument as never)));
  });
  process.on("disconnect", () => process.exit());
}

async function answer(id: number, run: () => unknown): Promise<Reply> {
  try {
    return { id, result: await run() };
  } catch (error) {
    return { id, failed: error instanceof Error ? error.message : String(error) };
  }
}

export type Worker<C extends Commands<C>> = {
  readonly pid: number;
  /** Rejects with what the process threw, or when it ended. */
  ask<Name extends keyof C>(name: Name, ...argument: Parameters<C[Name]>): Promise<Awaited<ReturnType<C[Name]>>>;
};

/** Starts a file of this folder as a process of its own. */
export function startWorker<C extends Commands<C>>(file: string): Worker<C> {
  const open = new Map<number, PromiseWithResolvers<never>>();
  const child: Subprocess = start([process.execPath, `${import.meta.dir}/${file}`], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (reply: Reply) => settle(open, reply),
    onExit: () => {
      for (const { reject } of open.values()) reject(new Error(`${file} has ended`));
    },
  });
  let asked = 0;
  return {
    pid: child.pid,
    ask(name, ...[argument]) {
      asked += 1;
      const waiting = Promise.withResolvers<never>();
      open.set(asked, waiting);
      child.send({ id: asked, name, argument });
      return waiting.promise;
    },
  };
}

function settle(open: Map<number, PromiseWithResolvers<never>>, reply: Reply): void {
  const waiting = open.get(reply.id);
  open.delete(reply.id);
  if ("failed" in reply) waiting?.reject(new Error(reply.failed));
  else waiting?.resolve(reply.result as never);
}
