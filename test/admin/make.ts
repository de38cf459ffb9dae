import { createAdmin } from "../../src/admin/api.ts";
import type { AdminWorld } from "../../src/admin/world.ts";
import { createBodies } from "../../src/http/body.ts";
import { createStreams } from "../../src/http/stream.ts";
import type { Audiences } from "../../src/model/audience.ts";
import type { Reload } from "../../src/model/daemon.ts";
import type { StoredDeletions } from "../../src/model/deletion.ts";
import type { Pauses } from "../../src/model/destination-clock.ts";
import { type Fault, fault } from "../../src/model/fault.ts";
import type { Lookup } from "../../src/model/lookup.ts";
import type { Backlog, RequestDeletion } from "../../src/model/ports.ts";
import type { Rejections } from "../../src/model/refusal.ts";
import type { Replay } from "../../src/model/replay.ts";
import type { Report } from "../../src/model/report.ts";
import type { Series } from "../../src/model/series.ts";
import type { ConfigStatus, DestinationHealth } from "../../src/model/status.ts";
import type { Timeline } from "../../src/model/timeline.ts";
import type { At } from "../../src/model/units.ts";
import type { WaitingDeliveries } from "../../src/model/waiting-deliveries.ts";
import { createFalseClock, type FalseClock, UNSHIFTED } from "../flow/clock.ts";
import { makeConfig } from "../flow/make.ts";
import { assertDocumented } from "./documented.ts";

type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };
type Wish = Parameters<RequestDeletion>[0];

type TestAdmin = {
  readonly clock: FalseClock;
  /** The store's state, for a test to change. */
  readonly store: { writable: boolean; refusal: Fault | null; probe: () => Promise<boolean> };
  readonly wishes: readonly Wish[];
  /** What was reported as a bug. */
  readonly bugs: readonly unknown[];
  /** What else was reported. */
  readonly told: readonly unknown[];
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
};

type Counts = Awaited<ReturnType<Backlog["counts"]>>;

type AdminOptions = {
  /** What waits, and for whom. */
  readonly stranded?: Partial<Omit<AdminWorld, "backlog" | "report" | "pauses">> & {
    readonly counts?: Counts | (() => Promise<Counts>);
    readonly pauses?: Partial<Pauses>;
  };
  readonly status?: Partial<Pick<AdminWorld, "webhooks" | "arrivals">> & {
    readonly oldestAt?: At;
    readonly config?: Partial<ConfigStatus>;
  };
  readonly requestDeletion?: RequestDeletion;
  readonly metrics?: () => Promise<string>;
  readonly rejections?: Rejections;
  readonly reload?: Reload;
  readonly lookup?: Partial<Lookup>;
  readonly replay?: Partial<Replay>;
  readonly deletions?: Partial<StoredDeletions>;
  readonly timeline?: Timeline;
};

const NO_REJECTIONS: Rejections = { newest: () => [] };

const NOTHING_WAITS: WaitingDeliveries = {
  discard: async () => ({ discarded: 0, more: false }),
  move: async () => ({ moved: 0, doubled: 0, more: false }),
};

const NOTHING_KNOWN: Lookup = {
  deliveries: async () => ({ deliveries: [], cursor: null }),
  delivery: async () => null,
  event: async () => ({ events: [], seen: [], complete: true }),
};

const NO_AUDIENCES: Audiences = {
  all: async () => [],
  find: async () => null,
  list: async () => fault("store_failed", "there is no store"),
  change: async () => fault("store_failed", "there is no store"),
  remove: async () => fault("store_failed", "there is no store"),
};

const NOTHING_SETTLED: Replay = {
  page: async () => ({
    replayed: new Map(),
    left: 0,
    deleted: 0,
    superseded: 0,
    oldest: null,
    newest: null,
    cursor: null,
  }),
  one: async () => null,
};

const NOTHING_DELETED = {
  page: async () => ({ deletions: [], cursor: null }),
  receipt: async () => null,
} as unknown as StoredDeletions;

export const WELL: DestinationHealth = {
  state: "working",
  failingSince: null,
  lastError: null,
  heldSince: null,
  webhooks: [],
};

const NOT_HELD = {
  by: null,
  running: 0,
  inLineOf: () => new Set<number>(),
  counts: { user: 0, rate: 0, concurrency: 0 },
};

/** The operator's API on a store that is well, unless a test says otherwise. */
export function startAdmin(options: AdminOptions = {}): TestAdmin {
  const { requestDeletion, reload, metrics = async () => "up 1\n", rejections = NO_REJECTIONS } = options;
  const { stranded = {}, status = {} } = options;
  const { counts: stored = [] } = stranded;
  const counts = typeof stored === "function" ? stored : async () => stored;
  const clock = createFalseClock();
  const store = { writable: true, refusal: null, probe: async () => true };
  const wishes: Wish[] = [];
  const bugs: unknown[] = [];
  const told: unknown[] = [];
  const handle = createAdmin({
    admin: () => makeConfig().admin,
    clock,
    timeline: options.timeline ?? UNSHIFTED,
    sharing: null,
    series: NO_SERIES,
    live: { watch: () => fault("stopping", "the daemon is stopping") },
    bodies: createBodies(clock),
    health: {
      async state() {
        const { writable, refusal } = store;
        return { writable, refusal, gone: null, full: null, crowding: null, size: { used: 0, max: 1, free: null } };
      },
      probe: () => store.probe(),
      responds: async () => true,
    },
    rescue: async () => fault("outbox_in_place", "it is in its place"),
    metrics: { text: metrics, contentType: "text/plain; version=0.0.4" },
    async requestDeletion(wish) {
      wishes.push(wish);
      const said = { id: "del-1", status: "running", sources: ["website"], untold: [] } as const;
      return requestDeletion?.(wish) ?? { ...said, notifications: wish.userIds.length };
    },
    tryCall: () => [],
    sendTest: async (name) => ({ messageId: "fl-1", delivery: `1-${name}` }),
    deletions: { ...NOTHING_DELETED, ...options.deletions },
    wakeDeletion: () => void told.push(["woken"]),
    reload: async () => reload?.() ?? { kind: "refused", reason: "there is no file", problems: [] },
    rejections,
    destinations: () => makeConfig().destinations,
    backlog: { counts, oldestWaitingAt: async () => status.oldestAt ?? null },
    sources: () => makeConfig().sources,
    outbox: () => ({ postgres: null, path: "/var/lib/fairlead/fairlead.db" }),
    activity: { of: () => 0 },
    webhooks: status.webhooks ?? { of: () => WELL },
    heldBack: { of: () => NOT_HELD },
    tryNow: (...what) => void told.push(["tried", ...what]),
    async retry(destination) {
      told.push(["retried", destination]);
      return null;
    },
    arrivals: status.arrivals ?? { of: () => ({ perSecond: 0, lastAt: null }) },
    limits: { of: () => null, refusals: () => [] },
    configText: async () => "sources: {}\n",
    lastReload: () => ({
      file: "config.yaml",
      readAt: clock.wall(),
      refused: null,
      needsRestart: [],
      ...status.config,
    }),
    startedAt: clock.wall(),
    version: "1.2.3",
    pid: 4711,
    waiting: NOTHING_WAITS,
    lookup: { ...NOTHING_KNOWN, ...options.lookup },
    audiences: NO_AUDIENCES,
    streams: createStreams(clock),
    replay: { ...NOTHING_SETTLED, ...options.replay },
    whileIdle: (_, work) => work(),
    ...stranded,
    pauses: { ...NEVER_PAUSED, ...stranded.pauses },
    report: {
      unexpected: (_: string, error: unknown) => void bugs.push(error),
      storeFailed: (doing: string) => void told.push(["store failed", doing]),
      discarded: (...what: unknown[]) => void told.push(["discarded", ...what]),
      moved: (...what: unknown[]) => void told.push(["moved", ...what]),
      replayed: (...what: unknown[]) => void told.push(["replayed", ...what]),
      paused: (...what: unknown[]) => void told.push(["paused", ...what]),
      resumed: (...what: unknown[]) => void told.push(["resumed", ...what]),
      retriedNow: (...what: unknown[]) => void told.push(["retriedNow", ...what]),
    } as unknown as Report,
  });

  async function send(path: string, init: { method: string; headers: Record<string, string>; body?: string }) {
    const headers = { host: "127.0.0.1:8081", ...init.headers };
    const request = new Request(`http://127.0.0.1:8081${path}`, { ...init, headers });
    const response = await handle(request, { address: "127.0.0.1", overSocket: false });
    const { status, headers: given } = response;
    const text = await response.text();
    const { method, body: sent } = init;
    await assertDocumented({ method, path, sent, status, type: given.get("content-type"), text });
    return { status, headers: given, text };
  }

  return {
    clock,
    store,
    wishes,
    bugs,
    told,
    get: (path, headers = {}) => send(path, { method: "GET", headers }),
    post(path, given, headers = {}) {
      const body = typeof given === "string" ? given : JSON.stringify(given);
      const length = String(Buffer.byteLength(body));
      const all = { "content-type": "application/json", "content-length": length, ...headers };
      return send(path, { method: "POST", headers: all, body });
    },
  };
}

/** Nothing is paused, or can be. */
export const NEVER_PAUSED: Pauses = {
  since: () => null,
  pause: () => Promise.reject(new Error("nobody should be paused")),
  resume: async () => ({ since: null }),
};

const NO_SERIES: Series = { read: () => ({ since: 0, until: 0, step: 5_000, omitted: 0, series: {} }) };
