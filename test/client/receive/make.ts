import { writeBody } from "../../../src/webhook/body.ts";
import { sign } from "../../../src/webhook/signature.ts";
import { makeEvent } from "../../model/make.ts";

export const SECRET = "shared-secret";
export const URL_OF_HOOKS = "http://receiver.example/hooks";

/** A call as Fairlead writes it. */
export const BODY = writeBody(makeEvent({ userId: "u1", event: "Signed Up", messageId: "m1" }));

export type Sending = {
  readonly method?: string;
  readonly body?: string;
  /** Null for none. */
  readonly signature?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
};

/** What a test sends, and how: without a word, a call that is signed rightly. */
export function initOf({ method = "POST", body = BODY, signature, headers }: Sending = {}): RequestInit {
  const made = signature === undefined ? sign(body, SECRET) : signature;
  const signed = made === null ? {} : { "X-Signature": made };
  return { method, headers: { ...signed, ...headers }, ...(method === "POST" && { body }) };
}

/** A request as Fairlead sends it. */
export function makeRequest(sending: Sending = {}): Request {
  return new Request(URL_OF_HOOKS, initOf(sending));
}

/** A body that comes in pieces, without a length announced. */
export function streamed(body: string, pieces = 2): RequestInit & { readonly duplex: "half" } {
  const bytes = new TextEncoder().encode(body);
  const size = Math.ceil(bytes.length / pieces);
  let at = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
  return { ...initOf({ body }), body: stream, duplex: "half" };
}
