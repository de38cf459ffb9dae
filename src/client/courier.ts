import { type Loss, LostCallError, QueueFullError } from "./errors.ts";
import type { Rejections } from "./judge.ts";
import type { Settings } from "./options.ts";
import type { ClientWorld } from "./platform.ts";
import { createQueue, type Entry } from "./queue.ts";
import type { Debug, Ledger, Settlement } from "./report.ts";
import { createSender, type How, type Sending } from "./sender.ts";
import { showCauses } from "./show.ts";

export type Courier = {
  /** Queues a call. Null if it has its place, else a promise of one. Throws a QueueFullError. */
  add(entry: Entry): Promise<void> | null;
  /** Begins to send all calls up to this seq, unless sending is under way. */
  sendUpTo(seq: number): void;
  /** Makes the next attempt now, unless the server has named its time. */
  hurry(): void;
  /** Stops sending, and removes all calls that are not settled, in their order. */
  abandon(): readonly Entry[];
  /** Settles a call that was removed. */
  settle(entry: Entry, settlement: Settlement): void;
  /** Ends what goes on beside, by the time that `late` resolves. */
  close?(late: Promise<void>): Promise<void>;
};

export type CourierParts = {
  readonly settings: Settings;
  readonly world: ClientWorld;
  readonly debug: Debug;
  readonly ledger: Pick<Ledger, "added" | "settle" | "repeated" | "report">;
};

/** `again`: called after each attempt that another one follows. */
type Parts = Omit<CourierParts, "ledger"> &
  Pick<How, "again"> & { readonly ledger: Omit<CourierParts["ledger"], "report"> };

type Concluded = Exclude<Sending, { kind: "stopped" }>;

/** Sends calls to the server, one batch after the other, so that their order is kept. */
export function createCourier({ settings, world, debug, ledger, again = () => true }: Parts): Courier {
  const queue = createQueue(settings);
  const sender = createSender(settings, world, { debug });
  let stopping = new AbortController();
  let inFlight: readonly Entry[] = [];
  let due = 0;

  return {
    add,
    sendUpTo(seq) {
      due = Math.max(due, seq);
      // Leaves the trail: what follows is not on behalf of the function that began it, but sends the calls of all.
      // `work` never rejects: a failure to send loses the batch, and the program's functions are guarded.
      if (inFlight.length === 0) world.trail.leave(() => void work(stopping.signal));
    },
    hurry: sender.hurry,
    settle: ledger.settle,
    abandon() {
      stopping.abort();
      stopping = new AbortController();
      const all = [...inFlight, ...queue.drain()];
      inFlight = [];
      return all;
    },
  };

  function add(entry: Entry): Promise<void> | null {
    // A call made in onError must not drop another: onError would be called for that one, and so on.
    const added = queue.add(entry, world.trail.isIn("onError") ? "keep" : "displace");
    if (added.kind === "full") throw full(settings);
    ledger.added(entry);
    if (added.kind === "displaced") ledger.settle(added.oldest, dropped(added.oldest, settings.queueLimit));
    return added.kind === "waits" ? added.room : null;
  }

  async function work(signal: AbortSignal): Promise<void> {
    for (let batch = queue.take(due); batch.length > 0; batch = queue.take(due)) {
      inFlight = batch;
      const sending = await sender.send(batch, { signal, again }).catch(failed);
      // After an abort the batch belongs to `abandon`, and another `work` may be under way.
      if (sending.kind === "stopped" || signal.aborted) return;
      inFlight = [];
      if (batch.length > 1 && sending.kind === "lost" && isTooLarge(sending.loss)) queue.halve(batch);
      else conclude(batch, sending);
      // One of the program's functions may have begun to send.
      if (inFlight.length > 0 || signal.aborted) return;
    }
  }

  function conclude(batch: readonly Entry[], sending: Concluded): void {
    if (sending.kind === "taken" && sending.duplicates > 0) ledger.repeated(batch, sending.duplicates);
    if (sending.kind === "taken" && sending.rejections.unknown > 0) world.log(unknownLine(batch, sending.rejections));
    for (const entry of batch) ledger.settle(entry, settlementOf(entry, sending));
  }
}

/** A fault of the library or its platform. Without this, nobody would settle these calls. */
function failed(cause: unknown): Sending {
  const why = `it could not be sent: ${showCauses(cause)}`;
  return { kind: "lost", loss: { reason: "gave_up", why, attempts: 1, cause }, answer: { kind: "failed", cause } };
}

const TOO_LARGE = ["body_too_large", "envelope_too_large", "too_many_events"];

/** Whether the server may take the calls in smaller requests. Proxies answer 413. */
function isTooLarge({ reason, code = "", status }: Loss): boolean {
  return reason === "refused" && (status === 413 || TOO_LARGE.includes(code));
}

function settlementOf(entry: Entry, sending: Concluded): Settlement {
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
  return `analytics: the server rejected ${calls} that were not in the batch of ${batch.length}`;
}

function dropped(entry: Entry, limit: number): Settlement {
  const why = `the queue was full (${limit} calls), and this call was the oldest`;
  return { kind: "lost", error: new LostCallError(entry, { reason: "dropped", why }) };
}

function full({ queueLimit, whenFull }: Settings): QueueFullError {
  const reasons = {
    block: `the queue is full (${queueLimit} calls), and as many more wait for room: await each call`,
    reject: `the queue is full (${queueLimit} calls)`,
    dropOldest: `the queue is full (${queueLimit} calls), and a call made in onError does not replace another`,
  };
  return new QueueFullError(queueLimit, reasons[whenFull]);
}
