import * as official from "@segment/analytics-node";
import * as facade from "../../../src/client/segment/analytics.ts";

/** What the tests use of both libraries. That the real classes fit says that both have these signatures. */
export type Library = {
  readonly VERSION: string;
  readonly ready: Promise<void>;
  identify(call: Who & { traits?: object }, callback?: Callback): void;
  track(call: Who & { event: string; properties?: object }, callback?: Callback): void;
  page(call: Who & { name?: string; category?: string; properties?: object }, callback?: Callback): void;
  screen(call: Who & { name?: string; category?: string; properties?: object }, callback?: Callback): void;
  group(call: Who & { groupId: string; traits?: object }, callback?: Callback): void;
  alias(call: Rest & { userId: string; previousId: string }, callback?: Callback): void;
  flush(options?: { timeout?: number; close?: boolean }): Promise<void>;
  closeAndFlush(options?: { timeout?: number }): Promise<void>;
  deregister(...names: string[]): Promise<void>;
  on(name: Settled | "call_after_close", listener: (ctx: Settlement & Sent) => void): unknown;
  on(name: "error", listener: (error: { code: string; reason?: unknown; ctx?: Settlement }) => void): unknown;
  on(name: "http_request", listener: (request: Request) => void): unknown;
  on(name: "http_response", listener: (response: Response) => void): unknown;
  on(name: "drained", listener: () => void): unknown;
  once(name: Settled, listener: (ctx: Settlement) => void): unknown;
  off(name: Settled, listener: (ctx: Settlement) => void): unknown;
};

type Settled = "identify" | "track" | "page" | "screen" | "group" | "alias";
type Rest = { messageId?: string; timestamp?: Date | string; context?: object; integrations?: object };
type Who = Rest & ({ userId: string; anonymousId?: string } | { userId?: string; anonymousId: string });
/** `messageId` is always there. */
type Sent = { readonly type: string; readonly messageId?: string };
export type Settlement = { readonly event: Sent; failedDelivery(): { reason: unknown } | undefined };
type Callback = (error?: unknown, ctx?: Settlement) => unknown;
type Request = { url: string; method: string; headers: Record<string, string>; body: string };
type Response = { status: number; statusText: string; url: string; body: string; headers: Record<string, string> };

export type Settings = {
  writeKey: string;
  host?: string;
  path?: string;
  maxRetries?: number;
  flushAt?: number;
  maxEventsInBatch?: number;
  flushInterval?: number;
  httpRequestTimeout?: number;
  disable?: boolean;
  httpClient?: ((url: string, request: Sendable) => Promise<Answer>) | { makeRequest(asked: Asked): Promise<Answer> };
};

type Sendable = { method: string; headers: Record<string, string>; body: string };
export type Asked = Sendable & { url: string; httpRequestTimeout: number };
export type Answer = {
  status: number;
  statusText: string;
  headers?: Record<string, string>;
  text?: () => Promise<string>;
};

export const LIBRARIES: readonly { readonly name: string; make(settings: Settings): Library }[] = [
  { name: "@segment/analytics-node 3.1.0", make: (settings) => loosely(new official.Analytics(settings)) },
  { name: "fairlead/segment", make: (settings) => loosely(new facade.Analytics(settings)) },
];

/** Overloads of `on` are told apart by name, which no compiler sees through. */
function loosely(library: Pick<Library, "VERSION" | "ready" | "flush" | "closeAndFlush" | "deregister">): Library {
  return library as Library;
}
