import { useEffect, useState } from "hono/jsx/dom";
import { createSignal } from "./signal.ts";

/** How the daemon is reached. */
export type Connection = {
  /** Since when it does not answer, by the browser's clock; null while it does. */
  readonly lostAt: number | null;
  /** Whether it wants a token that it has not got. `wrong`: it refused the one it got. */
  readonly token: "enough" | "missing" | "wrong";
  /** How far the daemon's clock is ahead of the browser's, in ms. */
  readonly ahead: number;
};

const connection = createSignal<Connection>({ lostAt: null, token: "enough", ahead: 0 });
export const useConnection = connection.use;

/** The daemon's time, in ms. */
export function now(): number {
  return Date.now() + connection.get().ahead;
}

/** The token ends with the tab. It is in no cookie, so no other page can send it. */
const TOKEN = "fairlead.token";

export function enterToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
  connection.set(change({ token: "enough" }));
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN);
  connection.set(change({ token: "missing" }));
}

export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN) !== null;
}

/** Why the daemon has not done what it was asked for, in its own words. */
export class Refusal extends Error {
  /** Stable; `no_answer` if none came. */
  readonly code: string;
  /** The answer as a whole. */
  readonly answer: unknown;
  constructor(code: string, message: string, answer: unknown = null) {
    super(message);
    this.code = code;
    this.answer = answer;
  }
}

/** What went wrong, as a refusal. */
export function toRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal("unexpected", String(error));
}

type Asking = {
  readonly method?: "GET" | "POST";
  /** Text is sent as it is. */
  readonly body?: object | string;
  readonly signal?: AbortSignal;
};

/** Asks the API. Rejects with a `Refusal`. */
export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  const response = await request(path, asking);
  if (!response.ok) throw await refusalOf(response);
  return (await readJson(response)) as T;
}

/** Reads an answer that is not the one that was asked for. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const answer = (await readJson(response)) ?? {};
  const { code = `status_${response.status}`, message = `the answer was ${response.status}` } = answer as {
    code?: string;
    message?: string;
  };
  return new Refusal(code, message, answer);
}

/** Sends a command. */
export function act<T>(path: string, body: object | string = {}): Promise<T> {
  return ask<T>(path, { method: "POST", body });
}

/** Sends a request with the token, and notices when the daemon does not answer. */
export async function request(path: string, { method = "GET", body, signal }: Asking = {}): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN);
  const headers = new Headers();
  if (token !== null) headers.set("Authorization", `Bearer ${token}`);
  if (body) headers.set("Content-Type", "application/json");
  const content = body ? { body: typeof body === "string" ? body : JSON.stringify(body) } : {};
  let response: Response;
  try {
    response = await fetch(path, { method, headers, cache: "no-store", signal: signal ?? null, ...content });
  } catch (error) {
    if (signal?.aborted) throw error;
    if (connection.get().lostAt === null) connection.set(change({ lostAt: Date.now() }));
    throw new Refusal("no_answer", "the daemon does not answer");
  }
  heard(response, token);
  return response;
}

function heard(response: Response, token: string | null): void {
  const date = Date.parse(response.headers.get("date") ?? "");
  // The header has whole seconds.
  const ahead = Number.isNaN(date) || Math.abs(date - Date.now()) < 3_000 ? 0 : date - Date.now();
  const wanted = response.status === 401 ? (token === null ? "missing" : "wrong") : "enough";
  const { token: before, lostAt, ahead: old } = connection.get();
  if (wanted === before && lostAt === null && Math.abs(ahead - old) < 2_000) return;
  connection.set({ lostAt: null, token: wanted, ahead });
}

function change(part: Partial<Connection>): Connection {
  return Object.assign({}, connection.get(), part);
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw new Refusal("no_json", `the answer of ${new URL(response.url).pathname} could not be read`);
  }
}

/** The last answer, and why there is no newer one. */
export type Polled<T> = {
  readonly data: T | null;
  readonly error: Refusal | null;
  /** Asks at once. */
  readonly refresh: () => void;
};

type State<T> = { readonly path: string; readonly data: T | null; readonly error: Refusal | null };

/** Asks again and again, but never while the tab is hidden. With `every` null it asks once. A null path asks nothing. */
export function usePolled<T>(path: string | null, every: number | null = 2_000): Polled<T> {
  const [state, setState] = useState<State<T> | null>(null);
  const [round, setRound] = useState(0);
  const { token } = connection.use();
  useEffect(() => {
    if (path === null || token !== "enough") return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let busy = false;
    document.addEventListener("visibilitychange", shown, { signal: stop.signal });
    poll();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };

    async function poll(): Promise<void> {
      busy = true;
      const next = await answerOf<T>(path ?? "", stop.signal);
      busy = false;
      if (stop.signal.aborted || next === null) return;
      // What was there stays while the daemon does not answer: the page says since when.
      setState((before) => ({
        path: path ?? "",
        data: next.data ?? (before?.path === path ? before.data : null),
        error: next.error,
      }));
      if (every !== null && !document.hidden) timer = setTimeout(poll, every);
    }

    function shown(): void {
      clearTimeout(timer);
      if (!document.hidden && !busy && every !== null) poll();
    }
  }, [path, every, round, token]);
  const current = state?.path === path ? state : null;
  return {
    data: current?.data ?? null,
    error: current?.error ?? null,
    refresh: () => setRound((before) => before + 1),
  };
}

type Result<T> = { readonly data: T | null; readonly error: Refusal | null };

/** Null if it was given up. */
async function answerOf<T>(path: string, signal: AbortSignal): Promise<Result<T> | null> {
  try {
    return { data: await ask<T>(path, { signal }), error: null };
  } catch (error) {
    if (signal.aborted) return null;
    return { data: null, error: toRefusal(error) };
  }
}
