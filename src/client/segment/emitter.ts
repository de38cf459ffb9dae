import type { SentCall } from "../calls.ts";
import { platform } from "../platform.ts";
import { showThrown } from "../show.ts";
import type { Context } from "./context.ts";
import type { AnalyticsSettings, HTTPClientRequest } from "./settings.ts";

/** What `analytics.on("error", …)` gets. */
export type EmittedError = {
  readonly code: "delivery_failure";
  /** A `LostCallError`, unless closeAndFlush() has given up waiting. */
  readonly reason: unknown;
  readonly ctx: Context;
};

/** The names of events, and what their listeners get. */
export type Events = {
  identify: [ctx: Context];
  track: [ctx: Context];
  page: [ctx: Context];
  screen: [ctx: Context];
  group: [ctx: Context];
  alias: [ctx: Context];
  error: [error: EmittedError];
  http_request: [request: Omit<HTTPClientRequest, "httpRequestTimeout">];
  http_response: [response: EmittedResponse];
  /** A call after closeAndFlush(), which is not made. */
  call_after_close: [call: SentCall];
  /** No call is open any more. */
  drained: [];
  register: [names: string[]];
  deregister: [names: string[]];
  /** Emitted by the constructor, before anybody can listen: there as here. */
  initialize: [settings: AnalyticsSettings];
};

/** `body` is that of the request. */
type EmittedResponse = {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
};

type Listener<Args extends unknown[]> = (...args: Args) => void;

/** `on`, `once`, `off` and `emit`. A listener that throws is written to standard error, and keeps no other from being called. */
export class Emitter {
  readonly #listeners = new Map<keyof Events, readonly Listener<never>[]>();

  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this {
    this.#listeners.set(name, [...this.#of(name), listener]);
    return this;
  }

  once<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this {
    const first: Listener<Events[Name]> = (...args) => {
      this.off(name, first);
      listener.apply(this, args);
    };
    return this.on(name, first);
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this {
    const others = this.#of(name).filter((other) => other !== listener);
    this.#listeners.set(name, others);
    return this;
  }

  emit<Name extends keyof Events>(name: Name, ...args: Events[Name]): this {
    for (const listener of this.#of(name)) {
      try {
        Reflect.apply(listener, this, args);
      } catch (error) {
        platform.log(`analytics: a listener of ${name} threw: ${showThrown(error)}`);
      }
    }
    return this;
  }

  /** Whether somebody listens. */
  protected has(name: keyof Events): boolean {
    return this.#of(name).length > 0;
  }

  #of(name: keyof Events): readonly Listener<never>[] {
    return this.#listeners.get(name) ?? [];
  }
}
