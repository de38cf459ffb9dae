/**
 * `@segment/analytics-node` as far as its users know it, on this library's client: the constructor, the calls with their
 * callbacks, the events, flush() and closeAndFlush(). docs/send/fairlead-from-segment.md has the table of what differs. There are
 * no plugins and no OAuth: the types say so, and using them throws.
 */
import type { CallType } from "../../model/event.ts";
import type { AliasCall, Attributes, GroupCall, IdentifyCall, ScreenCall, SentCall, TrackCall } from "../calls.ts";
import { type Client, createClient } from "../client.ts";
import { LIBRARY } from "../envelope.ts";
import { AnalyticsError, InvalidOptionError } from "../errors.ts";
import { LONGEST_MS } from "../options.ts";
import { platform } from "../platform.ts";
import { createLossLog, isThenable } from "../report.ts";
import { showThrown } from "../show.ts";
import { type Callback, Context } from "./context.ts";
import { Emitter } from "./emitter.ts";
import { type AnalyticsSettings, readSettings } from "./settings.ts";

export { Context } from "./context.ts";
export * from "./settings.ts";

export type IdentifyParams = IdentifyCall;
export type TrackParams = TrackCall;
export type PageParams = ScreenCall;
export type GroupParams = GroupCall;
export type AliasParams = AliasCall;
export type UserTraits = Attributes;
export type GroupTraits = Attributes;

export type CloseAndFlushParams = {
  /** How long to wait, in milliseconds; 0 is for ever. */
  readonly timeout?: number | undefined;
};
export type FlushParams = CloseAndFlushParams & { readonly close?: boolean | undefined };

const CALLS = ["identify", "track", "page", "screen", "group", "alias"] as const;
const METHODS = [...CALLS, "flush", "closeAndFlush", "register", "deregister"] as const;
/** How long a flush waits for the promise of a callback. */
const CALLBACK_MS = 1_000;

export class Analytics extends Emitter {
  readonly ready: Promise<void> = Promise.resolve();
  readonly #client: Client;
  readonly #closeTimeoutMs: number;
  /** The open calls by messageId, each with its callback if it has one. Ids may repeat. */
  readonly #open = new Map<string, (Callback | undefined)[]>();
  /** Callbacks whose promises are waited for. */
  readonly #running = new Set<Promise<void>>();
  readonly #losses = createLossLog(platform);
  #closed = false;

  /** Throws an InvalidOptionError. */
  constructor(settings: AnalyticsSettings) {
    super();
    const read = readSettings(settings, {
      told: {
        request: (request) => this.emit("http_request", request),
        response: ({ status, statusText }, headers, { url, body }) =>
          this.emit("http_response", { status, statusText, url, body, headers }),
      },
      onDelivered: (call) => this.#settle(call),
      onError: (error) => this.#settle(error.call, error),
    });
    this.#client = createClient(read, platform);
    this.#closeTimeoutMs = Math.max(60_000, read.flushAfterMs) * 1.25;
    // Methods work without their object: `const { track } = analytics`.
    for (const name of METHODS) {
      Object.defineProperty(this, name, { value: this[name].bind(this), writable: true, configurable: true });
    }
    this.emit("initialize", settings);
  }

  /** That of this library. */
  get VERSION(): string {
    return LIBRARY.version;
  }

  identify(call: IdentifyParams, callback?: Callback): void {
    this.#call("identify", call, callback);
  }

  track(call: TrackParams, callback?: Callback): void {
    this.#call("track", call, callback);
  }

  /** The category is a property of the page, too. */
  page(call: PageParams, callback?: Callback): void {
    const { category, properties } = call;
    this.#call("page", category ? { ...call, properties: { ...properties, category } } : call, callback);
  }

  screen(call: PageParams, callback?: Callback): void {
    this.#call("screen", call, callback);
  }

  group(call: GroupParams, callback?: Callback): void {
    this.#call("group", call, callback);
  }

  alias(call: AliasParams, callback?: Callback): void {
    this.#call("alias", call, callback);
  }

  /**
   * Sends the queue, and resolves when all of it is settled and its callbacks are done, or the time is over. What is then
   * left stays in the queue. Never rejects.
   */
  async flush({ timeout, close = false }: FlushParams = {}): Promise<void> {
    if (close) return this.closeAndFlush({ timeout: timeout ?? 0 });
    const flushed = this.#client.flush().then(() => this.#callbacks());
    await (timeout ? Promise.race([flushed, passing(timeout)]) : flushed);
  }

  /** Does the same, and takes no more calls. Those that are left when the time is over fail. */
  async closeAndFlush({ timeout = this.#closeTimeoutMs }: CloseAndFlushParams = {}): Promise<void> {
    const isFirst = !this.#closed;
    this.#closed = true;
    const { undelivered } = await this.#client.close(timeout > 0 ? timeout : Infinity);
    if (isFirst) for (const call of undelivered) this.#settle(call, notInTime(timeout));
    await this.#callbacks();
    this.#losses.end();
  }

  /** There are no plugins here: throws if it is given one. */
  register(...plugins: never[]): Promise<void> {
    if (plugins.length > 0) throw new InvalidOptionError(`plugins are not supported: ${INSTEAD_OF_PLUGINS}`);
    this.emit("register", []);
    return this.ready;
  }

  async deregister(...names: string[]): Promise<void> {
    this.emit("deregister", names);
  }

  /** Throws where the other library throws. What can only be wrong with data at run time is an "error" event. */
  #call(type: CallType, call: object, callback: Callback | undefined): void {
    const messageId: string = Object(call).messageId || platform.uuid();
    const named = { ...call, messageId };
    if (this.#closed) {
      this.emit("call_after_close", sketch(type, named));
      return;
    }
    try {
      // The promise resolves when there is room in the queue, and never rejects.
      void this.#client.call(type, named);
    } catch (error) {
      if (!isAboutData(error)) throw error;
      this.#await(messageId, callback);
      // Afterwards, as any other failure.
      void Promise.resolve().then(() => this.#settle(sketch(type, named), error));
      return;
    }
    this.#await(messageId, callback);
  }

  #await(messageId: string, callback: Callback | undefined): void {
    const others = this.#open.get(messageId);
    if (others) others.push(callback);
    else this.#open.set(messageId, [callback]);
  }

  /** The callback comes first, and its promise is waited for before the event is emitted. */
  #settle(call: SentCall, error?: Error): void {
    const ctx = new Context(call, error);
    const [callback, ...others] = this.#open.get(call.messageId) ?? [];
    if (others.length > 0) this.#open.set(call.messageId, others);
    else this.#open.delete(call.messageId);
    if (error && !callback && !this.has("error")) this.#losses.add(error.message);
    const running = callback && run(callback, ctx);
    if (!running) {
      this.#emitSettled(ctx);
      return;
    }
    const done = running.then(() => this.#emitSettled(ctx)).finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  #emitSettled(ctx: Context): void {
    const failure = ctx.failedDelivery();
    if (failure) this.emit("error", { code: "delivery_failure", reason: failure.reason, ctx });
    else this.emit(ctx.event.type, ctx);
    if (this.#open.size === 0) this.emit("drained");
  }

  async #callbacks(): Promise<void> {
    await Promise.all(this.#running);
  }
}

// The other library exports it both ways.
export default Analytics;

const INSTEAD_OF_PLUGINS = "change calls before you make them, and choose their destinations in Fairlead's config";

/** A call that could not be written as it would have been sent. */
function sketch(type: CallType, call: object & { readonly messageId: string }): SentCall {
  return { timestamp: new Date(platform.wall()).toISOString(), ...call, type };
}

const ABOUT_DATA = ["call_too_large", "not_serialisable", "invalid_timestamp", "message_id_too_long"];

function isAboutData(error: unknown): error is AnalyticsError {
  return error instanceof AnalyticsError && ABOUT_DATA.includes(error.code);
}

function notInTime(timeoutMs: number): Error {
  return new Error(`the call was not delivered within ${timeoutMs / 1_000} s; make it again with the same messageId`);
}

/** Answers what to wait for, if the callback has returned a promise. */
function run(callback: Callback, ctx: Context): Promise<void> | undefined {
  try {
    const result = callback(ctx.failedDelivery()?.reason, ctx);
    if (!isThenable(result)) return undefined;
    return Promise.race([Promise.resolve(result).then(() => {}, complain), passing(CALLBACK_MS)]);
  } catch (error) {
    complain(error);
    return undefined;
  }
}

function complain(error: unknown): void {
  platform.log(`analytics: a callback threw: ${showThrown(error)}`);
}

function passing(ms: number): Promise<void> {
  return new Promise((resolve) => platform.after(Math.min(ms, LONGEST_MS), resolve));
}
