import type { SentCall } from "../calls.ts";

/** What callbacks and listeners get: the call, and why it was not delivered. */
export class Context {
  /** The messageId of the call. */
  readonly id: string;
  readonly event: SentCall;
  /** How often the call was sent, if it was lost. */
  readonly attempts: number;
  readonly #failure: { readonly reason: unknown } | undefined;

  constructor(event: SentCall, reason?: Error & { readonly attempts?: number }) {
    this.id = event.messageId;
    this.event = event;
    this.attempts = reason?.attempts ?? 1;
    this.#failure = reason && { reason };
  }

  failedDelivery(): { readonly reason: unknown } | undefined {
    return this.#failure;
  }

  toJSON(): { readonly id: string; readonly event: SentCall } {
    return { id: this.id, event: this.event };
  }
}

/** Its promise is waited for, for a second at most. */
export type Callback = (error?: unknown, ctx?: Context) => unknown;
