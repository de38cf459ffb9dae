/** What the bench needs beside Fairlead's own dependencies, to measure what a team would have instead of it. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Subprocess } from "bun";
import { end, start } from "../processes.ts";

/** BullMQ on Redis, and a program in Go with SQLite. */
export const PEERS = ["bullmq", "go"] as const;
export type Peer = (typeof PEERS)[number];

export const PEERS_FOLDER = resolve("dist/peers");
export const GO_PEER = join(PEERS_FOLDER, "go-sqlite");
/** Pinned: another version is another number. */
const PACKAGES = { bullmq: "6.7.0", ioredis: "6.0.0" };

/** Those that can be measured, and why each of the others cannot. All that is installed or built is below dist/. */
export function preparePeers(): { readonly peers: readonly Peer[]; readonly missing: readonly string[] } {
  const why = { bullmq: installBullMQ(), go: buildGo() };
  const missing = PEERS.flatMap((peer) => (why[peer] === null ? [] : [why[peer]]));
  return { peers: PEERS.filter((peer) => why[peer] === null), missing };
}

function installBullMQ(): string | null {
  if (!Bun.which("redis-server"))
    return "BullMQ is not measured: there is no redis-server; install it (on Debian: apt install redis-server) or put one on the PATH";
  const wanted = JSON.stringify({ private: true, dependencies: PACKAGES });
  const installed = `${PEERS_FOLDER}/installed-${PACKAGES.bullmq}-${PACKAGES.ioredis}`;
  if (existsSync(installed)) return null;
  mkdirSync(PEERS_FOLDER, { recursive: true });
  writeFileSync(`${PEERS_FOLDER}/package.json`, wanted);
  const { success, stderr } = Bun.spawnSync([process.execPath, "install", "--ignore-scripts"], { cwd: PEERS_FOLDER });
  if (!success) return `BullMQ is not measured: it could not be installed:\n${stderr}`;
  writeFileSync(installed, "");
  return null;
}

/** SQLite's C sources are compiled into it, as they are into Fairlead. */
function buildGo(): string | null {
  const missing = ["go", "cc"].find((program) => !Bun.which(program));
  if (missing) return `Go is not measured: there is no ${missing}; put one on the PATH`;
  mkdirSync(PEERS_FOLDER, { recursive: true });
  const env = { ...process.env, CGO_ENABLED: "1" };
  const { success, stderr } = Bun.spawnSync(["go", "build", "-o", GO_PEER, "."], {
    cwd: join(import.meta.dir, "go"),
    env,
  });
  return success ? null : `Go is not measured: the program could not be built:\n${stderr}`;
}

/** Where it listens in its folder. Relative, as the path of a socket may have a hundred characters only. */
export const SOCKET = "redis.sock";

/** As durable as Fairlead: what is acknowledged is on the disk. */
const SETTINGS = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];

/** A Redis of its own in this folder, which nothing else can reach. Resolves once it takes commands. */
export async function startRedis(
  folder: string,
  launch: (command: readonly string[]) => string[],
): Promise<Subprocess> {
  const place = ["--port", "0", "--unixsocket", SOCKET, "--dir", folder];
  const redis = start(launch(["redis-server", ...SETTINGS, ...place]), {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let printed = "";
  for await (const chunk of redis.stdout as ReadableStream<Uint8Array>) {
    printed += new TextDecoder().decode(chunk);
    if (/ready to accept connections/i.test(printed)) return redis;
  }
  await end(redis);
  throw new Error(`redis-server has ended:\n${printed}`);
}
