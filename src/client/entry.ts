import type { CallType } from "../model/event.ts";

/** A call in the queue: written down when it was made, so that nothing that its program does later can change it. */
export type Entry = {
  /** Counts the calls of this client; the order in which they are sent. */
  readonly seq: number;
  readonly type: CallType;
  readonly messageId: string;
  /** The call as JSON. */
  readonly text: string;
  /** Whether its caller said when it happened: that time is not to be corrected. */
  readonly ownTime: boolean;
  /** Of the text, in UTF-8. */
  readonly bytes: number;
};

/** What the sender needs of a call. One without a messageId is found by its place when the server rejects it. */
export type Sendable = { readonly text: string; readonly messageId?: string; readonly ownTime?: boolean };
