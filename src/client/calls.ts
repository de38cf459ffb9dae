/** The six calls as a program writes them (SPEC.md 2.3), and as they are sent. */
import type { CallType } from "../model/event.ts";

/** Numbers become strings; they must be whole ones that JavaScript can tell apart. */
export type Id = string | number;

/** Names of destinations: `{ All: false, crm: true }` reaches crm alone (SPEC.md 4.3 rule 4). */
export type Integrations = { readonly [destination: string]: boolean | object };

/** An object with keys of any kind. Arrays are refused; Map, Set and Promise, too, as JSON has them without what is in them. */
export type Attributes = { readonly [key: string]: unknown } | OfInterface;

/** What is declared as an interface has no index. */
type OfInterface = object & { readonly [Symbol.iterator]?: never; readonly then?: never };

/** What any call may have. */
export type Common = {
  /** Where and how it happened; no attributes of the user. */
  readonly context?: Attributes | undefined;
  readonly integrations?: Integrations | undefined;
  /** When it happened, for historical import; the time of the call when left out. Text must be ISO 8601. */
  readonly timestamp?: Date | string | undefined;
  /** Names the call to its receivers, below 100 characters; a random UUID when left out. */
  readonly messageId?: string | undefined;
};

/** Who it is about: at least one of the two. */
export type Who =
  | { readonly userId: Id; readonly anonymousId?: Id | undefined }
  | { readonly userId?: Id | undefined; readonly anonymousId: Id };

export type IdentifyCall = Common & Who & { readonly traits?: Attributes | undefined };

/** `traits` is what the Go client calls the properties of a page. They travel as properties. */
export type PageCall = ScreenCall & { readonly traits?: Attributes | undefined };

export type ScreenCall = Common &
  Who & {
    readonly name?: string | undefined;
    readonly category?: string | undefined;
    readonly properties?: Attributes | undefined;
  };

export type GroupCall = Common & Who & { readonly groupId: Id; readonly traits?: Attributes | undefined };

/** `previousId` is the id from before, `userId` the new one. */
export type AliasCall = Common & { readonly userId: Id; readonly previousId: Id };

/** Events that are not declared: any name, with any properties. */
export type AnyEvents = { readonly [event: string]: Attributes };

export type EventName<Events extends object> = keyof Events & string;

/** `properties` may be left out where the event has none, or none that it needs. */
export type TrackCall<Events extends object = AnyEvents, Name extends EventName<Events> = EventName<Events>> = Common &
  Who & { readonly event: Name } & PropertiesOf<Events[Name]>;

type PropertiesOf<Properties> = [Properties] extends [null | undefined]
  ? { readonly properties?: undefined }
  : Nothing extends Properties
    ? { readonly properties?: Properties | undefined }
    : { readonly properties: Properties };

type Nothing = Record<never, never>;

/** A call as it was sent: what reaches the program again in errors and reports. */
export type SentCall = {
  readonly type: CallType;
  readonly messageId: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly previousId?: string;
  readonly groupId?: string;
  readonly event?: string;
  readonly name?: string;
  readonly category?: string;
  readonly properties?: { readonly [key: string]: unknown };
  readonly traits?: { readonly [key: string]: unknown };
  readonly context?: { readonly [key: string]: unknown };
  readonly integrations?: Integrations;
};
