import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { end, start } from "./processes.ts";
import { WRITE_KEY } from "./requests.ts";

/** Whatever is measured: each does the same work, and has a store of its own. */
export const CONTENDERS = ["floor", "fairlead"] as const;
export type Contender = (typeof CONTENDERS)[number];

export const SECRET = "bench-secret";

export type Server = {
  readonly pid: number;
  readonly port: number;
  /** Rejects when the server ends by itself. */
  readonly crashed: Promise<never>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
};

export type Surroundings = {
  /** Where folders for data are made. */
  readonly folder: string;
  /** How Fairlead is run: a program and its arguments, without the command. */
  readonly fairlead: readonly string[];
  readonly receiverPort: number;
  /** What ends a server: SIGTERM if it has something to write at its end. */
  readonly endBy: "SIGKILL" | "SIGTERM";
};

/** Starts a contender with an empty store. Resolves once it takes calls. */
export async function startServer(contender: Contender, around: Surroundings): Promise<Server> {
  const data = mkdtempSync(join(around.folder, `bench-${contender}-`));
  const log = join(data, "log");
  const command = contender === "floor" ? floorCommand(data, around) : fairleadCommand(data, around);
  const child = start(command, { cwd: data, stdio: ["ignore", "pipe", Bun.file(log)] });
  let stopping = false;
  const crashed = child.exited.then((code): never | Promise<never> => {
    if (stopping) return new Promise(() => {});
    throw new Error(`${contender} has ended with ${code}:\n${readFileSync(log, "utf8").slice(-2_000)}`);
  });
  // Whoever measures waits for it; until then it has no listener.
  crashed.catch(() => {});
  const port = await Promise.race([readPort(child), crashed]);
  return {
    pid: child.pid,
    port,
    crashed,
    async stop() {
      stopping = true;
      await end(child, around.endBy);
      rmSync(data, { recursive: true });
    },
  };
}

function floorCommand(data: string, { receiverPort }: Surroundings): string[] {
  return [process.execPath, join(import.meta.dir, "floor.ts"), data, urlOf(receiverPort)];
}

function fairleadCommand(data: string, { fairlead, receiverPort }: Surroundings): string[] {
  writeFileSync(
    join(data, "config.yaml"),
    `ingest: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
outbox: { maxSize: 64GB }
sources: { bench: { writeKey: ${WRITE_KEY} } }
destinations: { bench: { webhooks: [{ url: "${urlOf(receiverPort)}" }], sharedSecret: ${SECRET} } }
`,
  );
  return [...fairlead, "serve"];
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}/`;
}

/** Both print the address of the port that they were given, once they take calls. */
async function readPort({ stdout }: Subprocess): Promise<number> {
  let printed = "";
  for await (const chunk of stdout as ReadableStream<Uint8Array>) {
    printed += new TextDecoder().decode(chunk);
    const port = /^ingest http:\/\/127\.0\.0\.1:(\d+)\s/m.exec(printed)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error(`the server has not said where it listens:\n${printed}`);
}
