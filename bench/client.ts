/**
 * Measures the client library, as it is packed, on each runtime that is installed: what a call costs its caller, how many
 * a server takes in a second, and how much memory an outage takes. Run by `make bench BENCH=client`.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { pack } from "../test/client/pack.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./statistics.ts";

const ROUNDS = 3;
const FOLDER = "dist/bench-client";
const WORK = `${import.meta.dir}/client-work.mjs`;
/** `--expose-gc`, so that what could be thrown away does not count. */
const RUNTIMES = [
  { name: "Bun", command: [process.execPath] },
  { name: "Node", command: ["node", "--expose-gc"] },
  { name: "Deno", command: ["deno", "run", "-A", "--v8-flags=--expose-gc"] },
].filter(({ command: [file = ""] }) => Bun.which(file) !== null);

type Overhead = { readonly call: number; readonly json: number; readonly bytes: number };
type Rates = Readonly<Record<string, number>>;
type Queued = { readonly mb: number; readonly lost: number; readonly kept: number };
type Memory = { readonly before: number; readonly usual: Queued; readonly long: Queued };

type Outage = { readonly call: number; readonly rate: number; readonly mb: number; readonly lost: number };
type Spool = Readonly<Record<"without" | "interval" | "always", Outage>>;

/** Throws with what a measurement wrote if it failed. */
export async function benchClient(): Promise<void> {
  pack(FOLDER);
  const module = pathToFileURL(resolve(FOLDER, "lib/client/analytics.js")).href;
  const server = await startServer();
  const { cores, cpu } = describeMachine(".");
  console.log(`${new Date().toISOString()}: ${cores} cores (${cpu}), medians of ${ROUNDS} rounds`);
  for (const { name, command } of RUNTIMES) {
    const run = <T>(what: string): Promise<readonly T[]> =>
      repeat(() => work([...command, WORK, module, what, server.url]));
    tellOverhead(name, await run<Overhead>("overhead"));
    tellRates(name, await run<Rates>("rate"));
    tellMemory(name, await run<Memory>("memory"));
    tellSpool(name, await run<Spool>("spool"));
  }
  server.stop();
}

function tellOverhead(name: string, rounds: readonly Overhead[]): void {
  const [call, json] = [middle(rounds, ({ call }) => call), middle(rounds, ({ json }) => json)];
  const [first] = rounds;
  console.log(
    `${name}: a call of ${first?.bytes} bytes takes ${call.toFixed(2)} µs of its caller; writing it as JSON ${json.toFixed(2)} µs`,
  );
}

function tellRates(name: string, rounds: readonly Rates[]): void {
  const rates = Object.keys(rounds[0] ?? {}).map((size) => {
    const rate = Math.round(middle(rounds, (one) => one[size] ?? Number.NaN)).toLocaleString("en-US");
    return `${rate} /s in requests of ${size}`;
  });
  console.log(`${name}: calls that a server has answered: ${rates.join(", ")}`);
}

function tellMemory(name: string, rounds: readonly Memory[]): void {
  const [before, usual, long] = [
    ({ before }: Memory) => before,
    ({ usual }: Memory) => usual.mb,
    ({ long }: Memory) => long.mb,
  ].map((of) => middle(rounds, of).toFixed(0));
  const [first] = rounds;
  const kept = `${first?.usual.kept} kept of 200,000 calls, ${first?.usual.lost} told as lost`;
  console.log(
    `${name}: without a server: ${before} MB before, ${usual} MB with ${kept}; ${long} MB with ${first?.long.kept} kept`,
  );
}

function tellSpool(name: string, rounds: readonly Spool[]): void {
  for (const how of ["without", "interval", "always"] as const) {
    const [call, rate, mb] = (["call", "rate", "mb"] as const).map((what) => middle(rounds, (one) => one[how][what]));
    const rounded = Math.round(rate ?? 0).toLocaleString("en-US");
    console.log(
      `${name}: without a server, spool ${how}: ${call?.toFixed(1)} µs of the caller, ${rounded} /s, ${mb?.toFixed(0)} MB, ${rounds[0]?.[how].lost} lost`,
    );
  }
}

function middle<T>(rounds: readonly T[], of: (one: T) => number): number {
  return median(rounds.map(of));
}

async function repeat<T>(run: () => Promise<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for (let round = 0; round < ROUNDS; round += 1) all.push(await run());
  return all;
}

async function work<T>(command: readonly string[]): Promise<T> {
  const child = Bun.spawn([...command], { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${err}`);
  return JSON.parse(out);
}

/** A server that reads what comes and does nothing with it, in a thread of its own: the client alone is measured. */
async function startServer(): Promise<{ readonly url: string; stop(): void }> {
  const thread = new Worker(`${import.meta.dir}/client-server.ts`);
  const url = await new Promise<string>((resolve) => {
    thread.onmessage = ({ data }) => resolve(data);
  });
  return { url, stop: () => thread.terminate() };
}
