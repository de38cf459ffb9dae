import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import type { Postgres } from "../../../src/model/config.ts";
import type { Connection, Pool } from "../../../src/store/postgres/database.ts";
import { ConnectionLost } from "../../../src/store/postgres/errors.ts";
import { openPool } from "../../../src/store/postgres/pool.ts";
import { SCRATCH } from "../../scratch.ts";
import type { TestPool, TestServer } from "./bed.ts";

const SUPERUSER = "fairlead";
/** PostgreSQL refuses to run as root. */
const OTHER_USER = 65_534;
const IS_ROOT = process.geteuid?.() === 0;

/** Where `initdb` and `postgres` are: where one says, on the PATH, or where Debian has them. Null if nowhere. */
export const SERVER_PROGRAMS = findPrograms();

/** Why a test that needs a real server is skipped, or false. */
export const NO_SERVER = SERVER_PROGRAMS === null && "PostgreSQL is not installed";

export type RealServer = TestServer & {
  /** The same, as the daemon's config has it. */
  readonly postgres: Postgres;
  /** Ends it as `pg_ctl stop -m` does, and starts it again once `away` has resolved. */
  restart(mode: StopMode, away?: () => Promise<void>): Promise<void>;
  /** Of its first process, whose children all others are. */
  readonly pid: number;
  stop(): Promise<void>;
};

/** `fast` ends the connections and writes what is in memory; `immediate` is a crash. */
export type StopMode = keyof typeof STOP_SIGNALS;
const STOP_SIGNALS = { fast: "INT", immediate: "QUIT" } as const;

/** Stands for the server's folder in its settings. */
export const FOLDER = "$FOLDER";

let started: Promise<RealServer> | null = null;

/** A real server that only this process can reach. The test file that asks for it stops it at its end. */
export function startServer(): Promise<RealServer> {
  started ??= createServer();
  return started;
}

export async function stopServer(): Promise<void> {
  const server = await started;
  started = null;
  await server?.stop();
}

export type ServerOptions = {
  /** Settings of the server, in place of those that only spare the disk. */
  readonly settings?: readonly string[];
  /** Files for its folder, which `settings` may name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Where the server's folder is made. PostgreSQL's user must be able to reach it. */
  readonly place?: string;
};

export async function createServer(options: ServerOptions = {}): Promise<RealServer> {
  const { settings = ["fsync=off"], files = {}, place = SCRATCH } = options;
  const folder = await mkdtemp(join(place, "fairlead-postgres-"));
  await chmod(folder, 0o700);
  const written = Object.entries(files).map(([name, text]) => ({ path: join(folder, name), text }));
  for (const { path, text } of written) await writeFile(path, text, { mode: 0o600 });
  if (IS_ROOT)
    for (const path of [folder, ...written.map((file) => file.path)]) await chown(path, OTHER_USER, OTHER_USER);
  const data = join(folder, "data");
  const init = ["-D", data, "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
  const [initdb, ...initArguments] = command("initdb", init);
  await promisify(execFile)(initdb, initArguments, { cwd: folder });
  // Without TCP, unless the settings say otherwise: only who may enter the folder can connect.
  const own = [`unix_socket_directories=${folder}`, "listen_addresses=", "max_connections=100"];
  const all = [...own, ...settings.map((one) => one.replace(FOLDER, folder))];
  const program = command("postgres", ["-D", data, ...all.flatMap((one) => ["-c", one])]);
  let running = await launch(folder, program);
  const none = { port: null, password: null, options: null, tls: "off" } as const;
  const postgres: Postgres = { ...none, host: folder, user: SUPERUSER, database: "postgres", connections: 10 };
  const admin = openPool({ ...postgres, connections: 1 });

  async function run(text: string, values: readonly unknown[] = []): Promise<void> {
    const connection = await admin.connect();
    await connection.query(text, values).finally(() => connection.release());
  }

  return {
    postgres,
    get pid() {
      return Number.parseInt(readFileSync(join(data, "postmaster.pid"), "utf8"), 10);
    },
    async connect(schema) {
      await run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      const terminate = (pids: readonly number[]) =>
        run("SELECT pg_terminate_backend(p, 5000) FROM unnest($1::int[]) p", [pids]);
      return createPool(openPool({ ...postgres, options: `-c search_path=${schema}` }), terminate);
    },
    drop: (schema) => run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`),
    async restart(mode, away = async () => {}) {
      running.stdin?.write(`${STOP_SIGNALS[mode]}\n`);
      await ended(running);
      await away();
      running = await launch(folder, program);
    },
    async stop() {
      await admin.end();
      running.stdin?.end();
      await ended(running);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Runs the server, its arguments from the second on, and passes on the signals that are named on its input. Once that is
 * closed, which also the end of the test's process does, it ends the server at once and removes its folder, the first argument.
 */
const GUARD = `
  folder=$1; shift
  exec 3<&0
  "$@" </dev/null 3<&- & server=$!
  (while read -r signal; do kill -s "$signal" "$server"; done; kill -s QUIT "$server") <&3 & guard=$!
  wait "$server"
  kill "$guard" 2>/dev/null
  wait "$guard" && rm -rf "$folder"`;

async function launch(folder: string, program: readonly string[]): Promise<ChildProcess> {
  const child = spawn("/bin/sh", ["-c", GUARD, "guard", folder, ...program], { stdio: ["pipe", "ignore", "pipe"] });
  await readiness(child);
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

function createPool(pool: Pool, terminate: (pids: readonly number[]) => Promise<void>): TestPool {
  const pids = new Set<number>();
  let killed = false;

  function checkAlive(): void {
    if (killed) throw new ConnectionLost("killed");
  }

  return {
    async connect(): Promise<Connection> {
      checkAlive();
      const connection = await pool.connect();
      const [backend] = await connection.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      if (killed) connection.release(true);
      checkAlive();
      if (backend) pids.add(backend.pid);
      return connection;
    },
    end: () => pool.end(),
    async kill() {
      killed = true;
      await terminate([...pids]);
    },
  };
}

/** The program and its arguments, as a user that PostgreSQL accepts. */
function command(name: string, options: readonly string[]): readonly [string, ...string[]] {
  if (SERVER_PROGRAMS === null) throw new Error("PostgreSQL is not installed");
  const program = join(SERVER_PROGRAMS, name);
  if (!IS_ROOT) return [program, ...options];
  return ["setpriv", `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, "--clear-groups", program, ...options];
}

function findPrograms(): string | null {
  const chosen = process.env.FAIRLEAD_TEST_POSTGRES;
  if (chosen) return chosen;
  const onPath = (process.env.PATH ?? "").split(":");
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...onPath, ...versions.map((version) => join(debian, version, "bin"))];
  return folders.find((one) => ["initdb", "postgres"].every((name) => existsSync(join(one, name)))) ?? null;
}

/** Resolves when the server says that it takes connections; rejects with what it has said if it ends. */
async function readiness(child: ChildProcess): Promise<void> {
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (text) => {
      said = (said + text).slice(-4_096);
      if (said.includes("ready to accept connections")) resolve();
    });
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`PostgreSQL does not start: ${said}`)));
  });
}
