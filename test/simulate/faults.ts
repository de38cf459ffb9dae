/** Things that a daemon can do wrong. Each is put between the daemon and one of its ports, and the checks have to find it. */
import { createHmac } from "node:crypto";
import type { Config } from "../../src/model/config.ts";
import type { Ports } from "../../src/model/daemon.ts";
import type { Delivery, Settlement } from "../../src/model/delivery.ts";
import type { StoredClock } from "../../src/model/destination-clock.ts";
import { isFault } from "../../src/model/fault.ts";
import type { Append, Clock, Entry, Post, Receipt, Reply, Store, StoreChange } from "../../src/model/ports.ts";
import { SECOND } from "../../src/model/units.ts";
import { DESTINATIONS } from "./world/shape.ts";

export type Fault = {
  /** What the daemon does wrong. */
  readonly what: string;
  /** The ports of a process, in place of the real ones. Called for each process. */
  readonly ports?: (real: Ports, config: Config) => Ports;
  /** The config that the daemon works by, in place of the one it was given. */
  readonly config?: (real: Config) => Config;
  /** What reaches PostgreSQL in place of a statement. `nth`: which of the daemons sends it. */
  readonly sql?: (real: Statement, from: { readonly clock: Clock; readonly nth: number }) => Statement;
};

export type Statement = { readonly text: string; readonly values: readonly unknown[] | undefined };

const ACCEPTED: Receipt = { kind: "accepted", deliveries: [] };

/** Between a call and its commit. */
const ACCEPT: readonly Fault[] = [
  inStore("answers before the commit", ({ append, changes }) => {
    let moved = (): void => {};
    return {
      changes(hear) {
        moved = () => hear({ kind: "moved", what: "all" });
        changes(hear);
      },
      async append(entries) {
        // The daemon repeats its own events until they are stored.
        if (entries.some(isOwn)) return append(entries);
        void append(entries).then(() => moved());
        return entries.map(() => ACCEPTED);
      },
    };
  }),
  inStore("acknowledges what could not be committed", ({ append }) => ({
    async append(entries) {
      const receipts = await append(entries);
      return isFault(receipts) && !entries.some(isOwn) ? entries.map(() => ACCEPTED) : receipts;
    },
  })),
  inStore("does not set off what it has committed", ({ append }) => ({
    append: afterwards(append, (receipt) =>
      receipt.kind === "accepted" ? { ...receipt, deliveries: receipt.deliveries.slice(1) } : receipt,
    ),
  })),
  inStore("does not recognise repeats", ({ append }) => ({
    async append(entries) {
      const receipts = await append(entries);
      if (isFault(receipts)) return receipts;
      const repeats = entries.filter((entry, nth) => receipts[nth]?.kind === "duplicate" && !isOwn(entry));
      if (repeats.length === 0) return receipts;
      const again = await append(
        repeats.map((entry) => ({ ...entry, event: { ...entry.event, messageId: `${entry.event.messageId}~` } })),
      );
      if (isFault(again)) return receipts;
      return receipts.map((receipt, nth) => again[repeats.indexOf(entries[nth] as Entry)] ?? receipt);
    },
  })),
  inStore("remembers repeats of what was rolled back", ({ append }) => {
    const seen = new Set<string>();
    return {
      async append(entries) {
        const key = ({ source, event }: Entry): string => `${source} ${event.messageId}`;
        const isSeen = (entry: Entry): boolean => seen.has(key(entry)) && !isOwn(entry);
        const others = entries.filter((entry) => !isSeen(entry));
        const receipts = others.length > 0 ? await append(others) : [];
        if (!isFault(receipts)) {
          return entries.map((entry) => receipts[others.indexOf(entry)] ?? { kind: "duplicate" });
        }
        for (const entry of entries) seen.add(key(entry));
        return receipts;
      },
    };
  }),
  inStore("sends to destinations that are disabled, or not for the call", ({ append }) => ({
    append: (entries) => append(entries.map((one) => (isOwn(one) ? one : { ...one, deliverTo: DESTINATIONS }))),
  })),
  inStore("writes a body with its keys in another order", ({ append }) => ({
    append: (entries) => append(entries.map((one) => ({ ...one, body: reversed(one.body) }))),
  })),
  inPost("signs with characters in place of bytes", (post) => (request) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what tells ASCII from the rest.
    if (/^[\x00-\x7f]*$/.test(request.body) || !request.headers["X-Signature"]) return post(request);
    const signature = createHmac("sha1", "secret").update(Buffer.from(request.body, "latin1")).digest("hex");
    return post({ ...request, headers: { ...request.headers, "X-Signature": signature } });
  }),
  inStore("calls a membership twice", ({ append }) => ({
    async append(entries) {
      const receipts = await append(entries);
      const again = entries.filter(({ change }) => change).map(({ change, ...entry }) => entry);
      if (again.length > 0) await append(again);
      return receipts;
    },
  })),
  inStore("lets in users who are suppressed", ({ append }) => ({
    async append(entries) {
      const receipts = await append(entries);
      if (isFault(receipts)) return receipts;
      const refused = entries.filter((_, nth) => receipts[nth]?.kind === "suppressed");
      if (refused.length === 0) return receipts;
      const hidden = await append(refused.map((one) => ({ ...one, event: { ...one.event, userId: undefined } })));
      return isFault(hidden)
        ? receipts
        : receipts.map((one, nth) => hidden[refused.indexOf(entries[nth] as Entry)] ?? one);
    },
  })),
];

/** Between a row and a request. */
const DELIVER: readonly Fault[] = [
  inPorts("loses a wake-up", (ports) => {
    let timers = 0;
    const after: Ports["clock"]["after"] = (ms, run) => {
      timers += 1;
      return ports.clock.after(ms, timers % 20 === 0 ? () => {} : run);
    };
    return { clock: { ...ports.clock, after } };
  }),
  inStore("keeps its claim on what is to be tried again", ({ readQueue, settle }) => {
    const kept = new Set<string>();
    return {
      settle(delivery, settlement) {
        if (settlement.state === "waiting") kept.add(nameOf(delivery));
        return settle(delivery, settlement);
      },
      async readQueue(ask) {
        const page = await readQueue(ask);
        const deliveries = page.deliveries.filter((one) => !kept.has(nameOf(one)));
        const last = page.deliveries.at(-1);
        return { upTo: last ?? { dueAt: 0, id: 0 }, ...page, deliveries };
      },
    };
  }),
  inStore("forgets when the next retry is due", ({ backlog }) => ({
    backlog: { ...backlog, nextRetryAt: async () => null },
  })),
  inStore("forgets what was withdrawn", without("withdrawn")),
  inStore("does not read again what was moved", without("moved")),
  inPorts("drops a delivery at a reload", (ports) => {
    let [reloads, dropped] = [0, 1];
    const declare: Ports["metrics"]["declare"] = (names) => {
      reloads += 1;
      ports.metrics.declare(names);
    };
    const wrapped = wrapStore(ports, ({ append }) => ({
      append: afterwards(append, (receipt) => {
        if (dropped >= reloads || receipt.kind !== "accepted" || receipt.deliveries.length === 0) return receipt;
        dropped = reloads;
        return { ...receipt, deliveries: receipt.deliveries.slice(1) };
      }),
    }));
    return { ...wrapped, metrics: { ...ports.metrics, declare } };
  }),
  inPost("changes the body when it is sent again", (post) => {
    const sent = new Set<string>();
    return (request) => {
      const isRetry = sent.has(request.body);
      sent.add(request.body);
      return post(isRetry ? { ...request, body: request.body.replace("{", "{ ") } : request);
    };
  }),
  inStore("asks again a webhook that has refused for good", ({ readQueue }) => ({
    readQueue: async (ask) => {
      const page = await readQueue(ask);
      return { ...page, deliveries: page.deliveries.map((one) => ({ ...one, finals: [] })) };
    },
  })),
  {
    what: "delivers to destinations that are disabled",
    config: (real) => ({ ...real, destinations: real.destinations.map((one) => ({ ...one, enabled: true })) }),
  },
  inSavedClocks("does not write down a pause", (clock) => ({ ...clock, pausedAt: null })),
  inSavedClocks("stops a clock too late", (clock) => ({
    ...clock,
    stoppedAt: clock.stoppedAt && clock.stoppedAt + 60 * SECOND,
  })),
  inReplies("does not hear Retry-After of a 429", (reply) =>
    reply.status === 429 ? { ...reply, retryAfter: null } : reply,
  ),
  inReplies("does not hear Retry-After of a 503", (reply) =>
    reply.status === 503 ? { ...reply, retryAfter: null } : reply,
  ),
  inPorts("does not write what is answered while it stops", (ports) => {
    let stopping = false;
    const serve: Ports["serve"] = async (...args) => {
      const listener = await ports.serve(...args);
      return {
        ...listener,
        stop() {
          stopping = true;
          return listener.stop();
        },
      };
    };
    const wrapped = wrapStore(ports, ({ settle }) => ({
      settle: async (delivery, settlement) => (stopping ? "gone" : settle(delivery, settlement)),
    }));
    return { ...wrapped, serve };
  }),
];

/** Between an answer and what it means. */
const SETTLE: readonly Fault[] = [
  inSettlements("makes one attempt more after the cutoff", (real, { firstAttemptAt }, { delivery }) => {
    const since = real.attemptedAt - (firstAttemptAt ?? real.attemptedAt);
    if (real.state !== "expired" || since > 2 * delivery.cutoff) return real;
    return { ...real, state: "waiting", dueAt: real.attemptedAt + SECOND, reason: "once more" };
  }),
  inSettlements("never gives up", (real) =>
    real.state === "expired" ? { ...real, state: "waiting", dueAt: real.attemptedAt + SECOND } : real,
  ),
  inSettlements("gives up after the time since it was accepted", (real, { acceptedAt }, { delivery }) => {
    if (real.state !== "waiting" || real.attemptedAt - acceptedAt < delivery.cutoff) return real;
    const { dueAt, ...progress } = real;
    return { ...progress, state: "expired", reason: "no success" };
  }),
  inSettlements("tries again after a success", (real) =>
    real.state === "delivered"
      ? { ...real, state: "waiting", dueAt: real.attemptedAt + SECOND, reason: "once more" }
      : real,
  ),
  inSettlements("grants time in which the clock ran", (real) => ({
    ...real,
    stoodStill: real.stoodStill - 60 * SECOND,
  })),
  inSettlements("loses what became of a retry", (real) => (real.attempts === 2 ? null : real)),
  inPorts("tries again too early", ({ random }) => ({
    random: { ...random, fraction: () => random.fraction() - 1 },
  })),
  inReplies("closes a lane on answers of 500", (reply) =>
    reply.status >= 500 ? { kind: "unreachable", code: "ECONNREFUSED", message: "connection refused" } : reply,
  ),
  inReplies("takes a refusal for a success", (reply) => (reply.status === 400 ? { ...reply, status: 200 } : reply)),
];

/** Between a decision and the file. */
const STORE: readonly Fault[] = [
  inStore("does not count what has failed", ({ backlog }) => ({
    backlog: {
      ...backlog,
      counts: async () => (await backlog.counts()).filter(({ state }) => state !== "failed"),
    },
  })),
  inStore("counts what was rolled back", ({ append, backlog }) => {
    let lost = 0;
    return {
      async append(entries) {
        const receipts = await append(entries);
        if (isFault(receipts)) lost += entries.length;
        return receipts;
      },
      backlog: {
        ...backlog,
        counts: async () =>
          (await backlog.counts()).map((one, nth) => (nth > 0 ? one : { ...one, count: one.count + lost })),
      },
    };
  }),
  inStore("begins anew with what waits and is hurried", ({ replay, readQueue }) => {
    const hurried = new Set<string>();
    return {
      replay: {
        ...replay,
        async one(place) {
          const did = await replay.one(place);
          if (did === "hurried") hurried.add(nameOf(place));
          return did;
        },
      },
      async readQueue(ask) {
        const page = await readQueue(ask);
        const renew = (one: Delivery): Delivery =>
          hurried.delete(nameOf(one)) ? { ...one, attempts: 0, firstAttemptAt: null, stoodStill: 0 } : one;
        return { ...page, deliveries: page.deliveries.map(renew) };
      },
    };
  }),
  inStore("says that it replays, and does nothing", ({ replay }) => ({
    replay: { ...replay, page: (wish) => replay.page({ ...wish, dryRun: true }) },
  })),
  inStore("removes waiting deliveries to make room", ({ prune, waiting }) => ({
    async prune(before, limit) {
      for (const name of DESTINATIONS) await waiting.discard(name, 1);
      return prune(before, limit);
    },
  })),
  inStore("sends what a deleted user has sent before", ({ append, withdraw }) => ({
    append: (entries) => append(entries.map(({ withdraws, ...entry }) => entry)),
    withdraw: async ({ reason, events }) => (reason === "user deleted" ? 0 : withdraw({ reason, events })),
  })),
  inPorts("goes by the machine's clock at a start", ({ clock }) => ({
    clock: { ...clock, continueFrom: (at) => clock.continueFrom(Math.max(at, clock.wall())) },
  })),
  inPorts("does not look where its files are", ({ disk }) => {
    const marks = new Map<string, ReturnType<typeof disk.mark>>();
    const mark = (path: string): ReturnType<typeof disk.mark> => {
      const known = marks.get(path) ?? disk.mark(path);
      if (known !== null) marks.set(path, known);
      return known;
    };
    return { disk: { ...disk, mark } };
  }),
  inStore("forgets at a start which destinations are paused", ({ clocks }) => ({
    clocks: { ...clocks, all: async () => [] },
  })),
];

export const FAULTS: readonly Fault[] = [...ACCEPT, ...DELIVER, ...SETTLE, ...STORE];

/** Other ports in place of some. */
function inPorts(what: string, change: (real: Ports) => Partial<Ports>): Fault {
  return { what, ports: (real) => ({ ...real, ...change(real) }) };
}

/** Other ports of the store in place of some. */
export function inStore(what: string, change: (real: Store) => Partial<Store>): Fault {
  return inPorts(what, (ports) => wrapStore(ports, change));
}

function wrapStore(ports: Ports, change: (real: Store) => Partial<Store>): Pick<Ports, "openStore"> {
  return {
    async openStore(options) {
      if (!ports.openStore) throw new Error("a world opens the store of its engine");
      const real = await ports.openStore(options);
      return { ...real, ...change(real) };
    },
  };
}

function inPost(what: string, change: (real: Post) => Post): Fault {
  return inPorts(what, ({ post }) => ({ post: change(post) }));
}

type Answered = Extract<Reply, { kind: "answered" }>;

/** The daemon hears another answer than the receiver gave. */
function inReplies(what: string, change: (real: Answered) => Reply): Fault {
  return inPost(what, (post) => async (request) => {
    const reply = await post(request);
    return reply.kind === "answered" ? change(reply) : reply;
  });
}

type Change = (real: Settlement, delivery: Delivery, config: Config) => Settlement | null;

/** Writes another settlement than was decided; with null none. */
function inSettlements(what: string, change: Change): Fault {
  return {
    what,
    ports: (ports, config) => ({
      ...ports,
      ...wrapStore(ports, ({ settle }) => ({
        async settle(delivery, settlement) {
          const changed = change(settlement, delivery, config);
          return changed === null ? "written" : settle(delivery, changed);
        },
      })),
    }),
  };
}

/** Writes another clock of a destination than was decided. */
function inSavedClocks(what: string, change: (real: StoredClock) => StoredClock): Fault {
  return inStore(what, ({ clocks }) => ({
    clocks: { ...clocks, save: (all, because) => clocks.save(all.map(change), because) },
  }));
}

/** A store that never tells of changes of this kind. */
function without(kind: StoreChange["kind"]): (real: Store) => Partial<Store> {
  return ({ changes }) => ({
    changes: (hear) => changes((change) => change.kind === kind || hear(change)),
  });
}

function afterwards(append: Append, change: (receipt: Receipt) => Receipt): Append {
  return async (entries) => {
    const receipts = await append(entries);
    return isFault(receipts) ? receipts : receipts.map(change);
  };
}

/** Of the daemon itself: about a deletion or a membership. */
function isOwn({ notice, change }: Entry): boolean {
  return notice !== undefined || change !== undefined;
}

function reversed(body: string): string {
  return JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body)).reverse()));
}

function nameOf({ id, destination }: Pick<Delivery, "id" | "destination">): string {
  return `${id}-${destination}`;
}
