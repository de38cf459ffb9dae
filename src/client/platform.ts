/** The real world on Bun, Deno and Node: the only file of the library that names it. */
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";
import type { Cancel, ExitHooks, Listener, Trail, World } from "./world.ts";

export const platform: World = {
  wall: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    unref(timer);
    return () => clearTimeout(timer);
  },
  keepAlive() {
    const timer = setInterval(() => {}, LONGEST_MS);
    return () => clearInterval(timer);
  },
  onExit,
  fraction: () => Math.random(),
  uuid: () => crypto.randomUUID(),
  createTrail,
  // Looked up at each request: whoever observes or replaces it later is asked, too.
  fetch: (url, init) => globalThis.fetch(url, init),
  log: (line) => console.error(line),
  debugNames,
};

/** What a timer can hold. */
const LONGEST_MS = 2 ** 31 - 1;

type DenoNamespace = {
  unrefTimer(id: number): void;
  readonly permissions: { querySync(asked: { name: "env"; variable: string }): { readonly state: string } };
};
const deno = (globalThis as { readonly Deno?: DenoNamespace }).Deno;

/** Versions of Deno differ in what a timer is there. */
function unref(timer: unknown): void {
  if (typeof timer === "number") deno?.unrefTimer(timer);
  else (timer as { unref(): void }).unref();
}

/** What was entered within another is in both. */
function createTrail(): Trail {
  // Costs nothing before it is entered; then Node before 24 takes a little longer over each promise.
  const storage = new AsyncLocalStorage<readonly Listener[] | undefined>();
  return {
    enter: (listener, run) => storage.run([...(storage.getStore() ?? []), listener], run),
    isIn: (listener) => storage.getStore()?.includes(listener) ?? false,
    leave: (run) => (storage.getStore() ? storage.run(undefined, run) : run()),
  };
}

const hooked = new Set<ExitHooks>();

/** However many clients there are, the process has one listener for all: Node warns of more than ten. */
function onExit(hooks: ExitHooks): Cancel {
  if (hooked.size === 0) {
    process.on("beforeExit", tellIdle);
    process.on("exit", tellGone);
  }
  hooked.add(hooks);
  return () => {
    if (!hooked.delete(hooks) || hooked.size > 0) return;
    process.off("beforeExit", tellIdle);
    process.off("exit", tellGone);
  };
}

function tellIdle(): void {
  for (const { idle } of [...hooked]) idle();
}

function tellGone(): void {
  for (const { gone } of [...hooked]) gone();
}

/** Deno would stop the program to ask its user: a variable that may not be read is as good as none. */
function debugNames(): string {
  if (deno && deno.permissions.querySync({ name: "env", variable: "DEBUG" }).state !== "granted") return "";
  return process.env.DEBUG ?? "";
}
