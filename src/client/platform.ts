import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";

/** What the library asks of where it runs: `platform.ts` has the real one, a test brings a false one. */

/** In milliseconds since 1970. */
type At = number;

export type Cancel = () => void;

export type World = {
  /** What the machine's clock says. */
  wall(): At;
  /** Runs once, so many milliseconds from now, unless cancelled. Never keeps the program alive. */
  after(ms: number, run: () => void): Cancel;
  /** Keeps the program alive until cancelled. */
  keepAlive(): Cancel;
  /** Tells when the program ends, until cancelled. */
  onExit(hooks: ExitHooks): Cancel;
  /** Evenly from 0 (included) to 1 (excluded). */
  fraction(): number;
  uuid(): string;
  /** Each client has one of its own. */
  createTrail(): Trail;
  readonly fetch: Fetch;
  /** Writes a line to standard error. */
  log(line: string): void;
  /** The environment variable DEBUG, or an empty text. */
  debugNames(): string;
};

/** Knows on whose behalf the running code runs, also after an `await`, a timer or a request. */
export type Trail = {
  /** Runs it on behalf of this function of the program's. */
  enter(listener: Listener, run: () => void): void;
  isIn(listener: Listener): boolean;
  /** Runs it on nobody's behalf, as what the library goes on with by itself. */
  leave(run: () => void): void;
};

type Listener = "onError" | "debug";

export type ExitHooks = {
  /** The program has nothing left to do. What is begun now is waited for. */
  readonly idle: () => void;
  /** The program ends now: nothing can be waited for. */
  readonly gone: () => void;
};

/** The part of the platform's `fetch` that the library uses. One that goes through a Unix socket fits, too. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

export type FetchInit = {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Aborted when the request takes too long, or close() does not wait any longer. */
  readonly signal: AbortSignal;
  readonly redirect: "manual";
};

export type FetchResponse = {
  readonly status: number;
  readonly statusText: string;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  /** Read instead of `text()` where it is there, so that an answer without end is not kept in memory. */
  readonly body?: FetchBody | null;
};

/** What is used of a ReadableStream. */
type FetchBody = {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
};

/** The real world on Bun, Deno and Node: the only file of the library that names it. */

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
