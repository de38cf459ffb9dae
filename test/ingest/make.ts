import { createBodies } from "../../src/http/body.ts";
import { createIngest } from "../../src/ingest/api.ts";
import { createFindSource } from "../../src/ingest/write-key.ts";
import type { Event } from "../../src/model/event.ts";
import type { Accept, Receipt, Report } from "../../src/model/ports.ts";
import type { Refusal } from "../../src/model/refusal.ts";
import { Secret } from "../../src/model/secret.ts";
import { createFalseClock, type FalseClock } from "../flow/clock.ts";
import { KEY, makeSource } from "../flow/make.ts";

export const SOURCES = [
  makeSource(),
  makeSource({ name: "app", writeKey: new Secret("app:key") }),
  makeSource({ name: "old", writeKey: new Secret("old-key"), enabled: false }),
];

export type Accepted = { readonly source: string; readonly events: readonly Event[] };

export type TestIngest = {
  readonly clock: FalseClock;
  readonly accepted: readonly Accepted[];
  readonly refused: readonly Refusal[];
  /** The status of each answer that was counted. */
  readonly counted: readonly number[];
  ask(path: string, body: unknown, options?: AskOptions): Promise<Answer>;
  send(request: Request): Promise<Answer>;
};

export type AskOptions = { readonly method?: string; readonly headers?: Record<string, string> };
export type Answer = { readonly status: number; readonly headers: Headers; readonly json: Record<string, unknown> };

export function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}

/** The collection API, with an `accept` that takes everything unless told else. */
export function startIngest({ accept }: { readonly accept?: Accept } = {}): TestIngest {
  const clock = createFalseClock();
  const accepted: Accepted[] = [];
  const refused: Refusal[] = [];
  const counted: number[] = [];
  let ids = 0;
  const findSource = createFindSource(SOURCES);
  const handle = createIngest({
    clock,
    random: { fraction: () => 0.5, hex: (bytes) => (ids++).toString(16).padStart(2 * bytes, "0") },
    findSource: () => findSource,
    bodies: createBodies(clock),
    async accept(source, events) {
      accepted.push({ source, events });
      return accept?.(source, events) ?? events.map((): Receipt => ({ kind: "accepted", deliveries: [] }));
    },
    report: makeReport({ refused, counted }),
  });
  const ingest: TestIngest = {
    ...{ clock, accepted, refused, counted },
    ask(path, body, { method = "POST", headers = {} } = {}) {
      const content = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      const all = {
        authorization: basic(`${KEY}:`),
        "content-length": String(Buffer.byteLength(content)),
        ...headers,
      };
      const init = method === "GET" || method === "HEAD" ? {} : { body: content };
      return ingest.send(new Request(`http://127.0.0.1:8080${path}`, { method, headers: all, ...init }));
    },
    async send(request) {
      const response = await handle(request, { address: "192.0.2.1" });
      const text = await response.text();
      return { status: response.status, headers: response.headers, json: text === "" ? {} : JSON.parse(text) };
    },
  };
  return ingest;
}

function makeReport({ refused, counted }: { refused: Refusal[]; counted: number[] }): Report {
  const known: Partial<Report> = {
    callRejected: (refusal) => void refused.push(refusal),
    requestAnswered: (status) => void counted.push(status),
  };
  return new Proxy(known as Report, {
    get: (target, what: keyof Report) =>
      target[what] ??
      ((doing: unknown, cause: unknown) => {
        throw new Error(`${what}: ${doing}`, { cause });
      }),
  });
}
