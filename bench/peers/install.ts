/** What the bench needs beside Fairlead's own dependencies, to measure what a team would take instead of it. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

export const PEERS_FOLDER = resolve("dist/peers");
/** Pinned: another version is another number. */
const PACKAGES = { bullmq: "6.7.0", ioredis: "6.0.0" };
const HOW_TO_GET_REDIS = "install it (on Debian: apt install redis-server) or put one on the PATH";

/** Throws if there is no Redis. Installs BullMQ below dist/, where it is no dependency of anything. */
export function installPeers(): void {
  if (!Bun.which("redis-server"))
    throw new Error(`there is no redis-server to measure BullMQ with; ${HOW_TO_GET_REDIS}`);
  const wanted = JSON.stringify({ private: true, dependencies: PACKAGES });
  const installed = `${PEERS_FOLDER}/installed-${PACKAGES.bullmq}-${PACKAGES.ioredis}`;
  if (existsSync(installed)) return;
  mkdirSync(PEERS_FOLDER, { recursive: true });
  writeFileSync(`${PEERS_FOLDER}/package.json`, wanted);
  const { success, stderr } = Bun.spawnSync([process.execPath, "install", "--ignore-scripts"], { cwd: PEERS_FOLDER });
  if (!success) throw new Error(`BullMQ could not be installed:\n${stderr}`);
  writeFileSync(installed, "");
}
