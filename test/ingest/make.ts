import { createBodies } from "../../src/http/body.ts";
import { createIngest } from "../../src/ingest/api.ts";
import { createDoor } from "../../src/ingest/door.ts";
import { createLimits } from "../../src/ingest/limits.ts";
import { createRejections, type RejectionLog } from "../../src/ingest/rejections.ts";
import type { Config, Source } from "../../src/model/config.ts";
import type { Event } from "../../src/model/event.ts";
import type { Accept, Peer, Receipt } from "../../src/model/ports.ts";
import type { Refusal } from "../../src/model/refusal.ts";
import type { Report } from "../../src/model/report.ts";
import { Secret } from "../../src/model/secret.ts";
import { createFalseClock, type FalseClock, UNSHIFTED } from "../flow/clock.ts";
import { KEY, makeIngest, makeSource } from "../flow/make.ts";

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
  readonly rejections: RejectionLog;
  /** Whether the daemon is about to end. */
  stopping: boolean;
  /** The status of each answer that was counted. */
  readonly counted: readonly number[];
  /** How long each answer took, in milliseconds. */
  readonly timed: readonly number[];
  ask(path: string, body: unknown, options?: AskOptions): Promise<Answer>;
  send(request: Request, peer?: Peer): Promise<Answer>;
};

export type AskOptions = { readonly method?: string; readonly headers?: Record<string, string | null> };
export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
};

export function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}

export type IngestOptions = Partial<Config["ingest"]> & {
  readonly accept?: Accept;
  readonly sources?: readonly Source[];
  /** Hears of bugs. Left out, they are thrown. */
  readonly unexpected?: Report["unexpected"];
};

/** The collection API, with an `accept` that takes everything unless told else. */
export function startIngest(options: IngestOptions = {}): TestIngest {
  const { accept, sources = SOURCES, unexpected, ...keys } = options;
  const clock = createFalseClock();
  const accepted: Accepted[] = [];
  const refused: Refusal[] = [];
  const counted: number[] = [];
  const timed: number[] = [];
  let ids = 0;
  const door = createDoor({ ingest: makeIngest(keys), sources }, () => {});
  const report = makeReport({ refused, counted, timed, ...(unexpected && { unexpected }) });
  const rejections = createRejections({ clock, timeline: UNSHIFTED, observer: { refused() {} }, report });
  const handle = createIngest({
    clock,
    random: { fraction: () => 0.5, hex: (bytes) => (ids++).toString(16).padStart(2 * bytes, "0") },
    door: () => door,
    stopping: () => ingest.stopping,
    limits: createLimits({ clock, daemons: () => 1, waitingBytes: () => 0, countAnew() {} }),
    rejections,
    bodies: createBodies(clock),
    async accept(source, events) {
      accepted.push({ source, events });
      return accept?.(source, events) ?? events.map((): Receipt => ({ kind: "accepted", deliveries: [] }));
    },
    report,
  });
  const ingest: TestIngest = {
    ...{ clock, accepted, refused, counted, timed, rejections },
    stopping: false,
    ask(path, body, { method = "POST", headers = {} } = {}) {
      const content = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      const length = String(Buffer.byteLength(content));
      const given = Object.entries({ authorization: basic(`${KEY}:`), "content-length": length, ...headers });
      const all = given.filter((header): header is [string, string] => header[1] !== null);
      const init = method === "GET" || method === "OPTIONS" || method === "HEAD" ? {} : { body: content };
      return ingest.send(new Request(`http://127.0.0.1:8080${path}`, { method, headers: all, ...init }));
    },
    async send(request, peer = { address: "192.0.2.1", overSocket: false }) {
      const response = await handle(request, peer);
      const text = await response.text();
      const isJson = text !== "" && response.headers.get("content-type") === "application/json";
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
    },
  };
  return ingest;
}

type Heard = {
  readonly refused: Refusal[];
  readonly counted: number[];
  readonly timed: number[];
  readonly unexpected?: Report["unexpected"];
};

function makeReport({ refused, counted, timed, unexpected }: Heard): Report {
  const known: Partial<Report> = {
    callRejected: (refusal) => void refused.push(refusal),
    requestAnswered(status, duration) {
      counted.push(status);
      timed.push(duration);
    },
    ...(unexpected && { unexpected }),
  };
  return new Proxy(known as Report, {
    get: (target, what: keyof Report) =>
      target[what] ??
      ((doing: unknown, cause: unknown) => {
        throw new Error(`${what}: ${doing}`, { cause });
      }),
  });
}
