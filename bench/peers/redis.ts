import type { Subprocess } from "bun";
import { end, start } from "../processes.ts";

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
