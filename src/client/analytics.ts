import type { CallType } from "../model/event.ts";
import type {
  AliasCall,
  AnyEvents,
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
export * from "./receive/calls.ts";
export * from "./receive/calls.ts";
// For whoever gets webhooks of Fairlead; with Hono, from `fairlead/client/hono`.
export type { ReceiveOptions } from "./receive/receiver.ts";
export * from "./receive/receiver.ts";
export * from "./receive/receiver.ts";
export { type Secrets, verifySignature } from "./receive/receiver.ts";
export type { FlushReport } from "./report.ts";

export type CloseOptions = {
  /** How long close waits for what is queued, in milliseconds: 10,000 unless said otherwise; Infinity waits for all. */
  readonly timeout?: number | undefined;
};

const CLOSE_TIMEOUT_MS = 10_000;

/**
 * A client of one source (SPEC.md 2.3, 4.3). Calls are checked and written down at once, queued in memory, and sent in
 * batches in the background. It is a class because its users know it as one: `new Analytics("WRITE_KEY")`.
 *
 * With `new Analytics<{ "Signed Up": { plan: string } }>(…)` names and properties of events are checked at compile time.
 *
 * Each call throws an {@link InvalidCallError} if it breaks a rule, a `CallTooLargeError` beyond 32 KB, a
 * `ClosedError` after close(), and a `QueueFullError` where the queue says so. What it returns need not be awaited: it
 * resolves to the call's messageId once the call has its place in the queue, which is at once unless
 * `queue.whenFull` is "block", and never rejects.
 */
export class Analytics<Events extends object = AnyEvents> {
  readonly #client: Client;

  /** Throws an {@link InvalidOptionError} that names the option that cannot be used. */
  constructor(writeKey: string, options: Options = {}) {
    this.#client = createClient(readOptions(writeKey, options), platform);
  }

  /** Ties a user to traits: once when the account is made, and again when they change. */
  identify(call: IdentifyCall): Promise<string> {
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

  /** Says that a user belongs to a group, and what the group is like. */
  group(call: GroupCall): Promise<string> {
    return this.#call("group", call);
  }

  /** Says that two ids are of the same user: the anonymous one from before, and the new one. */
  alias(call: AliasCall): Promise<string> {
    return this.#call("alias", call);
  }

  /**
   * Sends what is queued, and resolves when all of it is settled, with what became of it. Never rejects. It keeps the
   * program alive meanwhile: in an outage until the retries are used up, which for a server that answers 429 and names a
   * time takes half a day. close() has a deadline.
   */
  flush(): Promise<FlushReport> {
    return this.#client.flush();
  }

  /**
   * Sends what is queued, and resolves when all of it is settled or the time is over, with what became of it; what
   * could not be delivered by then is in `undelivered`. Never rejects. A second close gives the result of the first.
   * Throws an InvalidOptionError for a timeout that is none.
   */
  close({ timeout = CLOSE_TIMEOUT_MS }: CloseOptions = {}): Promise<FlushReport> {
    return this.#client.close(timeout);
  }

  #call(type: CallType, call: object): Promise<string> {
    return this.#client.call(type, call);
  }
}
