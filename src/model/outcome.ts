import type { At, Ms } from "./units.ts";

/** The result of one attempt: a POST of one delivery to one webhook. */
export type Outcome = Attempted & Answer;

export type Attempted = {
  readonly url: string;
  readonly startedAt: At;
  readonly duration: Ms;
};

export type Answer =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The receiver's Retry-After, if any. */
      readonly retryAfter: Ms | null;
      /** Where a redirect pointed to. It is not followed. */
      readonly location: string | null;
    }
  | { readonly kind: "timeout"; readonly after: Ms }
  | { readonly kind: "unreachable"; readonly code: string; readonly message: string }
  /** The attempt never left this machine. */
  | { readonly kind: "offline"; readonly code: string; readonly message: string }
  /** The certificate was refused before any request was sent. */
  | { readonly kind: "untrusted"; readonly code: string; readonly message: string }
  /** The daemon stopped while the attempt ran: nothing is known. */
  | { readonly kind: "released" };
