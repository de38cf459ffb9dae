import { type Courier, type CourierParts, createCourier } from "../courier.ts";
import { LostCallError, QueueFullError, type SpoolError } from "../errors.ts";
import type { SpoolSettings } from "../options.ts";
import { createFifo, type Entry } from "../queue.ts";
import { callListener, type Settlement } from "../report.ts";
import { printable, showCauses } from "../show.ts";
import { type Backlog, createBacklog, entryOf } from "./backlog.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { closeStore, keep, nextSync, openStore, type Place, release, type Store, type Stored } from "./store.ts";

/**
 * A courier that keeps calls on disk until they are settled. Each is written to a segment when it is made, then queued in
 * memory and sent as without a spool. What memory has no room for, what was given up and what the program leaves when it
 * ends stays on the disk, and becomes part of the backlog. That is sent beside, oldest first, by a courier of its own.
 */
type Spooling = {
  readonly parts: CourierParts;
  readonly spool: SpoolSettings;
  readonly store: Store;
  readonly live: Courier;
  readonly backlog: Backlog;
  readonly places: WeakMap<Entry, Place>;
  /** Calls that wait for room on the disk, if that is the policy. */
  readonly waiting: ReturnType<typeof createFifo<Waiting>>;
  isLooking: boolean;
};

type Waiting = { readonly entry: Entry; readonly letIn: () => void };

/** How often calls that wait for room look whether a disk that was full has some. */
const LOOK_MS = 1_000;

/** Throws an InvalidOptionError if the directory cannot be used. */
export function createSpooling(parts: CourierParts, spool: SpoolSettings, machine: Machine = thisMachine()): Courier {
  const { settings, world, debug, ledger } = parts;
  let hasFailed = false;
  const again = (): boolean => {
    hasFailed = true;
    return true;
  };
  const store = openStore({
    spool,
    whenFull: settings.whenFull,
    source: settings.target.headers.Authorization ?? "",
    world,
    machine,
    tell: (error) => tell(parts, spool, error),
    found: () => backlog.pump(),
    dropped: (calls) => reportDropped(parts, spool, calls),
  });
  const backlog = createBacklog({ ...parts, store, settled: () => letInSoon(s) });
  const settle = (entry: Entry, settlement: Settlement): void => {
    settleLive(s, entry, settlement);
    // The server is back: the backlog does not wait for its next attempt.
    if (hasFailed && settlement.kind === "delivered") backlog.hurry();
    if (settlement.kind === "delivered") hasFailed = false;
  };
  // A call that has its place on the disk needs none in memory.
  const inMemory = { ...settings, whenFull: "dropOldest" } as const;
  const live = createCourier({
    settings: inMemory,
    world,
    debug,
    // Those with a place on the disk are counted already. One without may be refused.
    ledger: { ...ledger, added: (entry) => void (s.places.has(entry) || ledger.added(entry)), settle },
    again,
  });
  const waiting = createFifo<Waiting>();
  const s: Spooling = { parts, spool, store, live, backlog, places: new WeakMap(), waiting, isLooking: false };
  const leave = world.onExit({ idle: () => {}, gone: () => closeStore(store) });
  world.trail.leave(backlog.pump);
  return {
    ...live,
    add: (entry) => add(s, entry),
    abandon: () => [...live.abandon(), ...abandonWaiting(s)],
    async close(late) {
      await Promise.race([backlog.drained(), late]);
      backlog.stop();
      await nextSync(store);
      closeStore(store);
      leave();
    },
  };
}

function add(s: Spooling, entry: Entry): Promise<void> | null {
  const { settings, ledger } = s.parts;
  const place = s.waiting.size() === 0 ? keep(s.store, entry) : null;
  if (!place && settings.whenFull === "block") return wait(s, entry);
  if (!place && settings.whenFull === "reject") throw full(s);
  if (place) ledger.added(entry);
  enter(s, entry, place);
  return place && s.spool.fsync === "always" ? nextSync(s.store) : null;
}

/** Queues a call in memory. Without a place, the disk did not take it, and it is as without a spool. */
function enter({ live, places, parts }: Spooling, entry: Entry, place: Place | null): void {
  if (place) places.set(entry, place);
  try {
    live.add(entry);
  } catch (error) {
    // A call that onError makes displaces none. It is safe on the disk.
    if (!place) throw error;
    parts.ledger.settle(entry, { kind: "spooled" });
  }
}

function wait(s: Spooling, entry: Entry): Promise<void> {
  if (s.waiting.size() >= s.parts.settings.queueLimit) throw full(s);
  s.parts.ledger.added(entry);
  look(s);
  return new Promise<void>((letIn) => s.waiting.push({ entry, letIn }));
}

/** A disk that is full has room when others have removed something. */
function look(s: Spooling): void {
  if (s.isLooking) return;
  s.isLooking = true;
  s.parts.world.after(LOOK_MS, () => {
    s.isLooking = false;
    letIn(s);
    if (s.waiting.size() > 0) look(s);
  });
}

function letInSoon(s: Spooling): void {
  // After the segments that are settled were removed.
  if (s.waiting.size() > 0) void Promise.resolve().then(() => letIn(s));
}

function letIn(s: Spooling): void {
  for (let next = s.waiting.first(); next; next = s.waiting.first()) {
    const { entry, letIn: resolve } = next;
    const place = keep(s.store, entry);
    if (!place) return;
    s.waiting.shift();
    enter(s, entry, place);
    s.live.sendUpTo(entry.seq);
    if (s.spool.fsync === "always") void nextSync(s.store).then(resolve);
    else resolve();
  }
}

function abandonWaiting({ waiting }: Spooling): readonly Entry[] {
  const all = waiting.takeAll();
  for (const { letIn } of all) letIn();
  return all.map(({ entry }) => entry);
}

/** A call that the server has neither taken nor refused stays on the disk. */
function settleLive(s: Spooling, entry: Entry, settlement: Settlement): void {
  const { store, backlog, parts, places } = s;
  const place = places.get(entry);
  const isFinal = settlement.kind === "delivered" || (settlement.kind === "lost" && isRefused(settlement.error));
  const isKept = place !== undefined && release(store, place, isFinal ? "settled" : "waits");
  parts.ledger.settle(entry, isKept && !isFinal ? { kind: "spooled" } : settlement);
  // A program that ends leaves it to the next.
  if (isKept && settlement.kind === "lost" && !isFinal && settlement.error.reason !== "exited") backlog.pump();
  letInSoon(s);
}

function isRefused({ reason }: LostCallError): boolean {
  return reason === "rejected" || reason === "refused";
}

function full({ spool }: Spooling): QueueFullError {
  return new QueueFullError(spool.maxBytes, `the spool has no room for the call (${spool.directory})`);
}

function reportDropped({ ledger }: CourierParts, { maxBytes }: SpoolSettings, calls: readonly Stored[]): void {
  const why = `the spool was full (${maxBytes} bytes), and this call was among the oldest`;
  for (const { kept } of calls) {
    const entry = entryOf(kept, 0);
    if (entry) ledger.report(entry, { kind: "lost", error: new LostCallError(entry, { reason: "dropped", why }) });
  }
}

function tell({ world }: CourierParts, { onError }: SpoolSettings, error: SpoolError): void {
  if (onError) world.trail.enter("onError", () => callListener(onError, error, world.log));
  else world.log(printable(`analytics: ${showCauses(error)}`));
}
