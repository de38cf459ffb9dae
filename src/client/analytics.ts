import type { CallType } from "../model/event.ts";
import type {
  AliasCall,
  AnyEvents,
  Attributes,
  EventName,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from "./calls.ts";
import { type Client, createClient } from "./client.ts";
import { type Options, readOptions } from "./options.ts";
import { platform } from "./platform.ts";
import type { FlushReport } from "./report.ts";

export * from "./calls.ts";
export { VERSION } from "./envelope.ts";
export * from "./errors.ts";
export * from "./memory-transport.ts";
export type { Options } from "./options.ts";
export type { Fetch, FetchInit, FetchResponse } from "./platform.ts";
export * from "./receive/receive.ts";
export type { FlushReport } from "./report.ts";

export type CloseOptions = {
  /** How long close waits, in milliseconds (10,000). Infinity waits for all calls. */
  readonly timeout?: number | undefined;
};

const CLOSE_TIMEOUT_MS = 10_000;

const METHODS = ["identify", "track", "page", "screen", "group", "alias", "flush", "close"] as const;

/**
 * A client of one source (SPEC.md 2.3, 4.3). Calls are checked and written as JSON at once, queued in memory, and sent
 * in batches in the background. It is a class because its users know it as one: `new Analytics("WRITE_KEY")`.
 *
 * With `new Analytics<{ "Signed Up": { plan: string } }, { email: string }>(…)` the names and properties of events are checked at compile
 * time, and so are the traits of users; a third type is that of a group's traits. `fairlead types` writes them from a tracking plan.
 *
 * Each call throws an {@link InvalidCallError} if it breaks a rule, a `CallTooLargeError` beyond 32 KB, a
 * `ClosedError` after close(), and a `QueueFullError` if the queue is full and must not drop. The promise that it returns
 * does not have to be awaited. It resolves to the call's messageId once the call is in the queue, which is at once unless
 * `queue.whenFull` is "block", and never rejects.
 *
 * Methods work detached: `const { track } = analytics`.
 */
export class Analytics<
  Events extends object = AnyEvents,
  Traits extends object = Attributes,
  GroupTraits extends object = Attributes,
> {
  readonly #client: Client;

  /** Throws an {@link InvalidOptionError} that names the option that cannot be used. */
  constructor(writeKey: string, options: Options = {}) {
    this.#client = createClient(readOptions(writeKey, options), platform);
    for (const name of METHODS) {
      const value = (this[name] as () => unknown).bind(this);
      Object.defineProperty(this, name, { value, writable: true, configurable: true });
    }
  }

  /** Sets traits of a user: when the account is created, and when they change. */
  identify(call: IdentifyCall<Traits>): Promise<string> {
    return this.#call("identify", call);
  }

  /** Records what a user did. */
  track<Name extends EventName<Events>>(call: TrackCall<Events, Name>): Promise<string> {
    return this.#call("track", call);
  }

  /** Records a view of a page. */
  page(call: PageCall): Promise<string> {
    return this.#call("page", call);
  }

  /** Records a view of a screen of an app. */
  screen(call: ScreenCall): Promise<string> {
    return this.#call("screen", call);
  }

  /** Says that a user belongs to a group, and sets traits of the group. */
  group(call: GroupCall<GroupTraits>): Promise<string> {
    return this.#call("group", call);
  }

  /** Says that two ids belong to the same user: the earlier anonymous one, and the new one. */
  alias(call: AliasCall): Promise<string> {
    return this.#call("alias", call);
  }

  /**
   * Sends the queue, and resolves to a report when all of it is settled. Never rejects. Keeps the program alive
   * meanwhile: in an outage until the retries are used up, which takes half a day if the server answers 429 and names a
   * time. close() has a deadline.
   */
  flush(): Promise<FlushReport> {
    return this.#client.flush();
  }

  /**
   * Sends the queue, and resolves to a report when all of it is settled or the time is over; `undelivered` then has the
   * rest. Never rejects. A second close returns the result of the first. Throws an InvalidOptionError if the timeout is
   * no number of at least 0.
   */
  close({ timeout = CLOSE_TIMEOUT_MS }: CloseOptions = {}): Promise<FlushReport> {
    return this.#client.close(timeout);
  }

  #call(type: CallType, call: object): Promise<string> {
    return this.#client.call(type, call);
  }
}
