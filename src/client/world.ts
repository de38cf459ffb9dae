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

export type Listener = "onError" | "debug";

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
export type FetchBody = {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
};
