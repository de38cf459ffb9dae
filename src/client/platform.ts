/** What the library needs from the platform that it runs on. Tests bring a world of their own. */
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";
import type { Courier, CourierParts } from "./courier.ts";
import { LONGEST_MS, type SpoolSettings } from "./options.ts";
import { onSignal } from "./signals.ts";
import { createSpooling } from "./spool/spooling.ts";

export type Cancel = () => void;

export type World = {
  /** The machine's clock, in milliseconds since 1970. */
  wall(): number;
  /** Runs once, so many milliseconds from now, unless cancelled. Never keeps the program alive. */
  after(ms: number, run: () => void): Cancel;
  /** Keeps the program alive until cancelled. */
  keepAlive(): Cancel;
  /** Calls the hooks when the program ends, until cancelled. */
  onExit(hooks: ExitHooks): Cancel;
  /** Calls the hooks when the process gets a signal to end, until cancelled. Undefined where there are no signals. */
  readonly onSignal?: ((hooks: ToldHooks) => Cancel) | undefined;
  /** Evenly from 0 (included) to 1 (excluded). */
  fraction(): number;
  uuid(): string;
  createTrail(): Trail;
  readonly fetch: Fetch;
  /** Sends calls that are kept on disk. Undefined where there are no files. */
  readonly createSpooling?: ((parts: CourierParts, spool: SpoolSettings) => Courier) | undefined;
  /** Writes a line to standard error. */
  log(line: string): void;
  /** The environment variable DEBUG, or an empty text. */
  debugNames(): string;
};

/** The world of one client. */
export type ClientWorld = World & { readonly trail: Trail };

/** Knows which of the program's functions have led to the running code, also after an `await`, a timer or a request. */
export type Trail = {
  /** Runs code on behalf of this function. */
  enter(listener: Listener, run: () => void): void;
  isIn(listener: Listener): boolean;
  /** Runs code on behalf of none: work of the library that only happens to begin here. */
  leave(run: () => void): void;
};

type Listener = "onError" | "debug";

/** Neither rejects or throws. */
export type ToldHooks = {
  /** The process has got a signal, and the program decides itself when it ends. */
  readonly toSend: () => void;
  /** It ends when this resolves. */
  readonly toEnd: () => Promise<void>;
};

export type ExitHooks = {
  /** The program has nothing left to do. What begins now keeps it alive. */
  readonly idle: () => void;
  /** The program ends now: nothing can be waited for. */
  readonly gone: () => void;
};

/** The part of the platform's `fetch` that the library uses. A fetch through a Unix socket fits, too. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

export type FetchInit = {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Aborted when the request takes too long, or when close() gives up waiting. */
  readonly signal: AbortSignal;
  readonly redirect: "manual";
};

export type FetchResponse = {
  readonly status: number;
  readonly statusText: string;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  /** Read instead of `text()` if present, so that an endless answer does not fill the memory. */
  readonly body?: FetchBody | null;
};

/** The part of a ReadableStream that the library uses. */
type FetchBody = {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
};

/** Bun, Deno and Node. */
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
  onSignal,
  fraction: () => Math.random(),
  uuid: () => crypto.randomUUID(),
  createTrail,
  // Looked up at each request, so that a fetch that is wrapped or replaced later is used.
  fetch: (url, init) => globalThis.fetch(url, init),
  createSpooling,
  log: (line) => console.error(line),
  debugNames,
};

type DenoNamespace = {
  unrefTimer(id: number): void;
  readonly permissions: { querySync(asked: { name: "env"; variable: string }): { readonly state: string } };
};
const deno = (globalThis as { readonly Deno?: DenoNamespace }).Deno;

/** A timer is a number on some versions of Deno. */
function unref(timer: unknown): void {
  if (typeof timer === "number") deno?.unrefTimer(timer);
  else (timer as { unref(): void }).unref();
}

function createTrail(): Trail {
  // Costs nothing until it is entered. From then on, promises cost a little more on Node before 24.
  const storage = new AsyncLocalStorage<readonly Listener[] | undefined>();
  return {
    enter: (listener, run) => storage.run([...(storage.getStore() ?? []), listener], run),
    isIn: (listener) => storage.getStore()?.includes(listener) ?? false,
    leave: (run) => (storage.getStore() ? storage.run(undefined, run) : run()),
  };
}

const hooked = new Set<ExitHooks>();

/** The process gets one listener for all clients: Node warns about more than ten. */
function onExit(hooks: ExitHooks): Cancel {
  if (hooked.size === 0) {
    process.on("beforeExit", callIdle);
    process.on("exit", callGone);
  }
  hooked.add(hooks);
  return () => {
    if (!hooked.delete(hooks) || hooked.size > 0) return;
    process.off("beforeExit", callIdle);
    process.off("exit", callGone);
  };
}

function callIdle(): void {
  for (const { idle } of [...hooked]) idle();
}

function callGone(): void {
  for (const { gone } of [...hooked]) gone();
}

/** A variable that may not be read counts as unset: Deno would stop the program and ask its user. */
function debugNames(): string {
  if (deno && deno.permissions.querySync({ name: "env", variable: "DEBUG" }).state !== "granted") return "";
  return process.env.DEBUG ?? "";
}
