import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { findBinary, ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";

/** Why there is nothing to test with; false if there is. */
export const MISSING = ["/lib/systemd/systemd", "/usr/bin/systemd-analyze"].every((path) => existsSync(path))
  ? false
  : "there is no systemd on this machine (apt install systemd)";

const NEEDS =
  "this test starts a systemd of its own: it needs that of Debian (apt install systemd), and root (CAP_SYS_ADMIN) for " +
  "namespaces and mounts";

/** What a command in the machine has said. */
export type Said = { readonly code: number | null; readonly text: string };

/** A machine of its own as far as systemd can tell, with the binary, the unit and the user installed as on a real one. */
export type SystemdWorld = AsyncDisposable & {
  /** Runs a command in it, as root. */
  run(command: string, ...args: readonly string[]): Said;
  /** The same, and throws unless it ends with 0. Answers what it has printed. */
  do(command: string, ...args: readonly string[]): string;
  /** Starts a command in it that goes on. */
  start(command: string, ...args: readonly string[]): Process;
  /** The same, and it ends only with the machine. */
  startInside(command: string, ...args: readonly string[]): Process;
  /** Starts a program of this machine in its network. */
  startBeside(command: string, ...args: readonly string[]): Process;
  /** From outside: the path of a file in it. */
  path(name: string): string;
  /** Writes the config, as docs/install/systemd.md says. */
  configure(config: object): Promise<void>;
  /** Sets what `systemctl edit fairlead` would. */
  edit(settings: string): Promise<void>;
  /** What `systemctl show` says. */
  show(property: string): string;
  /** The first line of the journal that matches. Rejects if there is none for long. */
  journal(pattern: RegExp): Promise<string>;
};

export type SystemdOptions = {
  /** The root of the machine; left out, this machine's own. */
  readonly tree?: string;
  /** Packages for Debian, to be found in /root: they are to be installed by the test, and Fairlead is not there before. */
  readonly packages?: readonly string[];
  /** Whether it has a network of its own, with nobody else in it. */
  readonly isAlone?: boolean;
};

/**
 * The tree of this machine with a layer above it that takes what is written, in namespaces of its own. PID 1 in there is
 * a real systemd, which knows no units but those below. When it ends, all of it is gone, however the test ends.
 */
export async function makeSystemdWorld(options: SystemdOptions = {}): Promise<SystemdWorld> {
  const { tree = "/", packages, isAlone = false } = options;
  const network = isAlone ? ["--net"] : [];
  const folder = await mkdtemp(join(tmpdir(), "fairlead-systemd-"));
  for (const name of ["layer", "root", "units", "packages"]) await mkdir(join(folder, name));
  await writeUnits(join(folder, "units"), tree);
  for (const one of packages ?? []) await copyFile(one, join(folder, "packages", basename(one)));
  const machine = start(
    "unshare",
    [...NAMESPACES, ...network, "bash", "-euc", BOOT, folder, findBinary(), join(ROOT, "packaging"), BOOT_INSIDE],
    {
      env: {
        PATH: process.env.PATH,
        HOME: "/root",
        tree,
        alone: isAlone ? "yes" : "",
        setup: packages ? FOR_PACKAGES : BY_HAND,
      },
    },
  );
  const booted = await machine.line(/^booting \d+ /).catch(async (cause: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`${NEEDS}; ${cause instanceof Error ? cause.message : cause}`, { cause });
  });
  const [, pid = "", group = ""] = booted.split(" ");
  const inside = ["--target", pid, "--mount", "--pid", "--ipc", "--uts", "--cgroup", ...network, "--root"];
  const world: SystemdWorld = {
    run(command, ...args) {
      const { status, stdout, stderr, error } = spawnSync("nsenter", [...inside, command, ...args], {
        encoding: "utf8",
      });
      if (error) throw error;
      return { code: status, text: `${stdout}${stderr}` };
    },
    do(command, ...args) {
      const { code, text } = world.run(command, ...args);
      if (code === 0) return text;
      throw new Error(`${command} ${args.join(" ")} has ended with ${code}: ${text}\n${machine.err.join("\n")}`);
    },
    // Without --pid, for which nsenter would stay in between, and not hand a kill on.
    start: (command, ...args) => start("nsenter", ["--target", pid, "--mount", ...network, "--root", command, ...args]),
    startInside: (command, ...args) =>
      start("nsenter", [...inside, command, ...args], { env: { PATH: process.env.PATH } }),
    startBeside: (command, ...args) => start("nsenter", ["--target", pid, ...network, command, ...args]),
    path: (name) => join(`/proc/${pid}/root`, name),
    async configure(config) {
      await writeFile(world.path("/etc/fairlead/config.yaml"), JSON.stringify(config), { mode: 0o640 });
      world.do("chgrp", "-R", "fairlead", "/etc/fairlead");
    },
    async edit(settings) {
      const place = world.path("/run/systemd/system/fairlead.service.d");
      await mkdir(place, { recursive: true });
      await writeFile(join(place, "override.conf"), settings);
      world.do("systemctl", "daemon-reload");
    },
    show: (property) => world.do("systemctl", "show", "fairlead", "--value", "--property", property).trim(),
    async journal(pattern) {
      const found = (): string | undefined =>
        world
          .do("journalctl", "--output=cat")
          .split("\n")
          .find((line) => pattern.test(line));
      await until(() => found() !== undefined);
      return found() ?? "";
    },
    async [Symbol.asyncDispose]() {
      await machine[Symbol.asyncDispose]();
      await removeGroup(group);
      await rm(folder, { recursive: true, force: true });
    },
  };
  await ready(world);
  return world;
}

/** Until PID 1 takes orders. */
async function ready(world: SystemdWorld): Promise<void> {
  await until(() => /^(running|degraded)/.test(world.run("systemctl", "is-system-running").text)).catch((cause) => {
    throw new Error(`${NEEDS}; it does not get up: ${world.run("systemctl", "--no-pager", "status").text}`, { cause });
  });
}

/** systemd tells nobody when it is so far: it has to be asked. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("it has not become so in half a minute");
}

/** From the innermost out, as soon as the last process in each is gone. */
async function removeGroup(group: string): Promise<void> {
  const inner = readdirSync(group, { recursive: true, withFileTypes: true }).filter((one) => one.isDirectory());
  const all = [group, ...inner.map(({ parentPath, name }) => join(parentPath, name))];
  for (const one of all.sort((a, b) => b.length - a.length)) await until(() => isRemoved(one));
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** What the service waits for by default, without what a real machine does then to its disks and devices. */
async function writeUnits(folder: string, tree: string): Promise<void> {
  const targets = ["sysinit", "basic", "shutdown", "sockets", "multi-user", "network", "nss-lookup"];
  for (const name of targets) await writeFile(join(folder, `${name}.target`), "[Unit]\nDefaultDependencies=no\n");
  for (const name of ["systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket"]) {
    await copyFile(join(tree, "lib/systemd/system", name), join(folder, name));
  }
  await writeFile(
    join(folder, "machine.target"),
    "[Unit]\nDefaultDependencies=no\nAllowIsolate=yes\nWants=basic.target systemd-journald.service systemd-journald.socket\n",
  );
}

const NAMESPACES = ["--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child"];

/** $0: the folder; $1: the binary; $2: packaging/. The pid is that outside: /proc is not mounted anew yet. */
const BOOT = `
read -r pid _ < /proc/self/stat
mount --make-rprivate /
[ -z "$alone" ] || ip link set lo up
groups=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET)
group="$groups/$(basename "$0")"
mkdir "$group"
echo 0 > "$group/cgroup.procs"
export pid group
exec unshare --cgroup bash -euc "$3" "$0" "$1" "$2"
`;

/** Without the units of a real machine. */
const FOR_PACKAGES = `
rm -rf usr/lib/systemd/system
cp -r "$0"/packages/. root/
# Images for containers forbid packages to start anything.
rm -f usr/sbin/policy-rc.d
`;

/** As docs/install/systemd.md says. */
const BY_HAND = `
rm -rf usr/lib/systemd/system
mkdir -p etc/fairlead usr/lib/sysusers.d
cp "$1" usr/bin/fairlead
cp "$2/systemd/fairlead.sysusers.conf" usr/lib/sysusers.d/fairlead.conf
cp "$2/systemd/fairlead.service" etc/systemd/system/
chroot . systemd-sysusers fairlead.conf 2>/dev/null
chroot . chgrp fairlead /etc/fairlead
chmod 0750 etc/fairlead
`;

/** The second half, for which its own control group is the root of all. */
const BOOT_INSIDE = `
mount -t tmpfs tmpfs "$0/layer"
mkdir "$0/layer/upper" "$0/layer/work"
mount -t overlay overlay -o "lowerdir=$tree,upperdir=$0/layer/upper,workdir=$0/layer/work" "$0/root"
cd "$0/root"
rm -rf etc/systemd/system etc/machine-id var/log/journal
mkdir -p etc/systemd/system
cp "$0"/units/* etc/systemd/system/
eval "$setup"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=0755,noexec,nosuid,nodev tmpfs run
mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs tmp
mount -t tmpfs -o mode=0755 tmpfs dev
for name in null zero full random urandom tty; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
mkdir dev/shm dev/pts dev/mqueue dev/hugepages
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
chroot . systemd-machine-id-setup 2>/dev/null
echo "booting $pid $group"
export -n pid group tree setup
export container=fairlead-test SYSTEMD_UNIT_PATH=/etc/systemd/system:/run/systemd/system:/usr/lib/systemd/system
# Not chroot alone: the kernel makes no user namespaces for who is in one.
pivot_root . mnt
umount -l mnt
# As a real machine's: credentials are mounted beside PID 1.
mount --make-rshared /
exec /lib/systemd/systemd --system --unit=machine.target --log-target=journal --show-status=no
`;
