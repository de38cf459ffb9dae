import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findBinary } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { acceptingCalls, type Daemon, makeConfig, postCall, SECRET } from "../binary/world.ts";

/** Why there is nothing to test with; false if there is. */
export const MISSING =
  tells("ip", "-V") && tells("unshare", "--net", "--mount", "ip", "link", "set", "lo", "up") ? false : why();

function tells(file: string, ...args: readonly string[]): boolean {
  return spawnSync(file, args).status === 0;
}

function why(): string {
  return "this machine makes no network namespaces: it takes root (CAP_SYS_ADMIN), ip (apt install iproute2), unshare and nsenter";
}

const NEAR = "10.213.0.1";
export const FAR = "10.213.0.2";
const NAME_SERVER = fileURLToPath(new URL("name-server.ts", import.meta.url));

/** Two machines and a cable between them: the daemon's, and that of the receiver. */
export type NetworkWorld = AsyncDisposable & {
  /** Starts the daemon on its machine. `delivery` as in the config. */
  serve(host: string, delivery?: object): Promise<Daemon>;
  call(messageId: string): Promise<void>;
  /** Starts a receiver on the other machine, which prints a line for each webhook. */
  listen(...args: readonly string[]): Promise<Process>;
  /** Starts a name server there, which knows these and says of all others that there are none. */
  answerNames(...names: readonly string[]): Promise<Process>;
  /** Sets the end of the cable at this machine up or down. */
  set(end: "near" | "far", state: "up" | "down"): void;
};

/**
 * Each machine is a network namespace that a process holds: when that is gone, and what was started in there, so is all
 * of it, however the test ends. The cable goes with either.
 */
export async function makeNetworkWorld(): Promise<NetworkWorld> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-network-"));
  const at = (name: string): string => join(folder, name);
  await writeFile(at("resolv.conf"), `nameserver ${FAR}\n`);
  const processes: Process[] = [];
  const far = await hold(["--net"], 'ip link set lo up && echo "there" && exec sleep infinity');
  const near = await hold(["--net", "--mount", "--propagation", "private"], PLUG, at("resolv.conf"), String(far.pid));
  const ends = { near, far };

  async function hold(namespaces: readonly string[], script: string, ...args: readonly string[]): Promise<Process> {
    const holder = keep(start("unshare", [...namespaces, "sh", "-euc", script, ...args]));
    await holder.line(/^there$/);
    return holder;
  }

  function keep(started: Process): Process {
    processes.push(started);
    return started;
  }

  function enter(end: "near" | "far", command: readonly string[], env: NodeJS.ProcessEnv = {}): Process {
    const inside = ["--target", String(ends[end].pid), "--net", ...(end === "near" ? ["--mount"] : [])];
    const all = { PATH: process.env.PATH, TMPDIR: folder, ...env };
    return keep(start("nsenter", [...inside, "--", ...command], { folder, env: all }));
  }

  return {
    async serve(host, delivery = {}) {
      const [ingest, admin] = [`unix:${at("ingest.sock")}`, `unix:${at("admin.sock")}`];
      const config = JSON.parse(makeConfig({ url: `http://${host}:9000/hooks`, ingest, admin, level: "debug" }));
      await writeFile(at("config.yaml"), JSON.stringify({ ...config, delivery }), { mode: 0o600 });
      return acceptingCalls(enter("near", [findBinary(), "serve", "--config", at("config.yaml")]));
    },
    async call(messageId) {
      const body = { userId: "u1", event: "E", messageId };
      const { status } = await postCall("http://localhost/v1/track", body, { unix: at("ingest.sock") });
      if (status !== 200) throw new Error(`the call was answered ${status}`);
    },
    async listen(...args) {
      const command = [findBinary(), "listen", "--json", "--listen", `${FAR}:9000`, ...args];
      const receiver = enter("far", command, { FAIRLEAD_SECRET: SECRET });
      await receiver.line(/9000/);
      return receiver;
    },
    async answerNames(...names) {
      const server = enter("far", [process.execPath, NAME_SERVER, FAR, ...names]);
      await server.line(/^answering$/);
      return server;
    },
    set(end, state) {
      const inside = ["--target", String(ends[end].pid), "--net", "ip", "link", "set", end, state];
      const { status, stderr } = spawnSync("nsenter", inside, { encoding: "utf8" });
      if (status !== 0) throw new Error(`cannot set the cable's ${end} end ${state}: ${stderr}`);
    },
    async [Symbol.asyncDispose]() {
      for (const one of processes.toReversed()) await one[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** $0: the resolv.conf of the near machine; $1: who holds the far one. */
const PLUG = `
ip link set lo up
ip link add near type veth peer name far netns "$1"
ip address add ${NEAR}/24 dev near
ip link set near up
nsenter --target "$1" --net ip address add ${FAR}/24 dev far
nsenter --target "$1" --net ip link set far up
mount --bind "$0" /etc/resolv.conf
echo there
exec sleep infinity
`;
