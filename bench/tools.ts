import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { startWorker } from "./commands.ts";
import type { LoadCommands } from "./load.ts";
import { endAll } from "./processes.ts";
import type { ReceiverCommands } from "./receiver.ts";
import type { Tools } from "./run.ts";
import type { SickCommands } from "./sick.ts";

export type ToolOptions = {
  readonly fairlead: string;
  /** Where a folder for the stores is made. */
  readonly folder: string;
  /** Fairlead is run from its sources. */
  readonly profile: boolean;
};

/** Starts load and receivers, and ends every process and removes every store when the work is done or interrupted. */
export async function withTools(options: ToolOptions, work: (tools: Tools) => Promise<void>): Promise<void> {
  if (!options.profile && !existsSync(options.fairlead))
    throw new Error(`there is no ${options.fairlead}; run make build first`);
  const folder = mkdtempSync(join(resolve(options.folder), "bench-"));
  const cleanUp = async (): Promise<void> => {
    await endAll();
    rmSync(folder, { recursive: true, force: true });
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void cleanUp().then(() => process.exit(1)));
  try {
    await work(await startTools(options.fairlead, folder));
  } finally {
    await cleanUp();
  }
}

async function startTools(fairlead: string, folder: string): Promise<Tools> {
  const load = startWorker<LoadCommands>("load.ts");
  const receiver = startWorker<ReceiverCommands>("receiver.ts");
  const sick = startWorker<SickCommands>("sick.ts");
  const receiverPort = await receiver.ask("port");
  return { load, receiver, sick, receiverPort, folder, fairlead: [resolve(fairlead)], endBy: "SIGKILL" };
}
