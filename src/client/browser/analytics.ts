// `fairlead/browser`: the client for pages. It has the calls of the other one, is a third of its size, and sends what is left
// when the page is.
import type { CallType } from "../../model/event.ts";
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
} from "../calls.ts";
import type { FlushReport } from "../report.ts";
import { createPageClient, type PageClient, type PageOptions } from "./client.ts";
import { page } from "./page.ts";

export type * from "../calls.ts";
export {
  AnalyticsError,
  CallTooLargeError,
  ClosedError,
  InvalidCallError,
  InvalidOptionError,
  LostCallError,
  QueueFullError,
} from "../errors.ts";
export type { FlushReport } from "../report.ts";
export type { PageOptions } from "./client.ts";
export { anonymousId } from "./page.ts";

/**
 * A client for pages. The calls are those of the client for servers (`fairlead`), with the same errors and types. Methods work
 * detached.
 */
export class Analytics<
  Events extends object = AnyEvents,
  Traits extends object = Attributes,
  GroupTraits extends object = Attributes,
> {
  readonly #client: PageClient;

  /** Throws an InvalidOptionError. */
  constructor(writeKey: string, options: PageOptions = {}) {
    this.#client = createPageClient(writeKey, options, page);
  }

  readonly identify = (call: IdentifyCall<Traits>): Promise<string> => this.#call("identify", call);

  readonly track = <Name extends EventName<Events>>(call: TrackCall<Events, Name>): Promise<string> =>
    this.#call("track", call);

  readonly page = (call: PageCall): Promise<string> => this.#call("page", call);

  readonly screen = (call: ScreenCall): Promise<string> => this.#call("screen", call);

  readonly group = (call: GroupCall<GroupTraits>): Promise<string> => this.#call("group", call);

  readonly alias = (call: AliasCall): Promise<string> => this.#call("alias", call);

  /** Sends the queue, and resolves to a report when all of it is settled. Never rejects. */
  readonly flush = (): Promise<FlushReport> => this.#client.flush();

  /** The same by a deadline, in milliseconds (10,000); `undelivered` has the rest. Takes no more calls. */
  readonly close = ({ timeout = 10_000 }: { readonly timeout?: number | undefined } = {}): Promise<FlushReport> =>
    this.#client.close(timeout);

  #call(type: CallType, call: object): Promise<string> {
    return Promise.resolve(this.#client.call(type, call));
  }
}
