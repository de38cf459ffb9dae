/** How the bench talks to the processes that it starts: it gives commands, and each gets one answer. */
import type { Subprocess } from "bun";
import { start } from "./processes.ts";

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
