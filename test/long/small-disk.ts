import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findBinary } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { acceptingCalls, type Daemon } from "../binary/world.ts";

const NEEDS =
  "this test fills a small disk of its own: it has to mount a tmpfs, which root may do (CAP_SYS_ADMIN), with unshare, " +
  "nsenter and mount of util-linux";

/** A disk in memory that can really be full, with a daemon that has its outbox there. */
export type SmallDisk = AsyncDisposable & {
  /** Starts the daemon anew, on what the disk holds. Of `config` all but the outbox's path. */
  serve(config: { readonly outbox?: object }): Promise<Daemon>;
  /** As `serve`, for one that is not expected to get as far. */
  begin(config: { readonly outbox?: object }): Promise<Process>;
  /** Writes a file of another program. */
  occupy(name: string, bytes: number): Promise<void>;
  /** Removes it. */
  vacate(name: string): Promise<void>;
};

/**
 * The disk is mounted in a namespace of its own, which a process holds: when that is gone, and the daemon, so is the disk,
 * however the test ends.
 */
export async function makeSmallDisk(size: string): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-long-"));
  const disk = join(folder, "disk");
  await mkdir(disk);
  const holder = await mount(disk, size).catch(async (cause: unknown) => {
    await rm(folder, { recursive: true });
    throw new Error(`${NEEDS}; ${cause instanceof Error ? cause.message : cause}`, { cause });
  });
  const processes = [holder];
  /** From outside of the namespace. */
  const place = (name: string): string => join(`/proc/${holder.pid}/root`, disk, name);

  async function begin({ outbox, ...config }: { readonly outbox?: object }): Promise<Process> {
    const file = join(folder, "config.yaml");
    const path = join(disk, "fairlead.db");
    await writeFile(file, JSON.stringify({ ...config, outbox: { path, ...outbox } }), { mode: 0o600 });
    const inside = ["--mount", "--target", String(holder.pid), findBinary(), "serve", "--config", file];
    const daemon = start("nsenter", inside, { env: { PATH: process.env.PATH, TMPDIR: folder } });
    processes.push(daemon);
    return daemon;
  }

  return {
    begin,
    serve: async (config) => acceptingCalls(await begin(config)),
    occupy: (name, bytes) => writeFile(place(name), Buffer.alloc(bytes, 1)),
    vacate: (name) => rm(place(name)),
    async [Symbol.asyncDispose]() {
      for (const one of processes.toReversed()) await one[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function mount(disk: string, size: string): Promise<Process> {
  const holder = start("unshare", ["--mount", "--propagation", "private", "sh", "-c", MOUNT, disk, size]);
  await holder.line(/^mounted$/);
  return holder;
}

const MOUNT = 'mount -t tmpfs -o "size=$1,mode=0700" tmpfs "$0" && echo mounted && exec sleep infinity';
