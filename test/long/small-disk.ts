import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findBinary } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { acceptingCalls, type Daemon } from "../binary/world.ts";

/** Why there is nothing to test with; false if there is. */
export const MISSING = tells("unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt")
  ? false
  : "this machine mounts nothing: it takes root (CAP_SYS_ADMIN), with unshare, nsenter and mount of util-linux";
/** The same for a disk that can fail. */
export const MISSING_EXT4 =
  MISSING ||
  (tells("losetup", "--find") && tells("mkfs.ext4", "-V") ? false : "this machine has no loop devices, or no ext4");

function tells(file: string, ...args: readonly string[]): boolean {
  return spawnSync(file, args).status === 0;
}

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
  /** Of one in a file: fails as a disk does, after which the system lets nobody write to it. */
  fail(): void;
  /** Is well again. Nobody may use it at that time. */
  mend(): void;
};

/** `tmpfs` is in memory, `ext4` in a file. */
export type DiskKind = "tmpfs" | "ext4";

/**
 * The disk is mounted in a namespace of its own, which a process holds: when that is gone, and the daemon, so is the disk,
 * however the test ends.
 */
export async function makeSmallDisk(size: string, kind: DiskKind = "tmpfs"): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-long-"));
  const disk = join(folder, "disk");
  await mkdir(disk);
  const holder = await mount(disk, size, kind).catch(async (cause: unknown) => {
    await rm(folder, { recursive: true });
    throw cause;
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

  function inside(...command: readonly string[]): void {
    const all = ["--mount", "--target", String(holder.pid), "--", ...command];
    const { status, stderr } = spawnSync("nsenter", all, { encoding: "utf8" });
    if (status !== 0) throw new Error(`${command.join(" ")} has ended with ${status}: ${stderr}`);
  }

  return {
    begin,
    serve: async (config) => acceptingCalls(await begin(config)),
    occupy: (name, bytes) => writeFile(place(name), Buffer.alloc(bytes, 1)),
    vacate: (name) => rm(place(name)),
    fail: () => inside("mount", "-o", "remount,abort", disk),
    mend() {
      inside("umount", disk);
      inside("mount", "-o", "loop", `${disk}.ext4`, disk);
    },
    async [Symbol.asyncDispose]() {
      for (const one of processes.toReversed()) await one[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function mount(disk: string, size: string, kind: DiskKind): Promise<Process> {
  const holder = start("unshare", ["--mount", "--propagation", "private", "sh", "-euc", MOUNT[kind], disk, size]);
  await holder.line(/^mounted$/);
  return holder;
}

const MOUNT: Readonly<Record<DiskKind, string>> = {
  tmpfs: 'mount -t tmpfs -o "size=$1,mode=0700" tmpfs "$0"; echo mounted; exec sleep infinity',
  ext4: 'truncate -s "$1" "$0.ext4"; mkfs.ext4 -q -F "$0.ext4"; mount -o loop "$0.ext4" "$0"; echo mounted; exec sleep infinity',
};
