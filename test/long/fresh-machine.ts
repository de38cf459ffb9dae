// Machines that nobody has used yet, in namespaces of their own, on which a reader of the manual installs Fairlead.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { run } from "../../packaging/run.ts";
import { type Process, start } from "../binary/process.ts";
import type { OpenTerminal } from "../docs/reader.ts";
import { makeSystemdWorld } from "./systemd-world.ts";

export type FreshMachine = AsyncDisposable & {
  /** Opens terminals in which that user has logged in. */
  as(user: string): OpenTerminal;
  /** From outside: the path of a file in it. */
  path(name: string): string;
};

/** What a machine downloads from: a folder with the files of a release, and the certificate and key of who serves it. */
export type Release = { readonly folder: string; readonly certificate: string };

const SERVER = fileURLToPath(new URL("release-server.ts", import.meta.url));
const HOSTS = "127.0.0.1 localhost github.com fresh\n";

/** Signs for github.com. Answers the file. */
export function makeCertificate(folder: string): string {
  const file = join(folder, "github.pem");
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=github.com", "-addext", "subjectAltName=DNS:github.com"];
  const { status, stderr, error } = spawnSync("openssl", [
    "req",
    "-x509",
    ...key,
    ...name,
    "-keyout",
    file,
    "-out",
    file,
  ]);
  if (status !== 0) throw new Error(`openssl (apt install openssl) makes no certificate: ${error?.message ?? stderr}`);
  return file;
}

/** A Debian with systemd as PID 1. `tree` is only read. */
export async function makeDebianMachine(tree: string, release: Release): Promise<FreshMachine> {
  const world = await makeSystemdWorld({ tree, packages: [], isAlone: true });
  const started: Process[] = [];
  const machine: FreshMachine = {
    as: (user) => (script) => {
      const terminal = world.startInside("su", "--login", user, "--shell", "/bin/sh", "--command", script);
      started.push(terminal);
      return terminal;
    },
    path: world.path,
    // Its processes end with it.
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      for (const one of started) await one[Symbol.asyncDispose]();
    },
  };
  const server = world.startBeside(process.execPath, SERVER, release.certificate, release.folder);
  started.push(server);
  await server.line(/^answering$/);
  writeFileSync(world.path("/etc/hosts"), HOSTS);
  mkdirSync(world.path("/usr/local/share/ca-certificates"), { recursive: true });
  const [certificate = ""] = /-----BEGIN CERT[\s\S]+/.exec(readFileSync(release.certificate, "utf8")) ?? [];
  writeFileSync(world.path("/usr/local/share/ca-certificates/github.crt"), certificate);
  return machine;
}

/** A root with busybox and musl, and no init. `tree` is only read. */
export async function makeAlpineMachine(tree: string, release: Release): Promise<FreshMachine> {
  const started: Process[] = [];
  const namespaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child"];
  const init = start("unshare", [...namespaces, "bash", "-euc", BOOT, tree, HOSTS]);
  await init.line(/^booted$/);
  const [pid = ""] = readFileSync(`/proc/${init.pid}/task/${init.pid}/children`, "utf8").split(" ");
  const inside = ["--target", pid, "--mount", "--pid", "--net", "--uts", "--ipc", "--root"];
  const server = start("nsenter", [
    "--target",
    pid,
    "--net",
    process.execPath,
    SERVER,
    release.certificate,
    release.folder,
  ]);
  started.push(server);
  await server.line(/^answering$/);
  return {
    as: (user) => (script) => {
      const args = [...inside, "/bin/busybox", "su", "-l", user, "-c", script];
      const terminal = start("nsenter", args, { env: { PATH: process.env.PATH } });
      started.push(terminal);
      return terminal;
    },
    path: (name) => join(`/proc/${pid}/root`, name),
    async [Symbol.asyncDispose]() {
      await init[Symbol.asyncDispose]();
      for (const one of started) await one[Symbol.asyncDispose]();
    },
  };
}

/** $0: the tree; $1: /etc/hosts. What is written goes into memory. */
const BOOT = `
mount --make-rprivate /
ip link set lo up
mount -t tmpfs tmpfs "$0/mnt"
mkdir "$0/mnt/upper" "$0/mnt/work" "$0/mnt/root"
mount -t overlay overlay -o "lowerdir=$0,upperdir=$0/mnt/upper,workdir=$0/mnt/work" "$0/mnt/root"
cd "$0/mnt/root"
printf %s "$1" > etc/hosts
mount -t proc proc proc
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=0755 tmpfs dev
for name in null zero full random urandom tty; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
mkdir dev/shm
pivot_root . mnt
umount -l mnt
exec /bin/busybox sh -c 'echo booted; exec sleep 2147483647'
`;

/**
 * As close to Alpine as is possible without its packages: busybox and musl from Debian. `apk add` knows libstdc++, which is Alpine's own
 * (wheels for Python bring it), and a curl that is busybox's wget under another name.
 */
export function makeAlpineTree(root: string, from: { readonly debian: string; readonly wheel: string }): void {
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text, { mode });
  };
  for (const folder of [
    "bin",
    "lib",
    "usr/bin",
    "usr/lib",
    "usr/local/bin",
    "root",
    "proc",
    "dev",
    "tmp",
    "mnt",
    "apk/libstdc++/usr/lib",
  ]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  copyFileSync(join(from.debian, "usr/bin/busybox"), join(root, "bin/busybox"));
  copyFileSync(join(from.debian, "usr/lib/x86_64-linux-musl/libc.so"), join(root, "lib/ld-musl-x86_64.so.1"));
  run("chroot", [root, "/bin/busybox", "--install", "-s"]);
  run("ln", ["-s", "ld-musl-x86_64.so.1", join(root, "lib/libc.musl-x86_64.so.1")]);
  put("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
  put("etc/group", "root:x:0:\n");
  put("etc/profile", "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
  put("etc/os-release", 'ID=alpine\nNAME="Alpine Linux"\n');
  put("sbin/apk", APK, 0o755);
  put("apk/curl/usr/bin/curl", CURL, 0o755);
  // The wheel's has a name of its own, and wants libgcc_s by such a name.
  const copy = 'cp "$0"/*/libstdc++-*.so.* "$0"/*/libgcc_s-*.so.* "$1"; cd "$1"; ln -s libstdc++-* libstdc++.so.6';
  run("sh", ["-euc", copy, from.wheel, join(root, "apk/libstdc++/usr/lib")]);
}

const APK = `#!/bin/sh
set -e
[ "$1" = add ]
shift
for name; do
  [ -d "/apk/$name" ] || { echo "ERROR: unable to select packages: $name (no such package)" >&2; exit 1; }
  cp -a "/apk/$name/." /
done
`;

const CURL = `#!/bin/sh
set -e
to=- user= body=
while [ $# -gt 0 ]; do
  case "$1" in
    http*) url=$1 ;;
    -u) user=$2; shift ;;
    -d) body=$2; shift ;;
    -o | --output) to=$2; shift ;;
    --fail | --silent | --show-error | --location | -fsS) ;;
    -fsSLO) to= ;;
    *) echo "this curl does not know $1" >&2; exit 2 ;;
  esac
  shift
done
set -- -q -O "\${to:-\${url##*/}}"
[ -z "$user" ] || set -- "$@" --header "Authorization: Basic $(printf %s "$user" | base64)"
[ -z "$body" ] || set -- "$@" --post-data "$body"
exec wget "$@" "$url"
`;
