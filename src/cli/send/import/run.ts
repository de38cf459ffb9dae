import type { Deliver, Taken } from "../import-batch.ts";
import type { Batch, RefusedLine } from "../import-lines.ts";
import type { Journal } from "./journal.ts";
import type { State } from "./state.ts";

/** How an import has ended. `why`: what stopped it; null if it was asked to. */
export type Ended =
  | { readonly kind: "complete"; readonly state: State }
  | { readonly kind: "stopped"; readonly state: State; readonly why: string | null };

export type ImportWorld = {
  readonly deliver: Deliver;
  readonly journal: Pick<Journal, "begun" | "keep" | "finish">;
  readonly signal: AbortSignal;
  /** Hears after each batch how far it is, and which of its lines were refused. */
  readonly onBatch: (state: State, refused: readonly RefusedLine[]) => void;
};

/**
 * Sends one batch after another, and writes down each that was acknowledged before it sends the next. So whatever happens,
 * what is sent twice is at most one batch, and its calls have the messageIds that they had.
 */
export async function runImport(batches: AsyncIterator<Batch>, world: ImportWorld): Promise<Ended> {
  const ended = await sendAll(batches, world);
  // Where nothing was sent there is nothing to go on with.
  if (ended.kind === "complete" || ended.state.line === 0) await world.journal.finish();
  return ended;
}

async function sendAll(batches: AsyncIterator<Batch>, world: ImportWorld): Promise<Ended> {
  const { deliver, journal, signal, onBatch } = world;
  let state = journal.begun;
  for (;;) {
    const next = await unlessAborted(batches, signal);
    if (next === null) return { kind: "stopped", state, why: null };
    if (next.done) return { kind: "complete", state };
    const batch = next.value;
    const verdict = batch.calls.length === 0 ? NONE : await deliver(batch.calls);
    if (verdict.kind === "given-up") return { kind: "stopped", state, why: verdict.why };
    const refused = refusedOf(batch, verdict);
    state = after(state, { batch, verdict, refused: refused.length });
    await journal.keep(state, refused);
    onBatch(state, refused);
  }
}

/** The next one; null once it is to stop: nobody may ever write to a pipe again. */
async function unlessAborted(
  batches: AsyncIterator<Batch>,
  signal: AbortSignal,
): Promise<IteratorResult<Batch> | null> {
  if (signal.aborted) return null;
  const { promise: aborted, resolve } = Promise.withResolvers<null>();
  const stop = (): void => resolve(null);
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([batches.next(), aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const NONE: Taken = { kind: "taken", accepted: 0, duplicate: 0, rejected: [] };

/** In the order of their lines. */
function refusedOf({ calls, own, refused }: Batch, { rejected }: Taken): readonly RefusedLine[] {
  const byDaemon = rejected.map(({ index, code, message }) => {
    return { line: calls[index]?.line ?? 0, code, message, text: own[index] ?? null };
  });
  return [...refused, ...byDaemon].sort((a, b) => a.line - b.line);
}

type Done = { readonly batch: Batch; readonly verdict: Taken; readonly refused: number };

function after(state: State, { batch, verdict, refused }: Done): State {
  return {
    ...batch.end,
    accepted: state.accepted + verdict.accepted,
    duplicate: state.duplicate + verdict.duplicate,
    refused: state.refused + refused,
  };
}
