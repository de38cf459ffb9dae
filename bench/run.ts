/** What the measurements have in common: a server of their own that is warm, and webhooks that must all arrive. */
import { createHmac } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { SECRET } from "./config.ts";
import { type Contender, type Server, type Surroundings, startServer } from "./contender.ts";
import type { LoadCommands } from "./load.ts";
import { endAll, startWorker, type Worker } from "./processes.ts";
import type { Arrival, ReceiverCommands } from "./receiver.ts";
import type { Ids } from "./requests.ts";
import type { SickCommands } from "./sick.ts";
import type { Pace } from "./steady.ts";

export const CONNECTIONS = 64;
/** In ms, for the next webhook to come. */
const PATIENCE = 60_000;

export type Amounts = {
  /** Single calls in a run. */
  readonly calls: number;
  /** Events of batches in a run, at most: it ends earlier where taking them takes too long. */
  readonly events: number;
  /** Events that come in while the receiver is away. */
  readonly outage: number;
  /** Events that come in, wait and drain, for the rows of a million. */
  readonly million: number;
  /** Seconds that they wait, so that memory is then as it stays. */
  readonly waiting: number;
  /** Seconds of doing nothing. */
  readonly idle: number;
  /** Users of an audience. */
  readonly members: number;
  /** Seconds of steady load. */
  readonly seconds: number;
  /** The same for each pace of `steady`: fewer calls need longer. */
  readonly paced: Readonly<Record<Pace, number>>;
  /** Events that are sent before anything is measured, so that code is compiled and connections are open. */
  readonly warmup: number;
};

/** What every measurement uses. */
export type Tools = Surroundings & {
  readonly load: Worker<LoadCommands>;
  readonly receiver: Worker<ReceiverCommands>;
  readonly sick: Worker<SickCommands>;
};

export type Bench = Tools & {
  readonly amounts: Amounts;
  /** Have strace count fsyncs, in place of the disk's own counter. */
  readonly trace: boolean;
  /** How many sources the load comes from; one when left out. */
  readonly sources?: number;
};

export type Kind = {
  readonly port: number;
  readonly connections: number;
  readonly ids: Ids;
  readonly eventsPerRequest: number;
  readonly sources?: number;
};

export function kindOf({ port }: Server, ids: Ids): Omit<Kind, "eventsPerRequest"> {
  return { port, connections: CONNECTIONS, ids };
}

export async function withServer<T>(
  contender: Contender,
  tools: Tools,
  run: (server: Server) => Promise<T>,
): Promise<T> {
  const server = await startServer(contender, tools);
  try {
    return await Promise.race([run(server), server.crashed]);
  } catch (error) {
    // That its connections broke is noticed before that it has crashed, and says less.
    await Promise.race([server.crashed, Bun.sleep(200)]);
    throw error;
  } finally {
    await server.stop();
  }
}

export async function warmUp(kind: Kind, bench: Bench): Promise<void> {
  const { warmup } = bench.amounts;
  if (warmup === 0) return;
  await bench.receiver.ask("expect", { requests: warmup });
  await bench.load.ask("flood", { ...kind, requests: warmup / kind.eventsPerRequest });
  checkSample(await arrival(warmup, bench));
}

/** The first request says whether the server does its work: the body is the call, and the signature is right. */
export function checkSample({ sample }: Arrival): void {
  const [head = "", body = ""] = sample.split("\r\n\r\n");
  const signature = /\r\nx-signature: *([0-9a-f]+)/i.exec(head)?.[1];
  const right = createHmac("sha1", SECRET).update(body).digest("hex");
  if (signature !== right || !body.includes('"Item Purchased"')) throw new Error(`a wrong webhook came:\n${sample}`);
}

export async function arrival(expected: number, { receiver }: Tools): Promise<Arrival> {
  const late = Promise.withResolvers<never>();
  let seen = -1;
  const timer = setInterval(async () => {
    const { requests } = await receiver.ask("count");
    const soFar = `${requests} of ${expected} webhooks have come`;
    if (requests === seen) late.reject(new Error(`${soFar}, and nothing more for ${PATIENCE / 1_000} s`));
    seen = requests;
  }, PATIENCE);
  return Promise.race([receiver.ask("arrived"), late.promise]).finally(() => clearInterval(timer));
}

type ToolOptions = {
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
