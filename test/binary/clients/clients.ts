import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import manifest from "../../../package.json" with { type: "json" };
import { pack } from "../../client/pack.ts";
import { ROOT } from "../binary.ts";
import { type Process, start } from "../process.ts";
import { KEY } from "../world.ts";
import type { Call } from "./calls.ts";

/** A client library, as it comes from npm, and what differs between it and the others. */
export type Client = {
  /** Its name in our node_modules. */
  readonly package: string;
  /** The program beside this file that uses it. */
  readonly program: string;
  /** What it says of itself in each call. */
  readonly library: { readonly name: string; readonly version: string };
  /** Whether its user may choose the messageId. */
  readonly choosesIds: boolean;
  /** Whether it lets ids be numbers. */
  readonly takesNumbers: boolean;
  /** How many answers 503 it meets in the test. */
  readonly refusals: number;
};

/**
 * Beside each: how often it tries again, and how long after the first failure it gives up, as its source says. Most of
 * these times are too short to be raced against, so none meets more than two failures of one request in the tests.
 */
export const CLIENTS: readonly Client[] = [
  {
    // Our own, as it is packed: ten times, 0.5 s after the first failure, doubling to 60 s, but never sooner than Retry-After
    // says: 10 s after each 503 of ours.
    package: "fairlead/client",
    program: "fairlead.mjs",
    library: { name: "fairlead-client", version: manifest.version },
    choosesIds: true,
    takesNumbers: true,
    refusals: 1,
  },
  {
    // The same, in place of @segment/analytics-node: a program that was written for that one.
    package: "fairlead/segment",
    program: "segment-node.mjs",
    library: { name: "fairlead-client", version: manifest.version },
    choosesIds: true,
    takesNumbers: true,
    refusals: 1,
  },
  {
    // Three times within 0.35 to 0.7 s: its publisher waits 25 ms × 2^attempt, once to twice that.
    package: "segment-node-1",
    program: "segment-node.mjs",
    library: { name: "@segment/analytics-node", version: "1.3.0" },
    choosesIds: false,
    takesNumbers: false,
    refusals: 2,
  },
  {
    // The same.
    package: "segment-node-2",
    program: "segment-node.mjs",
    library: { name: "@segment/analytics-node", version: "2.3.0" },
    choosesIds: true,
    takesNumbers: false,
    refusals: 2,
  },
  {
    // Ten times, 1 to 2 s after the first failure, doubling to 60 s; closeAndFlush breaks off after 75 s.
    package: "@segment/analytics-node",
    program: "segment-node.mjs",
    library: { name: "@segment/analytics-node", version: "3.1.0" },
    choosesIds: true,
    takesNumbers: false,
    refusals: 2,
  },
  {
    // Three times within 1.4 to 1.7 s: axios-retry, 100 ms × 2^attempt, up to a fifth more.
    package: "analytics-node",
    program: "analytics-node.mjs",
    library: { name: "analytics-node", version: "6.2.0" },
    choosesIds: true,
    takesNumbers: true,
    refusals: 2,
  },
  {
    // The same, but never sooner than Retry-After says: 10 to 12 s after each 503 of ours.
    package: "@rudderstack/rudder-sdk-node",
    program: "rudder-node.mjs",
    library: { name: "analytics-node", version: "3.0.13" },
    choosesIds: true,
    takesNumbers: true,
    refusals: 1,
  },
];

/** A program that makes these calls and ends. It writes a line for each that its client has got rid of, or given up. */
export type Program = AsyncDisposable & {
  /** When it has ended: the messageIds under which its calls were taken, by the id of the call. Rejects if one was lost. */
  taken(): Promise<ReadonlyMap<string, string>>;
};

export type Orders = { readonly host: string; readonly calls: readonly Call[] };

export function startProgram({ package: name, program }: Client, { host, calls }: Orders): Program {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const found = OWN[name] === undefined ? name : ownModule(OWN[name]);
  const orders = JSON.stringify({ package: found, host, writeKey: KEY, calls });
  // Of the environment nothing else gets in: a proxy that the machine has set would come between.
  const started = start(findNode(), [path, orders], { env: { PATH: process.env.PATH } });
  return { taken: () => takenBy(started), [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}

const OWN: Readonly<Record<string, string>> = {
  "fairlead/client": "lib/client/analytics.js",
  "fairlead/segment": "lib/client/segment/analytics.js",
};

const OWN_FOLDER = join(ROOT, "dist/test/client");
let isPacked = false;

/** Our library is in no node_modules: it is packed here, and its modules are found by their addresses. */
function ownModule(path: string): string {
  if (!isPacked) pack(OWN_FOLDER);
  isPacked = true;
  return pathToFileURL(join(OWN_FOLDER, path)).href;
}

/** Node, because it is what these clients were written for: its fetch, its sockets and its gzip. Without it, this Bun. */
function findNode(): string {
  return Bun.which("node") ?? process.execPath;
}

async function takenBy({ exit, out, err }: Process): Promise<ReadonlyMap<string, string>> {
  const { code, signal } = await exit;
  const lost = out.filter((line) => line.startsWith("lost "));
  if (code !== 0 || lost.length > 0) {
    throw new Error(`the program has ended with ${code ?? signal}:\n${[...lost, ...err].join("\n")}`);
  }
  const taken = out.map((line) => /^taken (\S+) (\S+)$/.exec(line));
  return new Map(taken.flatMap((match) => (match ? [[match[1] ?? "", match[2] ?? ""]] : [])));
}
