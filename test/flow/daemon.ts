import { writeFile } from "node:fs/promises";
import { type App, createApp } from "../../src/app.ts";
import type { Config, Tls } from "../../src/model/config.ts";
import type { Reload } from "../../src/model/daemon.ts";
import type { Disk, Space } from "../../src/model/disk.ts";
import type { Handle, OpenStore, Store } from "../../src/model/ports.ts";
import type { Report } from "../../src/model/report.ts";
import type { ConfigStatus } from "../../src/model/status.ts";
import { GB } from "../../src/model/units.ts";
import { disk } from "../../src/runtime/disk.ts";
import { assertDocumented } from "../admin/documented.ts";
import { createFalseClock, type FalseClock } from "./clock.ts";
import { KEY, makeConfig } from "./make.ts";
import { type Behaviour, createFalseNetwork, type Sent } from "./network.ts";
import { createOutbox, createSharedOutbox, type DeliveryRow, type Outbox } from "./outbox.ts";

export type DaemonOptions = {
  readonly answers?: (sent: Sent) => Behaviour;
  readonly config?: Partial<Config>;
  /** On PostgreSQL, so that others can be started beside it. */
  readonly shared?: boolean;
  /** Another daemon, whose outbox and clock this one has as well. */
  readonly beside?: TestDaemon;
  /** The bytes of an outbox that is there already. */
  readonly outbox?: Uint8Array;
  readonly clock?: FalseClock;
  /** Whether the listener takes another certificate. */
  readonly renew?: () => Promise<void>;
  /** What the machine says about the disk; there is enough when left out. */
  readonly space?: Disk["space"];
  /** Why the last config was refused. */
  readonly refused?: () => ConfigStatus["refused"];
  readonly host?: string;
  /** What the operator's API sets off. */
  readonly reload?: Reload;
  /** Who is told what happens, in place of `told`. */
  readonly report?: (clock: FalseClock) => Report;
  /** The engine; SQLite when left out. */
  readonly openStore?: OpenStore;
};

export type Told = { readonly what: string; readonly args: readonly unknown[] };

export type TestDaemon = AsyncDisposable & {
  readonly app: App;
  readonly clock: FalseClock;
  readonly config: Config;
  readonly outbox: Outbox;
  readonly sent: readonly Sent[];
  /** The certificates that were handed to the listener. */
  readonly renewed: readonly Tls[];
  /** What the daemon told its operator. */
  readonly told: readonly Told[];
  /** Sends any request to the collection API. */
  send(path: string, init: RequestInit): Promise<Answer>;
  ask(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a call, and waits until all that it sets off has come to rest. */
  call(path: string, body: object): Promise<Answer>;
  admin(method: string, path: string, options?: AdminOptions): Promise<Answer>;
  /** Opens a stream of the operator's API, which does not end by itself. */
  open(path: string, init?: { readonly method?: string; readonly headers?: Record<string, string> }): Promise<Response>;
  rows(): Promise<readonly DeliveryRow[]>;
  row(): Promise<DeliveryRow>;
  /** As an operator asks it in the shell of the database. */
  query<R>(sql: string): Promise<readonly R[]>;
  /** What a kill at this moment would leave, taken over by a new daemon. */
  crash(options?: DaemonOptions): Promise<TestDaemon>;
  /** Kills it; others that have the same outbox open see for themselves. */
  die(): Promise<void>;
  /** Keeps it from running, as SIGSTOP does, until `thaw`. Others do not see a difference from a kill. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
};

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
};
export type AdminOptions = {
  readonly body?: unknown;
  /** Sent as it is, in place of a body of JSON. */
  readonly text?: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly headers?: Record<string, string>;
};

/** The whole daemon in this process: real stages and a real database, with a false clock, chance and network. */
export async function startDaemon(options: DaemonOptions = {}): Promise<TestDaemon> {
  if (options.beside) return startOn(options.beside.outbox, { clock: options.beside.clock, ...options });
  const outbox = await (options.shared ? createSharedOutbox() : createOutbox());
  if (options.outbox) await writeFile(outbox.path, options.outbox);
  return startOn(outbox, options).catch(async (error: unknown) => {
    await outbox.remove();
    throw error;
  });
}

/** So that no two daemons make the same ids. */
let beside = 0;

async function startOn(outbox: Outbox, options: DaemonOptions): Promise<TestDaemon> {
  const clock = options.clock ?? createFalseClock();
  const life = createLife(clock);
  const given = makeConfig(options.config);
  const config = { ...given, outbox: { ...given.outbox, path: outbox.path } };
  const network = createFalseNetwork(clock, options.answers ?? (() => 200));
  const told: Told[] = [];
  const renewed: Tls[] = [];
  const handles = new Map<number, Handle>();
  let store: Store | null = null;
  let handedOn = false;
  const app = createApp(config, {
    clock: life.clock,
    random: createFalseRandom(options.beside ? ++beside : 0),
    post: (request) => life.live(() => network.post(request)),
    report: options.report?.(clock) ?? createFalseReport(told, life.isOver),
    metrics: { text: async () => "", contentType: "text/plain", expose() {}, watch() {}, declare() {} },
    disk: {
      space: async (path) => (options.space ?? roomy)(path),
      size: async () => 0,
      read: async () => new Uint8Array(),
      mark: disk.mark,
      alias: disk.alias,
    },
    serve: async (listen, handle) => {
      const port = listen.kind === "tcp" ? listen.port : 0;
      handles.set(port, handle);
      return {
        address: `http://127.0.0.1:${port}`,
        async renew(tls) {
          await options.renew?.();
          renewed.push(tls);
        },
        stop: async () => void handles.delete(port),
      };
    },
    reload: async () => options.reload?.() ?? { kind: "refused", reason: "there is no file", problems: [] },
    configText: async () => "",
    lastReload: () => {
      return { file: "config.yaml", readAt: clock.wall(), refused: options.refused?.() ?? null, needsRestart: [] };
    },
    async openStore(its) {
      const opened = await (options.openStore ?? outbox.open)(its);
      store = opened;
      return { ...opened, close: () => opened.close().finally(() => (store = null)) };
    },
    version: "0.0.0",
    pid: 4711,
    ...(options.host && { host: options.host }),
  });
  await app.start();

  const daemon: TestDaemon = {
    app,
    clock,
    config,
    outbox,
    sent: network.sent,
    renewed,
    told,
    send: (path, init) => send(8080, new Request(`http://127.0.0.1:8080${path}`, init)),
    ask: (path, body, headers = {}) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const authorization = `Basic ${Buffer.from(`${KEY}:`).toString("base64")}`;
      const length = String(Buffer.byteLength(text));
      const all = { authorization, "content-length": length, ...headers };
      return daemon.send(path, { method: "POST", body: text, headers: all });
    },
    async call(path, body) {
      const answer = await daemon.ask(path, body);
      await clock.rest();
      return answer;
    },
    async admin(method, path, { body, text: given, headers = {} } = {}) {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const all = {
        host: "127.0.0.1:8081",
        ...(method === "POST" || body !== undefined ? { "content-type": "application/json" } : {}),
        ...headers,
      };
      const answer = await send(
        8081,
        new Request(`http://127.0.0.1:8081${path}`, {
          method,
          headers: all,
          ...((given ?? sent) !== undefined && { body: given ?? sent, duplex: "half" }),
        } as RequestInit),
      );
      const { status, text } = answer;
      await assertDocumented({ method, path, sent, status, type: answer.headers.get("content-type"), text });
      return answer;
    },
    open(path, { method = "GET", headers = {} } = {}) {
      const all = { host: "127.0.0.1:8081", ...headers };
      return respond(8081, new Request(`http://127.0.0.1:8081${path}`, { method, headers: all }));
    },
    async query(sql) {
      await caughtUp();
      return outbox.query(sql);
    },
    async rows() {
      await caughtUp();
      return outbox.rows();
    },
    async row() {
      const [only, ...others] = await daemon.rows();
      if (!only || others.length > 0)
        throw new Error(`expected one delivery, there are ${others.length + (only ? 1 : 0)}`);
      return only;
    },
    async crash(crashOptions = {}) {
      // A copy is what a kill leaves; without one, the daemon itself has to die.
      if (!outbox.isCopied) life.end();
      handedOn = !outbox.isCopied;
      const next = await outbox.kill();
      await daemon.stop();
      return startOn(next, { clock, ...crashOptions, config: { ...config, ...crashOptions.config } });
    },
    async die() {
      life.end();
      await outbox.disconnect(life.clock);
    },
    freeze: life.freeze,
    thaw: life.thaw,
    async stop() {
      const stopping = life.isOver() ? null : app.stop();
      await clock.advance("6s");
      await stopping;
      if (!options.beside && !handedOn) await outbox.remove();
    },
    [Symbol.asyncDispose]: () => daemon.stop(),
  };
  await clock.rest();
  return daemon;

  /** Counting has what waits for another commit written, as whatever an operator asks for does. */
  async function caughtUp(): Promise<void> {
    await store?.backlog.counts();
  }

  async function respond(port: number, request: Request): Promise<Response> {
    const handle = handles.get(port);
    if (!handle) throw new Error(`nobody listens on port ${port}`);
    return handle(request, { address: "127.0.0.1", overSocket: false });
  }

  async function send(port: number, request: Request): Promise<Answer> {
    const response = await respond(port, request);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }
}

/** What a process does until it is killed; then nothing of it runs any more, though its clock is that of others. */
function createLife(clock: FalseClock) {
  let over = false;
  let thawing: PromiseWithResolvers<void> | null = null;
  const never = new Promise<never>(() => {});
  const goOn = (): Promise<void> => (over ? never : (thawing?.promise ?? Promise.resolve()));

  async function live<T>(run: () => Promise<T>): Promise<T> {
    await goOn();
    const answer = await run();
    await goOn();
    return answer;
  }

  return {
    isOver: () => over,
    end(): void {
      over = true;
    },
    freeze(): void {
      thawing ??= Promise.withResolvers();
    },
    thaw(): void {
      thawing?.resolve();
      thawing = null;
    },
    live,
    clock: {
      ...clock,
      after: (ms: number, run: () => void) =>
        clock.after(ms, () => {
          if (thawing) void thawing.promise.then(run);
          else if (!over) run();
        }),
      sleep: (ms: number, signal: AbortSignal) => live(() => clock.sleep(ms, signal)),
      nextTurn: () => live(() => clock.nextTurn()),
    },
  };
}

async function roomy(): Promise<Space> {
  return { free: 1_024 * GB, total: 1_024 * GB };
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

/** Chance that always falls in the middle: waits have no jitter, ids count up. */
function createFalseRandom(nth: number) {
  let count = nth * 1_000_000;
  return {
    fraction: () => 0.5,
    hex: (bytes: number) => (count++).toString(16).padStart(2 * bytes, "0"),
  };
}

function createFalseReport(told: Told[], isOver: () => boolean): Report {
  return new Proxy({} as Report, {
    get: (_, what) => {
      return (...args: unknown[]) => {
        if (isOver()) return;
        if (what === "unexpected") throw new Error(`unexpected: ${String(args[0])}`, { cause: args[1] });
        told.push({ what: String(what), args });
      };
    },
  });
}
