import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { writeSmallConfig } from "./config.ts";
import { GO_PEER, PEERS, PEERS_FOLDER, startRedis } from "./peers/peers.ts";
import { end, now, start } from "./processes.ts";
import { traced } from "./usage.ts";

/** Whatever is measured: each does the same work, and has a store of its own. */
export const CONTENDERS = ["floor", "fairlead", ...PEERS] as const;
export type Contender = (typeof CONTENDERS)[number];

export type Server = {
  readonly pid: number;
  /** All that it consists of: its own process, and those that work for it. */
  readonly pids: readonly number[];
  readonly port: number;
  /** Where it takes an operator's commands; null if it has none. */
  readonly adminPort: number | null;
  /** Its folder. */
  readonly data: string;
  /** Whether strace counts its fsyncs. */
  readonly traced: boolean;
  /** The path of its config file; the floor has none there. */
  readonly config: string;
  /** When it was started, by the clock of `now`. */
  readonly startedAt: number;
  /** Rejects when the server ends by itself. */
  readonly crashed: Promise<never>;
  /** Ends it, and leaves its data where they are. */
  end(by: Ending): Promise<void>;
  /** Ends it, and removes its data unless they were there before. */
  stop(): Promise<void>;
};

/** SIGTERM where it has something to write at its end. */
export type Ending = "SIGKILL" | "SIGTERM";

export type Surroundings = {
  /** Where folders for data are made. */
  readonly folder: string;
  /** How Fairlead is run: a program and its arguments, without the command. */
  readonly fairlead: readonly string[];
  readonly receiverPort: number;
  /** What the others send to, and the file of the authority that they trust there; the plain receiver when left out. */
  readonly target?: { readonly url: string; readonly ca?: string };
  /** Fairlead's config; the smallest when left out. */
  readonly config?: string;
  /** The data of an earlier server, to go on with, or a folder for them; a new one when left out. */
  readonly data?: string;
  /** Have strace count its fsyncs. */
  readonly traced?: boolean;
  /** What stops a server. */
  readonly endBy: Ending;
};

/** Starts a contender, with an empty store unless there are data. Resolves once it takes calls. */
export async function startServer(contender: Contender, around: Surroundings): Promise<Server> {
  const data = around.data ?? mkdtempSync(join(around.folder, `bench-${contender}-`));
  const log = join(data, "log");
  const command = COMMANDS[contender](data, around);
  const launch = (wanted: readonly string[]): string[] => (around.traced ? traced(wanted, data) : [...wanted]);
  const redis = contender === "bullmq" ? await startRedis(data, launch) : null;
  const startedAt = now();
  const child = start(launch(command), { cwd: data, stdio: ["ignore", "pipe", Bun.file(log)] });
  let stopping = false;
  const crashed = child.exited.then((code): never | Promise<never> => {
    if (stopping) return new Promise(() => {});
    throw new Error(`${contender} has ended with ${code}:\n${readFileSync(log, "utf8").slice(-2_000)}`);
  });
  // Whoever measures waits for it; until then it has no listener.
  crashed.catch(() => {});
  const [port = 0, adminPort = null] = await Promise.race([readPorts(child, ADDRESSES[contender]), crashed]);
  return {
    pid: child.pid,
    pids: redis ? [child.pid, redis.pid] : [child.pid],
    port,
    adminPort,
    data,
    traced: around.traced ?? false,
    config: configIn(data),
    startedAt,
    crashed,
    end: endBy,
    async stop() {
      await endBy(around.endBy);
      if (around.data === undefined) rmSync(data, { recursive: true });
    },
  };

  async function endBy(signal: Ending): Promise<void> {
    stopping = true;
    await end(child, signal);
    if (redis) await end(redis);
  }
}

const ADDRESSES: Readonly<Record<Contender, readonly string[]>> = {
  floor: ["ingest"],
  fairlead: ["ingest", "admin"],
  bullmq: ["ingest"],
  go: ["ingest"],
};

const COMMANDS: Readonly<Record<Contender, (data: string, around: Surroundings) => string[]>> = {
  floor: (data, around) => [process.execPath, FLOOR, data, ...targetOf(around)],
  fairlead: fairleadCommand,
  bullmq: (_data, around) => [process.execPath, BULLMQ, PEERS_FOLDER, ...targetOf(around)],
  go: (data, around) => [GO_PEER, data, ...targetOf(around)],
};

const FLOOR = join(import.meta.dir, "floor.ts");
const BULLMQ = join(import.meta.dir, "peers/bullmq.ts");

function fairleadCommand(data: string, { fairlead, receiverPort, config }: Surroundings): string[] {
  writeFileSync(configIn(data), config ?? writeSmallConfig(receiverPort));
  return [...fairlead, "serve"];
}

function configIn(data: string): string {
  return join(data, "config.yaml");
}

function targetOf({ receiverPort, target }: Surroundings): readonly string[] {
  const { url, ca } = target ?? { url: `http://127.0.0.1:${receiverPort}/` };
  return ca === undefined ? [url] : [url, ca];
}

/** All print the addresses of the ports that they were given, once they take calls. */
async function readPorts({ stdout }: Subprocess, names: readonly string[]): Promise<readonly number[]> {
  let printed = "";
  for await (const chunk of stdout as ReadableStream<Uint8Array>) {
    printed += new TextDecoder().decode(chunk);
    const ports = names.map((name) => portOf(name, printed));
    if (!ports.includes(undefined)) return ports.map(Number);
  }
  throw new Error(`the server has not said where it listens:\n${printed}`);
}

function portOf(name: string, printed: string): string | undefined {
  return new RegExp(`^${name} +http://127\\.0\\.0\\.1:(\\d+)\\s`, "m").exec(printed)?.[1];
}
