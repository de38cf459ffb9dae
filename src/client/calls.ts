/** The six calls as a program makes them (SPEC.md 2.3), and as they are sent. */
import type { CallType } from "../model/event.ts";

/** A number becomes a string. It must be a whole number that JavaScript holds exactly; a bigint may be any. */
export type Id = string | number | bigint;

/** Names of destinations: `{ All: false, crm: true }` reaches crm alone (SPEC.md 4.3 rule 4). */
export type Integrations = { readonly [destination: string]: boolean | object | undefined };

/** An object with any keys. Arrays are refused; so are Map, Set and Promise, which JSON writes without their content. */
export type Attributes = { readonly [key: string]: unknown } | OfInterface;

/** An interface has no index signature. */
type OfInterface = object & { readonly [Symbol.iterator]?: never; readonly then?: never };

/** The fields of every call. */
export type Common = {
  /** Where and how it happened; not the user's attributes. */
  readonly context?: Attributes | undefined;
  readonly integrations?: Integrations | undefined;
  /** When it happened, for historical imports; the time of the call when left out. Text must be ISO 8601. */
  readonly timestamp?: Date | string | undefined;
  /** By it receivers recognise the call. Below 100 characters; a random UUID when left out. */
  readonly messageId?: string | undefined;
};

/** The user: at least one of the two. */
export type Who =
  | { readonly userId: Id; readonly anonymousId?: Id | undefined }
  | { readonly userId?: Id | undefined; readonly anonymousId: Id };

/** `traits` may be left out if none is required. */
export type IdentifyCall<Traits extends object = Attributes> = Common & Who & TraitsOf<Traits>;

/** `traits` is the Go client's name for the properties of a page. They are sent as properties. */
export type PageCall = ScreenCall & { readonly traits?: Attributes | undefined };

export type ScreenCall = Common &
  Who & {
    readonly name?: string | undefined;
    readonly category?: string | undefined;
    readonly properties?: Attributes | undefined;
  };

export type GroupCall<Traits extends object = Attributes> = Common & Who & { readonly groupId: Id } & TraitsOf<Traits>;

type TraitsOf<Traits> = Nothing extends Traits ? { readonly traits?: Traits | undefined } : { readonly traits: Traits };

/** `previousId` is the old id, `userId` the new one. */
export type AliasCall = Common & { readonly userId: Id; readonly previousId: Id };

/** Events without declared types: any name, with any properties. */
export type AnyEvents = { readonly [event: string]: Attributes };

export type EventName<Events extends object> = keyof Events & string;

/** `properties` may be left out if the event requires none. */
export type TrackCall<Events extends object = AnyEvents, Name extends EventName<Events> = EventName<Events>> = Common &
  Who & { readonly event: Name } & PropertiesOf<Events[Name]>;

type PropertiesOf<Properties> = [Properties] extends [null | undefined]
  ? { readonly properties?: undefined }
  : Nothing extends Properties
    ? { readonly properties?: Properties | undefined }
    : { readonly properties: Properties };

type Nothing = Record<never, never>;

/** A call as it was sent. Errors and reports give it back to the program. Integers beyond 2^53 that were bigints are bigints. */
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
