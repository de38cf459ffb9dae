import { AsyncLocalStorage } from "node:async_hooks";
import type { SentCall } from "../../src/client/calls.ts";
import { type Client, createClient } from "../../src/client/client.ts";
import type { LostCallError } from "../../src/client/errors.ts";
import { type Options, readOptions } from "../../src/client/options.ts";
import type { ExitHooks, Fetch, FetchInit, FetchResponse, World } from "../../src/client/platform.ts";
import { platform } from "../../src/client/platform.ts";
import type { CallType } from "../../src/model/event.ts";
import { createFalseClock, type FalseClock } from "../flow/clock.ts";

export const KEY = "website-key";

/** What a false server does with a request: a status, a full answer, a fault of the network, or nothing at all. */
export type Behaviour =
  | number
  | "hang"
  | Error
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown };

export type Arrived = {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly text: string;
  readonly envelope: { readonly batch: readonly SentCall[]; readonly messageId: string; readonly sentAt: string };
  readonly at: number;
  /** From 1. */
  readonly nth: number;
};

export type TestClient = {
  readonly client: Client;
  readonly clock: FalseClock;
  /** What has come to the server. */
  readonly arrived: readonly Arrived[];
  /** What was written to standard error. */
  readonly lines: readonly string[];
  readonly lost: readonly LostCallError[];
  readonly delivered: readonly SentCall[];
  /** Makes a track call of this name, and answers what it returned. */
  track(event: string, rest?: object): Promise<string>;
  call(type: CallType, call: object): Promise<string>;
  /** The names of the events of each request. */
  batches(): readonly string[][];
  /** How many things keep the program alive. */
  alive(): number;
  /** How many timers run. */
  timers(): number;
  /** How many requests were under way at once, at most. */
  mostAtOnce(): number;
  /** The program has nothing left to do, or ends. */
  exit(hook: keyof ExitHooks): void;
};

export type ClientOptions = Options & {
  readonly answers?: (arrived: Arrived) => Behaviour;
  readonly clock?: FalseClock;
  readonly world?: Partial<World>;
  /** Leaves losses to standard error. */
  readonly deaf?: boolean;
};

/** A client in a world where time stands still until it is told to go on. */
export function startClient({
  answers = () => 200,
  clock = createFalseClock(),
  ...rest
}: ClientOptions = {}): TestClient {
  const { world: other, deaf = false, ...options } = rest;
  const lost: LostCallError[] = [];
  const delivered: SentCall[] = [];
  const lines: string[] = [];
  const arrived: Arrived[] = [];
  const hooks = new Set<ExitHooks>();
  const server = createFalseServer({ answers, clock, arrived });
  const timers = new Set<object>();
  let alive = 0;
  const listeners = {
    onError: (error: LostCallError) => lost.push(error),
    onDelivered: (call: SentCall) => delivered.push(call),
  };
  const settings = readOptions(KEY, { ...(deaf ? {} : listeners), ...options });
  const client = createClient(settings, {
    wall: clock.wall,
    after(ms, run) {
      const timer = {};
      timers.add(timer);
      // On whoever's behalf a real timer was set, on theirs it goes off.
      const bound = AsyncLocalStorage.bind(run);
      const cancel = clock.after(ms, () => {
        timers.delete(timer);
        bound();
      });
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
    keepAlive() {
      alive += 1;
      return () => {
        alive -= 1;
      };
    },
    onExit(hook) {
      hooks.add(hook);
      return () => hooks.delete(hook);
    },
    createTrail: platform.createTrail,
    fraction: () => 0.5,
    uuid: createFalseIds(),
    fetch: server.fetch,
    log: (line) => lines.push(line),
    debugNames: () => "",
    ...other,
  });
  return {
    ...{ client, clock, arrived, lines, lost, delivered },
    track: (event, more = {}) => client.call("track", { userId: "u", event, ...more }),
    call: (type, call) => client.call(type, call),
    batches: () => arrived.map(({ envelope }) => envelope.batch.map(({ event = "" }) => event)),
    alive: () => alive,
    timers: () => timers.size,
    mostAtOnce: server.mostAtOnce,
    exit(hook) {
      for (const one of [...hooks]) one[hook]();
    },
  };
}

/** As long as real ones. */
export function createFalseIds(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
  };
}

type Server = {
  readonly answers: (arrived: Arrived) => Behaviour;
  readonly clock: FalseClock;
  readonly arrived: Arrived[];
};

function createFalseServer({ answers, clock, arrived }: Server): { readonly fetch: Fetch; mostAtOnce(): number } {
  const open = new Set<object>();
  let most = 0;
  return { fetch, mostAtOnce: () => most };

  async function fetch(url: string, init: FetchInit): Promise<FetchResponse> {
    const one = {};
    open.add(one);
    most = Math.max(most, open.size);
    const end = (): boolean => open.delete(one);
    init.signal.addEventListener("abort", end);
    return answer(url, init).finally(end);
  }

  async function answer(url: string, { headers, body, signal }: FetchInit): Promise<FetchResponse> {
    const nth = arrived.length + 1;
    const one = { url, headers, text: body, envelope: JSON.parse(body), at: clock.now(), nth };
    arrived.push(one);
    const behaviour = answers(one);
    // An answer takes its time, if only a turn.
    await clock.nextTurn();
    if (behaviour === "hang") return hang(signal);
    if (behaviour instanceof Error) throw behaviour;
    return respond(typeof behaviour === "number" ? { status: behaviour } : behaviour);
  }
}

function hang(signal: FetchInit["signal"]): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(new Error("aborted"));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });
}

function respond({
  status,
  headers = {},
  body = { success: status === 200 },
}: Exclude<Behaviour, number | "hang" | Error>): FetchResponse {
  const words: Record<number, string> = { 200: "OK", 503: "Service Unavailable" };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, statusText: words[status] ?? "", headers: new Headers(headers), text: async () => text };
}
