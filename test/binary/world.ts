import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { findBinary } from "./binary.ts";
import { type Process, type StartOptions, start } from "./process.ts";

export const KEY = "test-key";
export const SECRET = "test-secret";

export type Daemon = {
  readonly process: Process;
  readonly ingest: string;
  readonly admin: string;
  /** Sends a call with the source's write key. */
  call(path: string, body: object): Promise<Response>;
};

/** A folder that is empty at first, and what runs in it. Disposing of it ends and removes all. */
export type World = AsyncDisposable & {
  readonly folder: string;
  path(name: string): string;
  write(name: string, text: string): Promise<void>;
  read(name: string): Promise<string>;
  /** Runs the binary in the folder. */
  run(args: readonly string[], options?: RunOptions): Process;
  /** Runs `fairlead serve` on config.yaml, and waits until it accepts calls. */
  serve(options?: RunOptions): Promise<Daemon>;
  /** The rows of all deliveries, as they are in the outbox at this moment. */
  rows(): Promise<readonly DeliveryRow[]>;
};

export type RunOptions = Pick<StartOptions, "env" | "stderr">;

export type DeliveryRow = {
  readonly state: string;
  readonly due_at: number;
  readonly attempts: number;
  readonly first_attempt_at: number | null;
};

export async function makeWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-binary-"));
  const processes: Process[] = [];
  const path = (name: string): string => join(folder, name);

  function run(args: readonly string[], { env = {}, ...options }: RunOptions = {}): Process {
    // What the binary unpacks goes with the folder; and no setting of the machine gets in.
    const all = { PATH: process.env.PATH, TMPDIR: folder, ...env };
    const started = start(findBinary(), args, { folder, env: all, ...options });
    processes.push(started);
    return started;
  }

  return {
    ...{ folder, path, run },
    write: (name, text) => writeFile(path(name), text, { mode: 0o600 }),
    read: (name) => readFile(path(name), "utf8"),
    serve: (options) => acceptingCalls(run(["serve", "--config", "config.yaml"], options)),
    async rows() {
      const db = await openDatabase(path("fairlead.db"));
      const rows = db.prepare<[], DeliveryRow>("SELECT * FROM deliveries ORDER BY event, destination").all();
      db.close();
      return rows;
    },
    async [Symbol.asyncDispose]() {
      for (const one of processes) await one[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What `fairlead serve` became, once it accepts calls. */
export async function acceptingCalls(process: Process): Promise<Daemon> {
  const ingest = addressIn(await process.line(/^ingest /));
  const admin = addressIn(await process.line(/^admin /));
  return { process, ingest, admin, call: (path, body) => postCall(`${ingest}${path}`, body) };
}

function addressIn(line: string): string {
  return line.split(/ +/)[1] ?? "";
}

export function postCall(url: string, body: object, init: BunFetchRequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Basic ${btoa(`${KEY}:`)}` };
  return fetch(url, { method: "POST", body: JSON.stringify(body), headers, ...init });
}

export type ConfigOptions = {
  /** Where the one webhook is. */
  readonly url: string;
  readonly ingest?: string;
  readonly admin?: string;
  readonly writeKey?: string;
  readonly level?: string;
};

/** A config with ports from the system. JSON is YAML too. */
export function makeConfig({ url, ingest, admin, writeKey = KEY, level = "info" }: ConfigOptions): string {
  return JSON.stringify({
    ingest: { listen: ingest ?? "127.0.0.1:0" },
    admin: { listen: admin ?? "127.0.0.1:0" },
    log: { level, format: "logfmt" },
    sources: { website: { writeKey } },
    destinations: { crm: { webhooks: [{ url, headers: { "X-Team": "growth" } }], sharedSecret: SECRET } },
  });
}
