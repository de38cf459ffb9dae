import { LostCallError, QueueFullError } from "./errors.ts";
import type { Rejections } from "./judge.ts";
import type { Settings } from "./options.ts";
import type { Trail, World } from "./platform.ts";
import type { Entry } from "./queue.ts";
import { createBatches, isTooLarge } from "./queue.ts";
import type { Debug, Ledger, Settlement } from "./report.ts";
import { createSender, type Sending } from "./sender.ts";
import { showCauses } from "./show.ts";

export type Courier = {
  /** Queues a call. Throws a QueueFullError if it gets no place. */
  add(entry: Entry): Place;
  /** Begins to send all up to this seq, unless that is under way already. */
  sendUpTo(seq: number): void;
  hurry(): void;
  /** Stops sending, and takes back all that is not settled, in its order. */
  abandon(): readonly Entry[];
};

export type Place = {
  /** Resolves when the call has its place; null if it has it. */
  readonly room: Promise<void> | null;
  /** Settles the call that had to go for this one. */
  readonly after: () => void;
};

export type CourierParts = {
  readonly settings: Settings;
  readonly world: World;
  readonly trail: Trail;
  readonly debug: Debug;
  readonly ledger: Pick<Ledger, "settle" | "repeated">;
};

const NOTHING = (): void => {};

/** Carries calls to the server: one batch after another, so that their order is kept. */
export function createCourier({ settings, world, trail, debug, ledger }: CourierParts): Courier {
  const batches = createBatches(settings);
  const sender = createSender(settings, world, { debug });
  let stopping = new AbortController();
  let inFlight: readonly Entry[] = [];
  let due = 0;

  return {
    add,
    sendUpTo(seq) {
      due = Math.max(due, seq);
      // Never rejects: what fails in sending loses the batch, and the program's functions are guarded.
      // Whoever has set it off: what follows is about the calls of all.
      if (inFlight.length === 0) trail.leave(() => void work(stopping.signal));
    },
    hurry: sender.hurry,
    abandon() {
      stopping.abort();
      stopping = new AbortController();
      const all = [...inFlight, ...batches.drain()];
      inFlight = [];
      return all;
    },
  };

  function add(entry: Entry): Place {
    // Made in onError, it would displace another, of which onError is told, and so on for ever.
    const added = batches.add(entry, trail.isIn("onError") ? "keep" : "displace");
    if (added.kind === "full") throw full(settings);
    if (added.kind !== "displaced") return { room: added.kind === "waits" ? added.room : null, after: NOTHING };
    const { oldest } = added;
    return { room: null, after: () => ledger.settle(oldest, dropped(oldest, settings.queueLimit)) };
  }

  async function work(signal: AbortSignal): Promise<void> {
    for (let batch = batches.take(due); batch.length > 0; batch = batches.take(due)) {
      inFlight = batch;
      const sending = await sender.send(batch, { signal }).catch(failed);
      // Whoever has aborted has taken the batch back, and may be sending others by now.
      if (sending.kind === "stopped" || signal.aborted) return;
      inFlight = [];
      if (batch.length > 1 && sending.kind === "lost" && isTooLarge(sending.loss)) batches.halve(batch);
      else conclude(batch, sending);
      // One of the program's functions may have set it off again.
      if (inFlight.length > 0 || signal.aborted) return;
    }
  }

  function conclude(batch: readonly Entry[], sending: Exclude<Sending, { kind: "stopped" }>): void {
    if (sending.kind === "taken" && sending.duplicates > 0) ledger.repeated(batch, sending.duplicates);
    if (sending.kind === "taken" && sending.rejections.unknown > 0) world.log(unknownLine(batch, sending.rejections));
    for (const entry of batch) ledger.settle(entry, settlementOf(entry, sending));
  }
}

/** Only if the library or its platform is broken; but without this, whoever waits for these calls would wait for ever. */
function failed(cause: unknown): Sending {
  const why = `it could not be sent: ${showCauses(cause)}`;
  const loss = { reason: "gave_up", code: "gave_up", why, status: null, attempts: 1, cause } as const;
  return { kind: "lost", loss, answer: { kind: "failed", cause } };
}

function settlementOf(entry: Entry, sending: Exclude<Sending, { kind: "stopped" }>): Settlement {
  if (sending.kind === "lost") return { kind: "lost", error: new LostCallError(entry, sending.loss) };
  const rejection = sending.rejections.of.get(entry);
  if (!rejection) return { kind: "delivered" };
  const { code, message } = rejection;
  const { status, attempts } = sending;
  const why = `the server rejected it: ${code}: ${message}`;
  return { kind: "lost", error: new LostCallError(entry, { reason: "rejected", code, why, status, attempts }) };
}

function unknownLine(batch: readonly Entry[], { unknown }: Rejections<Entry>): string {
  const calls = unknown === 1 ? "a call" : `${unknown} calls`;
  return `analytics: the server rejected ${calls} that it was not sent, of a batch of ${batch.length}`;
}

function dropped(entry: Entry, limit: number): Settlement {
  const why = `the queue was full (${limit} calls), and this was the oldest`;
  const loss = { reason: "dropped", code: "dropped", why, status: null, attempts: 0 } as const;
  return { kind: "lost", error: new LostCallError(entry, loss) };
}

function full({ queueLimit, whenFull }: Settings): QueueFullError {
  const words = {
    block: `the queue is full (${queueLimit} calls), and as many wait for room: await what calls return`,
    reject: `the queue is full (${queueLimit} calls)`,
    dropOldest: `the queue is full (${queueLimit} calls), and a call made in onError displaces no other`,
  };
  return new QueueFullError(queueLimit, words[whenFull]);
}
